"""While a call runs: log levels, deadlines and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sandbar.edge.runner import Runner
from tests.mcp.in_session import ask, open_session, post
from tests.mcp.planting import Endless, Plant, plant_in
from tests.mcp.served import Served, serving

_LOG = "notifications/message"


# --- log levels -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the tool that logs three messages of level info."""
    with serving(tmp_path_factory.mktemp("talkative") / "log.db", ("everything",)) as served:
        yield served


def _logged(served: Served, session: str) -> list[str]:
    params = {"name": "test_tool_with_logging", "arguments": {}}
    answer, before = ask(served, session, "tools/call", params)
    assert not answer["result"].get("isError"), answer
    return [each["params"]["level"] for each in before if each["method"] == _LOG]


def _set_level(served: Served, session: str, level: str) -> dict[str, Any]:
    return ask(served, session, "logging/setLevel", {"level": level})[0]


def test_a_session_hears_nothing_below_its_level(talkative: Served) -> None:
    session, beside = open_session(talkative), open_session(talkative)
    assert _logged(talkative, session) == ["info"] * 3
    for level, count in (("error", 0), ("notice", 0), ("info", 3), ("emergency", 0), ("debug", 3)):
        assert _set_level(talkative, session, level)["result"] == {}
        assert len(_logged(talkative, session)) == count, level
        assert len(_logged(talkative, beside)) == 3, "the level is the session's own"


def test_a_level_that_does_not_exist_is_refused_and_changes_nothing(talkative: Served) -> None:
    session = open_session(talkative)
    assert _set_level(talkative, session, "error")["result"] == {}
    assert _set_level(talkative, session, "loud")["error"]["code"] == -32602
    assert _logged(talkative, session) == []


# --- deadlines ------------------------------------------------------------------------------------


def _bare(served: Served, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return served.post("tools/call", {"name": name, "arguments": arguments})


def _session(served: Served, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return ask(served, open_session(served), "tools/call", params)[0]


def _modern(served: Served, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return served.modern("tools/call", {"name": name, "arguments": arguments})[1]


ROADS: dict[str, Callable[[Served, str, dict[str, Any]], dict[str, Any]]] = {
    "bare": _bare,
    "session": _session,
    "modern": _modern,
}


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that gives every request a fifth of a second."""
    path: Path = tmp_path_factory.mktemp("hasty") / "hasty.db"
    with ExitStack() as closing:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sandbar.mcp.service.Runner", lambda: Runner(0.2))
            served = closing.enter_context(serving(path))
        yield served


@pytest.mark.parametrize("road", ROADS)
def test_a_call_that_takes_too_long_is_told_so(
    hasty: Served, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless(5.0)
    name = plant_in(hasty, monkeypatch)(f"endless_{road}", endless)
    result = ROADS[road](hasty, name, {})["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["error"] == "request.deadline"
    assert result["structuredContent"]["hint"]
    assert endless.stopped.is_set()
    quick = ROADS[road](hasty, "sandbar.entity.find", {"entity": "zorp/Boot"})
    assert not quick["result"].get("isError"), "the next call has a deadline of its own"


# --- cancellation ---------------------------------------------------------------------------------


def test_a_cancelled_request_stops_its_work(served: Served, planted: Plant) -> None:
    endless = Endless()
    name = planted("endless_in_session", endless)
    session = open_session(served)
    params = {"name": name, "arguments": {}}
    asking = threading.Thread(
        target=post, args=(served, {"id": 42, "method": "tools/call", "params": params}, session)
    )
    asking.start()
    assert endless.begun.wait(10)
    for other, stops in ((41, False), (42, True)):
        told = {"method": "notifications/cancelled", "params": {"requestId": other}}
        assert post(served, told, session).status_code == 202
        assert endless.stopped.wait(5 if stops else 0.3) is stops, other
    asking.join(5)
    assert not asking.is_alive()
    assert ask(served, session, "ping", {})[0]["result"] == {}


def test_nobody_cancels_in_another_session(served: Served, planted: Plant) -> None:
    endless = Endless(1.0)
    name = planted("endless_for_one", endless)
    session, beside = open_session(served), open_session(served)
    params = {"name": name, "arguments": {}}
    asking = threading.Thread(target=ask, args=(served, session, "tools/call", params, 42))
    asking.start()
    assert endless.begun.wait(10)
    told = {"method": "notifications/cancelled", "params": {"requestId": 42}}
    assert post(served, told, beside).status_code == 202
    asking.join(5)
    assert not endless.stopped.is_set()
