"""What the number and the names of classes cost a client, and which of them it is shown."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.served import Role, Served, serving

Record = Any

_ROUNDS = 8
_CALLS = 20
_TRIES = 3  # a machine that is busy with something else may spoil one, but not all


def _define(served: Served, names: Iterator[str]) -> None:
    served.db.define(classes={name: {"dt/subclass-of": ["dt/Resource"]} for name in names})


# --- which classes --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(served: Served) -> Served:
    """The server with a class of accounts that is not named like one."""
    served.db.define(classes={"robots/Account": {"dt/subclass-of": ["auth/ServiceAccount"]}})
    return served


def _offered(served: Served, role: Role) -> list[str]:
    tools = served.post("tools/list", role=role)["result"]["tools"]
    (create,) = [tool for tool in tools if tool["name"] == "sandbar.entity.create"]
    names: list[str] = create["inputSchema"]["properties"]["class"]["enum"]
    return names


def _class_tools(served: Served, role: Role) -> set[str]:
    tools = served.post("tools/list", role=role, query="?tools=classes")["result"]["tools"]
    return {tool["name"].removeprefix("sandbar.class.").replace(".", "/", 1) for tool in tools}


_NOT_FOR_WRITERS = {"auth/ServiceAccount", "robots/Account", "pack/Pack"}


def test_a_writer_is_offered_what_it_may_create(guarded: Served) -> None:
    assert set(_offered(guarded, "admin")) >= {"zorp/Boot", *_NOT_FOR_WRITERS}
    offered = set(_offered(guarded, "writer"))
    assert "zorp/Boot" in offered
    assert not offered & _NOT_FOR_WRITERS
    assert not [cls for cls in offered if cls.startswith(("auth/", "pack/"))]


def test_a_writer_has_no_class_tools_for_accounts_and_packs(guarded: Served) -> None:
    # The classes of access and packs have none at all; an admin's own heir of theirs has one.
    assert {"zorp/Boot", "robots/Account"} <= _class_tools(guarded, "admin")
    tools = _class_tools(guarded, "writer")
    assert "zorp/Boot" in tools
    assert not tools & _NOT_FOR_WRITERS
    assert _class_tools(guarded, "reader") == set()


# --- their names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [30, 40])  # few enough to be listed one by one, and too many
def test_lists_keep_their_budget_with_long_names(tmp_path: Path, count: int) -> None:
    with serving(tmp_path / "long.db", ()) as served:
        _define(served, (f"long/{n:02}{'x' * 193}" for n in range(count)))
        for listing, budget in (("default", 32_000), ("core", 8_000)):
            answer = served.post("tools/list", query=f"?tools={listing}&names=portable")
            assert len(json.dumps(answer["result"], separators=(",", ":"))) <= budget, listing


# --- their number ---------------------------------------------------------------------------------


class _Line:
    """A connection that is kept, so that little but the call is measured."""

    def __init__(self, served: Served) -> None:
        port = int(served.url.split(":")[2].split("/")[0])
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {served.token()}"}
        params = {"name": "sandbar.entity.find", "arguments": {"entity": "zorp/Boot"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._body = json.dumps(message)

    def seconds(self) -> float:
        """How long one call takes."""
        start = time.perf_counter()
        self._connection.request("POST", "/mcp", self._body, self._headers)
        answer = json.loads(self._connection.getresponse().read())
        end = time.perf_counter()
        assert not answer["result"].get("isError"), answer
        return end - start

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def test_a_thousand_classes_do_not_slow_a_call_down(
    tmp_path: Path, record_property: Record
) -> None:
    with serving(tmp_path / "few.db") as few, serving(tmp_path / "many.db") as many:
        for served, count in ((few, 10), (many, 1_000)):
            _define(served, (f"many/Class{n}" for n in range(count)))
        lines = [_Line(few), _Line(many)]
        ratios: list[float] = []
        while len(ratios) < _TRIES and min(ratios, default=9.0) > 1.5:
            medians = _medians(lines)
            ratios.append(medians[1] / medians[0])
        for line in lines:
            line.close()
    record_property("figure", f"1,000 classes to 10: {min(ratios):.2f}")
    assert min(ratios) <= 1.5, ratios


def _medians(lines: list[_Line]) -> list[float]:
    taken: list[list[float]] = [[] for _ in lines]
    for _ in range(_ROUNDS):  # in turns, so that the machine's moods meet both alike
        for line, seconds in zip(lines, taken, strict=True):
            seconds += [line.seconds() for _ in range(_CALLS)]
    return [statistics.median(seconds) for seconds in taken]
