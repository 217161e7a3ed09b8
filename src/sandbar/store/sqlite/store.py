"""A SQLite file as a store: one writer, a pool of readers, several processes side by side."""

from __future__ import annotations

import atexit
import fcntl
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from sandbar.errors import Conflict, Incorrect, Unavailable
from sandbar.store.answer import Answer
from sandbar.store.api import NOTHING_WANTED, Wanted
from sandbar.store.batch import Item
from sandbar.store.plan import Transaction
from sandbar.store.rows import Head, Row
from sandbar.store.scan import Key
from sandbar.store.sqlite.connection import open_reader, open_writer, translated
from sandbar.store.sqlite.reads import QUERIES, SqliteReads
from sandbar.store.sqlite.session import SqliteConnector
from sandbar.store.sqlite.upgrade import bring_up_to_date
from sandbar.store.writer import Writer

_IDLE_READERS_MAX = 8

T = TypeVar("T")


class SqliteStore:
    """One database file."""

    def __init__(self, path: str | Path, *, server: bool = False) -> None:
        self._path = str(path)
        if self._path in ("", ":memory:") or self._path.startswith("file:"):
            raise Incorrect(
                "store.cannot-open",
                "several connections share a database, so it needs a file of its own",
                hint="give a path; a temporary directory will do",
            )
        self._server_lock = _lock_for_server(self._path) if server else None
        bring_up_to_date(self._path)
        self._readers: deque[apsw.Connection] = deque()
        self._closed = False
        self._writer = Writer(lambda: SqliteConnector(self._path), workers=1, yields=True)
        atexit.register(self.close)

    # --- workspaces ------------------------------------------------------------------------

    def workspace(self, name: str) -> int | None:
        """The number of the workspace of that name."""
        row = self._one_row(QUERIES.workspace_by_name, (name,))
        return None if row is None else int(row[0])

    def create_workspace(self, name: str) -> int:
        """Make an empty workspace, unless there is one of that name."""
        connection = open_writer(self._path)
        with translated():
            connection.execute(QUERIES.create_workspace, (name, secrets.randbits(52)))
        connection.close()
        ws = self.workspace(name)
        assert ws is not None
        return ws

    # --- reads -----------------------------------------------------------------------------

    def point(self, ws: int, id: int) -> tuple[Head, Row | None]:
        """One entity by id, in one statement."""
        columns = self._one_row(QUERIES.point, (ws, id))
        return _head_and_row(columns) if columns else self._calmly(ws, lambda s: s.entity(id))

    def point_by_key(self, ws: int, property: int, key: Key) -> tuple[Head, Row | None]:
        """One entity by the key of a unique slot, in one statement."""
        columns = self._one_row(QUERIES.point_by_key, (ws, property, key))
        if columns:
            return _head_and_row(columns)
        return self._calmly(ws, lambda s: next(iter(s.entities(s.find(property, key)[:1])), None))

    def point_as_of(self, ws: int, id: int, t: int) -> tuple[Head, Row | None]:
        """One entity as of the past. Two looks are safe: what has passed never changes."""
        columns = self._one_row(QUERIES.point_unless_later, (ws, id, t))
        if columns is None:
            columns = self._one_row(QUERIES.point_in_past, (ws, id, t))
        if columns:
            return _head_and_row(columns)
        return self._calmly(ws, lambda s: s.entity_as_of(id, t))

    @contextmanager
    def snapshot(self, ws: int) -> Iterator[SqliteReads]:
        """A consistent view for several reads."""
        connection = self._borrow()
        with translated():
            connection.execute("BEGIN")
            try:
                yield SqliteReads(connection, ws)
            finally:
                connection.execute("ROLLBACK")
        self._give_back(connection)

    # --- writes ----------------------------------------------------------------------------

    def submit(
        self,
        ws: int,
        work: Callable[[Transaction], T],
        *,
        wanted: Wanted = NOTHING_WANTED,
        alone: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[T]:
        """Queue a transaction; the future resolves after its commit."""
        item = Item(work, wanted, alone=alone, deadline_s=deadline_s)
        self._writer.submit(ws, item)
        return item.future

    def open_transaction(self) -> Transaction | None:
        """The transaction that the calling thread is inside of."""
        return self._writer.open_transaction()

    def close(self) -> None:
        """Finish what is queued, then let go of everything."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        self._writer.close()
        while self._readers:
            self._readers.pop().close()
        if self._server_lock is not None:
            os.close(self._server_lock)

    def _one_row(self, sql: str, bindings: tuple[Any, ...]) -> Any:
        connection = self._borrow()
        with translated():
            row = connection.execute(sql, bindings).fetchone()
        self._give_back(connection)
        return row

    def _calmly(
        self, ws: int, look: Callable[[SqliteReads], Row | None]
    ) -> tuple[Head, Row | None]:
        """Nothing was found, and so no head: look again, for both at the same moment."""
        with self.snapshot(ws) as reads:
            return Head(*reads.state[:3]), look(reads)

    def _borrow(self) -> apsw.Connection:
        """A reader for this thread alone; one that is not given back after an error is dropped."""
        if self._closed:
            raise Unavailable("store.closed", "this database has been closed")
        try:
            return self._readers.pop()
        except IndexError:
            return open_reader(self._path)

    def _give_back(self, connection: apsw.Connection) -> None:
        if len(self._readers) < _IDLE_READERS_MAX:
            self._readers.append(connection)
        else:
            connection.close()


def _head_and_row(columns: Any) -> tuple[Head, Row | None]:
    t, generation, epoch, id, cls, since, doc = columns
    return Head(t, generation, epoch), None if doc is None else Row(id, cls, since, doc)


def _lock_for_server(path: str) -> int:
    """Only one server may own a file; the lock is apart from SQLite's own, which it would break."""
    handle = os.open(f"{path}.server-lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise Conflict(
            "store.server-running",
            f"another Sandbar server already serves {path}",
            hint="stop it, or talk to it; the library and the command line may run beside it",
        ) from error
    return handle
