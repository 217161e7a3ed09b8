"""A reading connection is dear: it is kept unless SQLite itself has failed."""

from __future__ import annotations

import apsw
import pytest

from sandbar.errors import Fault, Incorrect, NotFound
from sandbar.store.api import Store
from sandbar.store.rows import Row
from sandbar.store.sqlite import store as sqlite_store
from sandbar.store.sqlite.connection import open_reader
from tests.store.conftest import Place, new_workspace
from tests.store.writing import create, current


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[apsw.Connection]:
    """The readers that have been opened."""
    opened: list[apsw.Connection] = []

    def opening(path: str) -> apsw.Connection:
        opened.append(open_reader(path))
        return opened[-1]

    monkeypatch.setattr(sqlite_store, "open_reader", opening)
    return opened


@pytest.fixture
def store(sqlite_place: Place, opened: list[apsw.Connection]) -> Store:
    """A SQLite file, opened after the count has begun."""
    return sqlite_place.open()


def test_an_error_of_the_reader_keeps_the_connection(
    store: Store, opened: list[apsw.Connection]
) -> None:
    ws = new_workspace(store)
    id = create(store, ws)
    for kind in (NotFound, ZeroDivisionError):
        with pytest.raises(kind), store.snapshot(ws) as snapshot:
            refuse(snapshot.entity(id), kind)
    with pytest.raises(NotFound), store.snapshot(ws + 1):
        pass
    with pytest.raises(Incorrect), store.snapshot(ws) as snapshot:
        snapshot.entity(1 << 70)
    newest = create(store, ws)
    assert current(store, ws, newest) is not None, "no old snapshot is left open"
    assert not opened[0].in_transaction
    assert len(opened) == 1


def refuse(row: Row | None, kind: type[Exception]) -> None:
    """What a reader may do with what it has read."""
    assert row is not None
    raise kind("entity.unknown", "not this one")


def test_an_error_of_sqlite_drops_the_connection(
    store: Store, opened: list[apsw.Connection]
) -> None:
    ws = new_workspace(store)
    with pytest.raises(Fault), store.snapshot(ws):
        opened[0].execute("SELECT * FROM nothing")
    with pytest.raises(KeyboardInterrupt), store.snapshot(ws):
        raise KeyboardInterrupt
    for connection in opened:
        with pytest.raises(apsw.ConnectionClosedError):
            connection.execute("SELECT 1")
    assert store.point(ws, 1)[0].t == 0
    assert len(opened) == 3
