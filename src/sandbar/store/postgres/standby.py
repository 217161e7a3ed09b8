"""A connection that writes, and does not wait for a silent standby without end.

With synchronous replication a COMMIT waits until a standby has confirmed it. If none is there
PostgreSQL waits forever, `statement_timeout` does not count, and the workspace's lock is held. So a
wait that ends a transaction has a limit of ours, after which it is cancelled. The transaction is
committed on the primary by then, a warning is all that says so, and a failover may still lose it:
the outcome is in doubt.
"""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

COMMIT_S_MAX = 8.0
COMMIT_AGAIN_S_MAX = 2.0  # while the standby has not come back, for those who wait in line
WHOLE_S_MAX = 8.0  # of a statement that is a transaction of its own; longer than it may be locked
_CANCEL_S = 2.0
_END_S = 3.0  # what is cancelled ends within this time, or the connection is given up
_LOOK_S = 0.1  # how often a wait asks whether it was interrupted

_WARNING = "01000"

T = TypeVar("T")


class Unreplicated(psycopg.OperationalError):
    """The transaction is committed on this server, and perhaps on no other."""


class _Warning:
    """Whether the server has warned; apart from the connection, which goes when nobody has it."""

    __slots__ = ("is_heard",)

    def __init__(self) -> None:
        self.is_heard = False

    def hear(self, notice: psycopg.errors.Diagnostic) -> None:
        """Be told something that is no answer."""
        self.is_heard = self.is_heard or notice.sqlstate == _WARNING


class WritingConnection(psycopg.Connection[tuple[Any, ...]]):
    """Raises `Unreplicated` if a standby did not confirm a commit in time."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._warning = _Warning()
        self._is_ending = False
        self._limit_s = COMMIT_S_MAX
        self.add_notice_handler(self._warning.hear)

    def commit_now(self) -> str | None:
        """COMMIT; returns what the server says it did."""
        self._is_ending = True
        try:
            return self.execute("COMMIT", prepare=False).statusmessage
        finally:
            self._is_ending = False

    def wait(self, gen: PQGen[T], interval: float = _LOOK_S, timeout: float | None = None) -> T:
        """Wait for the server; where a transaction ends, or is one statement, for so long only."""
        is_whole = self.pgconn.transaction_status == TransactionStatus.IDLE
        if timeout is not None or not (is_whole or self._is_ending):
            return super().wait(gen, interval, timeout)
        self._warning.is_heard = False
        try:
            answer = super().wait(gen, interval, WHOLE_S_MAX if is_whole else self._limit_s)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            answer = self._end(gen, interval)
        if self._warning.is_heard:
            self._limit_s = COMMIT_AGAIN_S_MAX
            raise Unreplicated("no standby has confirmed the commit")
        self._limit_s = COMMIT_S_MAX
        return answer

    def _end(self, gen: PQGen[T], interval: float) -> T:
        """Cancel what the server does, and hear what became of it."""
        try:
            self.cancel_safe(timeout=_CANCEL_S)
            return super().wait(gen, interval, _END_S)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:
                self.pgconn.finish()  # nobody can say what it does
            raise
