"""`memory.changes`: what a weekly digest begins with."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.errors import Incorrect
from tests.memory.conftest import Call, remember


def _pages(call: Call, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        answer = call("memory.changes", arguments, role="reader")
        found += answer["changes"]
        if "cursor" not in answer:
            return found
        arguments["cursor"] = answer["cursor"]


def _last_t(db: sandbar.Database) -> int:
    return db.query("dt/Class", limit=1).t


def test_each_memory_once_at_its_last_change(memory: sandbar.Database, call: Call) -> None:
    for number in range(3):
        remember(memory, f"mm/old{number}")
    since = _last_t(memory)
    remember(memory, "mm/new", type="decision", scope="platform")
    memory.create("mm/Tag", {"tag/name": "x"})
    remember(memory, "mm/gone")
    memory.delete("mm/gone")
    memory.update("mm/old1", {"memory/status": "done"})
    memory.update("mm/new", {"memory/status": "accepted"})
    for limit in (1, 2, 50):
        found = _pages(call, since=since, limit=limit)
        assert [(one["ident"], one["new?"]) for one in found] == [
            ("mm/old1", False),
            ("mm/new", True),
        ]
    new = found[1]
    assert (new["name"], new["type"], new["scope"]) == ("New", "decision", "platform")
    assert new["principal"] == "local"
    assert new["instant"] > found[0]["instant"]


def test_many_of_one_transaction_are_paged(memory: sandbar.Database, call: Call) -> None:
    since = _last_t(memory)
    names = [f"mm/m{number:03}" for number in range(60)]
    memory.transact(
        [
            {"op": "create", "class": "mm/Memory", "slots": {"db/ident": name, "memory/name": name}}
            for name in names
        ]
    )
    found = [one["ident"] for one in _pages(call, since=since, limit=7)]
    assert found == names


def test_since_an_instant_and_since_ever(memory: sandbar.Database, call: Call) -> None:
    remember(memory, "mm/one")
    instant = memory.history("mm/one")[0].instant
    remember(memory, "mm/two")
    assert [one["ident"] for one in _pages(call, since=instant)] == ["mm/two"]
    assert [one["ident"] for one in _pages(call, since=0)] == ["mm/one", "mm/two"]
    assert [one["ident"] for one in _pages(call, since="2001-01-01")] == ["mm/one", "mm/two"]
    with pytest.raises(Incorrect):
        call("memory.changes", {"since": "last week"})
