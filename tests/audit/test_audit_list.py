"""`audit.list`: admins see every request, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import Caller


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sandbar.Database]:
    with sandbar.open(tmp_path / "a.db") as db:
        db.load_pack("zorp")
        yield db


def each(db: sandbar.Database, **arguments: Any) -> Iterator[Any]:
    """All entries, page by page; as if nobody had asked in between."""
    cursor = None
    while True:
        page = db.call("audit.list", arguments | {"cursor": cursor})
        yield from page.entries
        cursor = page.cursor
        if cursor is None:
            return


def ask(db: sandbar.Database) -> None:
    for _ in range(5):
        db.call("codec.list")
        with pytest.raises(sandbar.NotFound):
            db.call("entity.find", entity="zorp/nothing")
    db.call("entity.create", {"class": "zorp/Boot", "attributes": {"footwear/name": "Moon"}})


def test_newest_first_and_every_one_once(db: sandbar.Database) -> None:
    ask(db)
    whole = list(each(db))
    assert [entry.n for entry in whole] == list(range(11, 0, -1))
    assert [entry.verb for entry in whole[:3]] == ["entity.create", "entity.find", "codec.list"]
    assert whole[0].success
    assert (whole[1].success, whole[1].code) == (False, "entity.unknown")
    assert {entry.principal for entry in whole} == {"local"}
    assert {entry.surface for entry in whole} == {"library"}
    paged = [entry for entry in each(db, limit=3) if entry.n <= 11]
    assert paged == whole


def test_filters(db: sandbar.Database) -> None:
    ask(db)
    assert [entry.verb for entry in each(db, verb="entity.create")] == ["entity.create"]
    assert {entry.code for entry in each(db, success=False, limit=2)} == {"entity.unknown"}
    assert len(list(each(db, success=False, limit=2))) == 5
    assert len(list(each(db, tool="codec.list", success=True))) == 5
    assert list(each(db, principal="user/nobody")) == []


def test_a_cursor_goes_with_its_question(db: sandbar.Database) -> None:
    ask(db)
    cursor = db.call("audit.list", limit=1, success=False).cursor
    for wrong, code in (
        ({"cursor": cursor}, "cursor.other-query"),
        ({"cursor": "x"}, "cursor.malformed"),
    ):
        with pytest.raises(sandbar.Incorrect) as refused:
            db.call("audit.list", wrong)
        assert refused.value.code == code


def test_a_page_that_nobody_asked_to_be_long_is_bounded(db: sandbar.Database) -> None:
    for _ in range(60):
        db.call("codec.list")
    page = db.call("audit.list")
    assert page.workspace == db.workspace_name
    assert len(page.entries) == 50
    assert page.cursor is not None
    assert len(db.call("audit.list", limit=55).entries) == 55


def test_only_for_admins(db: sandbar.Database) -> None:
    for role in ("reader", "writer"):
        caller = Caller("user/anna", role, "main")
        with pytest.raises(sandbar.Forbidden):
            db.call_as(caller, "audit.list", {})
    refused = list(each(db, principal="user/anna"))
    assert [(entry.verb, entry.success) for entry in refused] == [("audit.list", False)] * 2


def test_a_workspace_sees_its_own_only(db: sandbar.Database, tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "a.db", "other") as other:
        other.call("codec.list")
        assert [entry.verb for entry in each(other)] == ["codec.list"]
    assert list(each(db, verb="codec.list")) == []
