"""The readers' pool: connections that remember which workspace they are bound to.

Row-level security asks the session for its workspace. Setting it anew in each transaction would
cost every point read two more round trips; so a connection stays bound, and is bound anew only
when it is lent for another workspace. Whatever goes wrong, the connection is thrown away: one
whose binding is in doubt is never lent again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from sandbar import clock
from sandbar.errors import Fault, Unavailable
from sandbar.faults import log_fault
from sandbar.patience import current
from sandbar.store.forks import Home
from sandbar.store.postgres.connection import (
    Connection,
    begin,
    command,
    is_lost,
    open_reader,
    problem_of,
)
from sandbar.store.queries import load_queries

_BIND = load_queries("sandbar.store.postgres", "queries.sql").bind

CONNECTIONS_MAX = 16
ACQUIRE_TIMEOUT_S = 4.0
_LOOK_S = 0.02  # how often somebody who waits in line is asked whether to go on

T = TypeVar("T")


class _Lent:
    """A connection and the workspace that its session is bound to (None: nobody knows)."""

    __slots__ = ("connection", "ws")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ws: int | None = None


class Pool:
    """At most so many connections, each used by one thread at a time."""

    def __init__(
        self,
        url: str,
        connect: Callable[[str], Connection] = open_reader,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._url = url
        self._connect = connect
        self._home = Home()
        self._free = threading.Semaphore(connections_max)
        self._lock = threading.Lock()
        self._idle: list[_Lent] = []
        self._closed = False

    def one_row(self, ws: int | None, sql: str, bindings: Any) -> Any:
        """The first row of one statement; without a workspace, of one that reads no table."""

        def fetch(connection: Connection) -> Any:
            return connection.execute(sql, bindings, prepare=True).fetchone()

        lent, row = self._first(ws, fetch)
        self._give_back(lent)
        return row

    def all_rows(self, sql: str, bindings: Any, ws: int | None = None) -> list[Any]:
        """The rows of one statement; without a workspace, of one that reads no table."""

        def fetch(connection: Connection) -> list[Any]:
            return connection.execute(sql, bindings, prepare=True).fetchall()

        lent, rows = self._first(ws, fetch)
        self._give_back(lent)
        return rows

    @contextmanager
    def snapshot(self, ws: int, start: Callable[[Connection], T]) -> Iterator[T]:
        """Lend a connection with a snapshot open; `start` is its first statement."""
        patience = current()

        def first(connection: Connection) -> T:
            begin(connection, None if patience is None else patience.remaining_s())
            return start(connection)

        lent, started = self._first(ws, first)
        try:
            if patience is None:
                yield started
            else:
                with patience.on_cancel(lambda: _cancel_soon(lent.connection)):
                    yield started
        finally:
            self._end_snapshot(lent, is_cancelled=patience is not None and patience.is_cancelled())

    def close(self) -> None:
        """Let go of the idle connections; those that are lent follow when they come back."""
        self._closed = True
        self._drop_idle()

    def _first(self, ws: int | None, statement: Callable[[Connection], T]) -> tuple[_Lent, T]:
        """Borrow a connection and run the first statement; a stale connection gets one retry."""
        refuse_event_loop()
        for is_last in (False, True):
            lent = self._borrow(ws)
            try:
                self._bind(lent, ws)
                return lent, statement(lent.connection)
            except psycopg.Error as error:
                self._discard(lent)
                if is_last or not is_lost(error):
                    raise problem_of(error) from error
                self._drop_idle()  # a server that restarted has dropped all of them
            except BaseException:
                self._discard(lent)
                raise
        raise AssertionError("unreachable")

    def _borrow(self, ws: int | None) -> _Lent:
        if self._closed:
            raise Unavailable("store.closed", "this database has been closed", hint="open it again")
        self._home.require()
        if not self._has_turn():
            raise Unavailable(
                "store.busy", "all connections to PostgreSQL are in use", hint="retry soon"
            )
        with self._lock:
            for place in range(len(self._idle) - 1, -1, -1):
                if self._idle[place].ws == ws:
                    return self._idle.pop(place)
            if self._idle:
                return self._idle.pop(0)
        try:
            return _Lent(self._connect(self._url))
        except BaseException:
            self._free.release()
            raise

    def _has_turn(self) -> bool:
        """Wait for one of the connections, though no longer than somebody waits for us."""
        patience = current()
        if patience is None:
            return self._free.acquire(timeout=ACQUIRE_TIMEOUT_S)
        until_s = clock.monotonic_s() + ACQUIRE_TIMEOUT_S
        patience.check()
        while not self._free.acquire(timeout=_LOOK_S):
            patience.check()
            if clock.monotonic_s() > until_s:
                return False
        return True

    def _bind(self, lent: _Lent, ws: int | None) -> None:
        if ws is not None and lent.ws != ws:
            lent.ws = None
            lent.connection.execute(_BIND, (str(ws),), prepare=True)
            lent.ws = ws

    def _end_snapshot(self, lent: _Lent, *, is_cancelled: bool) -> None:
        status = lent.connection.info.transaction_status
        if is_cancelled or status != TransactionStatus.INTRANS:  # a late cancel must hit nobody
            self._discard(lent)
            return
        try:
            # Not ROLLBACK, after which the driver would forget its prepared statements.
            command(lent.connection, "COMMIT")
        except psycopg.Error:
            self._discard(lent)  # all was read: the reader need not know
            return
        self._give_back(lent)

    def _give_back(self, lent: _Lent) -> None:
        if self._closed:
            self._discard(lent)
            return
        with self._lock:
            self._idle.append(lent)
        self._free.release()

    def _discard(self, lent: _Lent) -> None:
        lent.connection.close()
        self._free.release()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for lent in idle:
            lent.connection.close()


def _cancel_soon(connection: Connection) -> None:
    """Stop what the connection does; on a thread, because it takes a connection of its own."""
    threading.Thread(target=_cancel, args=(connection,), name="sandbar-cancel", daemon=True).start()


def _cancel(connection: Connection) -> None:
    try:
        connection.cancel_safe(timeout=ACQUIRE_TIMEOUT_S)
    except psycopg.Error as error:
        log_fault("store.cancel-failed", error)  # its statement ends by its own timeout


def refuse_event_loop() -> None:
    """Whoever may block says so: on the thread of an event loop that is a defect."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Fault(
        "store.blocking-call",
        "PostgreSQL was called on the thread of an event loop, which it would block",
        hint="run the call in a worker thread, for instance with asyncio.to_thread",
    )
