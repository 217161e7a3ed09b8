"""A full disk and an interrupted statement in the middle of a batch.

SQLite answers both by rolling the whole transaction back. A loop with a savepoint per item, which
looks right, then goes on in transactions of its own: the negative control shows that the checker
notices.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw
import pytest

from sandbar.errors import Interrupted, Problem, Unavailable
from sandbar.store.sqlite import session
from sandbar.store.sqlite.connection import make_file, open_writer
from tests.store.conftest import Place, new_workspace
from tests.store.writing import create, creating, current, together

GUILTY = 2
COUNT = 6
HUGE = 4_000_000


class Outcome(NamedTuple):
    """What the callers were told, and what is in the file."""

    acknowledged: set[int]
    refused: set[int]
    stored: set[int]


def complaints(outcome: Outcome) -> list[str]:
    """Broken promises."""
    lost = outcome.acknowledged - outcome.stored
    haunting = outcome.refused & outcome.stored
    innocent = outcome.refused - {GUILTY}
    return [
        f"{what}: {sorted(items)}"
        for what, items in (("lost", lost), ("kept though refused", haunting), ("hurt", innocent))
        if items
    ]


# --- faults ---------------------------------------------------------------------------------


@contextmanager
def full_disk(connection: apsw.Connection) -> Iterator[None]:
    """Only a few more pages fit into the file."""
    pages = connection.execute("PRAGMA page_count").get
    connection.execute(f"PRAGMA max_page_count = {pages + 40}").fetchall()
    yield
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()


@contextmanager
def interruption(connection: apsw.Connection) -> Iterator[None]:
    """The statement that writes the huge document is interrupted while it runs."""

    def trace(_: apsw.Cursor, sql: str, bindings: Any) -> bool:
        is_huge = any(isinstance(b, str) and len(b) >= HUGE for b in bindings or ())
        connection.set_progress_handler((lambda: True) if is_huge else None, 1)
        return True

    connection.exec_trace = trace
    yield
    connection.exec_trace = None
    connection.set_progress_handler(None)


FAULTS = pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (full_disk, Unavailable, "store.full"),
        (interruption, Interrupted, "store.interrupted"),
    ],
    ids=["full", "interrupted"],
)


# --- ours -----------------------------------------------------------------------------------


@FAULTS
def test_the_innocent_items_of_a_broken_batch_are_kept(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch, fault: Any, kind: type[Problem], code: str
) -> None:
    opened: list[apsw.Connection] = []

    def opening(path: str) -> apsw.Connection:
        opened.append(open_writer(path))
        return opened[-1]

    monkeypatch.setattr(session, "open_writer", opening)
    store = sqlite_place.open()
    ws = new_workspace(store)
    create(store, ws)
    works = [creating((5, b"%d" % n), doc=_document(n)) for n in range(COUNT)]
    with fault(opened[0]):
        futures = together(store, ws, works)
    error = futures[GUILTY].exception()
    assert isinstance(error, kind)
    assert error.code == code
    refused = {n for n, future in enumerate(futures) if future.exception() is not None}
    stored = {n for n in range(COUNT) if store.point_by_key(ws, 5, b"%d" % n)[1] is not None}
    assert complaints(Outcome(set(range(COUNT)) - refused, refused, stored)) == []
    with store.snapshot(ws) as snapshot:
        assert [tx.t for tx in snapshot.transactions(after=0, limit=99)] == list(
            range(1, COUNT + 1)
        )
        assert snapshot.state.t == COUNT
    assert current(store, ws, create(store, ws, doc=_document(GUILTY))) is not None


def _document(n: int) -> str:
    return "x" * HUGE if n == GUILTY else str(n)


# --- the obvious wrong way --------------------------------------------------------------------


@FAULTS
def test_the_checker_catches_a_loop_with_savepoints(
    sqlite_place: Place, fault: Any, kind: type[Problem], code: str
) -> None:
    make_file(sqlite_place.address)
    connection = open_writer(sqlite_place.address)
    connection.execute("CREATE TABLE thing (n INTEGER PRIMARY KEY, doc TEXT)")
    with fault(connection):
        refused = naive_batch(connection)
    stored = {int(n) for (n,) in connection.execute("SELECT n FROM thing")}
    outcome = Outcome(set(range(COUNT)) - refused, refused, stored)
    assert complaints(outcome) == ["lost: [0, 1]"]
    connection.close()


def naive_batch(connection: apsw.Connection) -> set[int]:
    """One transaction, a savepoint per item; returns the items that were refused."""
    refused = set()
    connection.execute("BEGIN IMMEDIATE")
    for n in range(COUNT):
        connection.execute("SAVEPOINT item")
        try:
            connection.execute("INSERT INTO thing VALUES (?, ?)", (n, _document(n)))
            connection.execute("RELEASE item")
        except apsw.Error:
            refused.add(n)
            _forgive(connection, "ROLLBACK TO item")
    _forgive(connection, "COMMIT")
    return refused


def _forgive(connection: apsw.Connection, sql: str) -> None:
    try:
        connection.execute(sql)
    except apsw.SQLError:
        pass  # nothing is open any more, and the naive loop does not ask why
