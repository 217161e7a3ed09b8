"""The readers' pool: connections that remember which workspace they are bound to.

Row-level security asks the session for its workspace. Setting it anew in each transaction would
cost every point read two more round trips; so a connection stays bound, and is bound anew only
when it is lent for another workspace. Whatever goes wrong, the connection is thrown away: one
whose binding is in doubt is never lent again.

Ctrl-C can come as a function begins or a call into C ends. So whoever holds a permit is written
down before it has one, and taken from the list by one call, the first of a `finally`: no permit is
lost and none is given back twice, also if a second Ctrl-C follows. A connection that is lost so is
closed by the collector.
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
from sandbar.sql import load_queries
from sandbar.store.forks import Home
from sandbar.store.postgres.connection import (
    Connection,
    begin,
    command,
    is_lost,
    open_reader,
    problem_of,
)

_BIND = load_queries("sandbar.store.postgres", "queries.sql").bind

CONNECTIONS_MAX = 16
ACQUIRE_TIMEOUT_S = 4.0
_LOOK_S = 0.02  # how often somebody who waits in line is asked whether to go on

T = TypeVar("T")


class _Bound:
    """A connection and the workspace that its session is bound to (None: nobody knows)."""

    __slots__ = ("connection", "ws")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.ws: int | None = None


class _Loan:
    """A permit, while it is in the pool's list, and the connection that came of it."""

    __slots__ = ("bound",)

    def __init__(self) -> None:
        self.bound: _Bound | None = None


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
        self._connections_max = connections_max
        self._condition = threading.Condition()
        self._loans: set[_Loan] = set()
        self._idle: list[_Bound] = []
        self._closed = False

    def lent_count(self) -> int:
        """How many connections are lent."""
        return len(self._loans)

    def one_row(self, ws: int | None, sql: str, bindings: Any) -> Any:
        """The first row of one statement; without a workspace, of one that reads no table."""

        def fetch(connection: Connection) -> Any:
            return connection.execute(sql, bindings, prepare=True).fetchone()

        return self.run(ws, fetch)

    def all_rows(self, sql: str, bindings: Any, ws: int | None = None) -> list[Any]:
        """The rows of one statement; without a workspace, of one that reads no table."""

        def fetch(connection: Connection) -> list[Any]:
            return connection.execute(sql, bindings, prepare=True).fetchall()

        return self.run(ws, fetch)

    @contextmanager
    def snapshot(self, ws: int, start: Callable[[Connection], T]) -> Iterator[T]:
        """Lend a connection with a snapshot open; `start` is its first statement."""
        patience = current()

        def first(connection: Connection) -> T:
            begin(connection, None if patience is None else patience.remaining_s())
            return start(connection)

        loan = _Loan()
        try:
            started = self._first(loan, ws, first)
            connection = _connection_of(loan)
            if patience is None:
                yield started
            else:
                with patience.on_cancel(lambda: _cancel_soon(connection)):
                    yield started
        finally:
            is_cancelled = patience is not None and patience.is_cancelled()
            try:
                self._end_snapshot(loan, is_cancelled=is_cancelled)
            finally:
                self._loans.discard(loan)
                self._end(loan)

    def close(self) -> None:
        """Let go of the idle connections; those that are lent follow when they come back."""
        self._closed = True
        self._drop_idle()

    def run(self, ws: int | None, statement: Callable[[Connection], T]) -> T:
        """Run one statement, perhaps twice: over another connection, if the first was lost."""
        loan = _Loan()
        try:
            answer = self._first(loan, ws, statement)
            self._give_back(loan)
            return answer
        finally:
            self._loans.discard(loan)
            self._end(loan)

    def _first(self, loan: _Loan, ws: int | None, statement: Callable[[Connection], T]) -> T:
        """Borrow a connection and run the first statement; a stale connection gets one retry."""
        refuse_event_loop()
        self._wait_for_turn(loan)
        for is_last in (False, True):
            bound = loan.bound = self._take_idle(ws) or _Bound(self._connect(self._url))
            try:
                self._bind(bound, ws)
                return statement(bound.connection)
            except psycopg.Error as error:
                bound.connection.close()
                if is_last or not is_lost(error):
                    raise problem_of(error) from error
                self._drop_idle()  # a server that restarted has dropped all of them
        raise AssertionError("unreachable")

    def _wait_for_turn(self, loan: _Loan) -> None:
        """Wait for one of the connections, though no longer than somebody waits for us."""
        patience = current()
        until_s: float | None = None
        while True:
            if patience is not None:
                patience.check()
            with self._condition:
                if self._closed:
                    raise Unavailable(
                        "store.closed", "this database has been closed", hint="open it again"
                    )
                self._home.require()
                if len(self._loans) < self._connections_max:
                    self._loans.add(loan)
                    return
                # Not for longer: whoever was interrupted may not have told us.
                self._condition.wait(_LOOK_S)
            now_s = clock.monotonic_s()
            until_s = until_s or now_s + ACQUIRE_TIMEOUT_S
            if now_s > until_s:
                raise Unavailable(
                    "store.busy", "all connections to PostgreSQL are in use", hint="retry soon"
                )

    def _take_idle(self, ws: int | None) -> _Bound | None:
        """A connection that nobody uses, if there is one; rather one that is bound already."""
        with self._condition:
            for place in range(len(self._idle) - 1, -1, -1):
                if self._idle[place].ws == ws:
                    return self._idle.pop(place)
            return self._idle.pop(0) if self._idle else None

    def _bind(self, bound: _Bound, ws: int | None) -> None:
        if ws is not None and bound.ws != ws:
            bound.ws = None
            bound.connection.execute(_BIND, (str(ws),), prepare=True)
            bound.ws = ws

    def _end_snapshot(self, loan: _Loan, *, is_cancelled: bool) -> None:
        """Give the connection back, if it is sound; a late cancel must hit nobody."""
        if loan.bound is None or is_cancelled:
            return
        connection = loan.bound.connection
        if connection.info.transaction_status != TransactionStatus.INTRANS:
            return
        try:
            # Not ROLLBACK, after which the driver would forget its prepared statements.
            command(connection, "COMMIT")
        except psycopg.Error:
            return  # all was read: the reader need not know
        self._give_back(loan)

    def _give_back(self, loan: _Loan) -> None:
        """Its statement is over, and all is well: others may have the connection."""
        bound, loan.bound = loan.bound, None
        if bound is not None:
            with self._condition:
                self._idle.append(bound)
            if self._closed:
                self._drop_idle()

    def _end(self, loan: _Loan) -> None:
        """The permit is free again; a connection that was not given back is thrown away."""
        with self._condition:
            self._condition.notify()
        if loan.bound is not None:
            loan.bound.connection.close()

    def _drop_idle(self) -> None:
        with self._condition:
            idle, self._idle = self._idle, []
        for bound in idle:
            bound.connection.close()


def _connection_of(loan: _Loan) -> Connection:
    assert loan.bound is not None
    return loan.bound.connection


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
