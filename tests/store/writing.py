"""Words for writing to a store: what the model will do, without its meaning."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sandbar.store.answer import Answer
from sandbar.store.api import Store, Transaction, Wanted
from sandbar.store.pieces import Change, Pair
from sandbar.store.rows import Row

Work = Callable[[Transaction], Any]
WAIT_S = 30.0


class Written(NamedTuple):
    """What a write answered."""

    id: int
    t: int


def creating(*pairs: Pair, cls: int = 1, doc: str = "{}") -> Work:
    """A new entity that holds these values."""

    def work(tx: Transaction) -> Written:
        id = tx.new_id()
        tx.change(Change(id, cls, doc, pairs, ()), None)
        return Written(id, tx.t)

    return work


def changing(
    id: int,
    *,
    doc: str | None = "{}",
    begun: Iterable[Pair] = (),
    ended: Iterable[Pair] = (),
    cls: int = 1,
) -> Work:
    """Another state of an entity, which may be gone; no document deletes it."""

    def work(tx: Transaction) -> Written:
        before = tx.entity(id)
        tx.change(Change(id, cls, doc, tuple(begun), tuple(ended)), before)
        return Written(id, tx.t)

    return work


def write(store: Store, ws: int, work: Work, **options: Any) -> Any:
    """Do it, and wait for the commit."""
    return store.submit(ws, work, **options).result(WAIT_S)


def create(store: Store, ws: int, *pairs: Pair, cls: int = 1, doc: str = "{}") -> int:
    """Make one entity and return its id."""
    id: int = write(store, ws, creating(*pairs, cls=cls, doc=doc)).id
    return id


def current(store: Store, ws: int, id: int) -> Row | None:
    """The row of an entity now."""
    return store.point(ws, id)[1]


class Gate:
    """Holds the writer inside a transaction until it is opened, so that a queue builds up."""

    def __init__(self, store: Store, ws: int) -> None:
        self._opened = threading.Event()
        self._reached = threading.Event()
        self.future = store.submit(ws, self._wait)
        assert self._reached.wait(WAIT_S)

    def open(self) -> None:
        """Let the writer go on."""
        self._opened.set()

    def _wait(self, tx: Transaction) -> None:
        self._reached.set()
        # Short, and repeated never: PostgreSQL ends a session that idles in a transaction.
        assert self._opened.wait(4.0)


def together(
    store: Store, ws: int, works: Iterable[Work], *, wanted: Wanted | None = None
) -> list[Answer[Any]]:
    """Run these in one batch; all are finished when this returns."""
    gate = Gate(store, ws)
    futures = [store.submit(ws, work, wanted=wanted or Wanted()) for work in works]
    gate.open()
    gate.future.result(WAIT_S)
    for future in futures:
        future.exception(WAIT_S)
    return futures
