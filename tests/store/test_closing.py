"""Closing: whoever closes knows afterwards that all is finished, and nothing begins any more."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import sandbar
from sandbar.store.api import Transaction
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import Place, new_workspace
from tests.store.writing import WAIT_S, Gate, create

A_MOMENT_S = 0.1


def test_whoever_closes_second_waits_for_the_first(place: Place) -> None:
    store = place.open()
    gate = Gate(store, new_workspace(store))
    threads = [threading.Thread(target=store.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(A_MOMENT_S)
        assert thread.is_alive(), "a write is still to be finished"
    gate.open()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_who_is_waited_for_does_not_wait(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    begun, closing = threading.Event(), threading.Event()

    def work(tx: Transaction) -> None:
        begun.set()
        closing.wait(WAIT_S)
        store.close()

    future = store.submit(ws, work)
    begun.wait(WAIT_S)
    thread = threading.Thread(target=store.close)
    thread.start()
    thread.join(A_MOMENT_S)
    closing.set()
    assert future.exception(WAIT_S) is None
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_a_close_that_was_interrupted_can_be_finished(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = place.open()
    create(store, new_workspace(store))
    let_go = store._let_go  # type: ignore[attr-defined]

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_let_go", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    went: list[bool] = []

    def really() -> None:
        let_go()
        went.append(True)

    monkeypatch.setattr(store, "_let_go", really)
    store.close()
    store.close()
    assert went == [True]


@pytest.fixture
def db(tmp_path: Path) -> sandbar.Database:
    """A database that somebody closes."""
    return sandbar.open(tmp_path / "a.db")


def test_a_second_close_of_a_database_waits_too(db: sandbar.Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait(WAIT_S)

    writing = threading.Thread(target=lambda: db.run(work))
    writing.start()
    begun.wait(WAIT_S)
    threads = [threading.Thread(target=db.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(A_MOMENT_S)
        assert thread.is_alive()
    go_on.set()
    for thread in (writing, *threads):
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_a_listener_may_close_what_it_listens_to(db: sandbar.Database) -> None:
    closed = threading.Event()

    def heard(*_: object) -> None:
        db.close()
        closed.set()

    db.hub.subscribe("main", heard)
    db.define(classes={"x/X": {}})
    assert closed.wait(WAIT_S)
    db.close()


def test_a_listener_may_ask_for_a_workspace_while_somebody_closes(db: sandbar.Database) -> None:
    told, closing, asked = threading.Event(), threading.Event(), threading.Event()

    def heard(_: object) -> None:
        told.set()
        closing.wait(WAIT_S)
        with pytest.raises(sandbar.Problem):
            db.in_workspace("not there")
        asked.set()

    db.hub.subscribe(db.workspace_name, heard)
    db.define(classes={"x/X": {}})
    assert told.wait(WAIT_S)
    thread = threading.Thread(target=db.close)
    thread.start()
    thread.join(A_MOMENT_S)  # it waits for the listener
    closing.set()
    assert asked.wait(WAIT_S)
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_readers_that_come_back_while_all_are_let_go_are_closed_once(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    ws = new_workspace(store)
    with store.snapshot(ws), store.snapshot(ws):
        pass

    class Emptied(deque[apsw.Connection]):
        """Another thread is always quicker between a look and the taking."""

        def __bool__(self) -> bool:
            self.clear()
            return True

    store._readers = Emptied(store._readers)
    store.close()
    with pytest.raises(sandbar.Problem):
        store.head(ws)


@pytest.mark.parametrize("use", [lambda db: db.hub, lambda db: db.start_worker()])
def test_nothing_begins_after_the_end(
    db: sandbar.Database, use: Callable[[sandbar.Database], object]
) -> None:
    db.close()
    before = threading.active_count()
    with pytest.raises(sandbar.Unavailable) as caught:
        use(db)
    assert caught.value.code == "store.closed"
    assert threading.active_count() == before
