"""Opening PostgreSQL connections, and saying the driver's errors in our words.

Every connection is in autocommit mode: transactions begin where the code says BEGIN.
"""

from __future__ import annotations

import struct
from types import TracebackType
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper

from sandbar.errors import Fault, Incorrect, Interrupted, Problem, Unavailable
from sandbar.store.postgres.arrays import register_arrays
from sandbar.store.queries import load_queries

Connection = psycopg.Connection[tuple[Any, ...]]
Cursor = psycopg.Cursor[tuple[Any, ...]]

_INSIST_ON_SYNC = load_queries("sandbar.store.postgres", "queries.sql").insist_on_sync

# Every statement of ours is a walk over an index. Without statistics (a young table) or with old
# ones the planner doubts that and reads whole tables instead, so it is left no other choice.
_PLANNER = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
_SESSION = _PLANNER | {
    "search_path": "sandbar,pg_catalog,pg_temp",
    "client_encoding": "UTF8",
    "statement_timeout": "30s",
    "tcp_user_timeout": "10s",
}
_READER = _SESSION | {
    "default_transaction_isolation": "repeatable read",
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "60s",
}
# A frozen or vanished writer loses its session, and with it the workspace's lock, within seconds.
_WRITER = _SESSION | {
    "default_transaction_isolation": "read committed",
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "3s",
}
_NETWORK = {
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "application_name": "sandbar",
}
_PREPARE_AFTER = 2
_PREPARED_MAX = 200

_LOST = (errors.OperationalError, errors.IdleInTransactionSessionTimeout)
_CROWDED = (
    errors.LockNotAvailable,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.TooManyConnections,
    errors.ConfigurationLimitExceeded,
)


def open_reader(url: str) -> Connection:
    """A connection whose transactions are read-only snapshots."""
    return _open(url, _READER)


def open_writer(url: str) -> Connection:
    """A connection that may write, and that the server ends when it falls silent."""
    connection = _open(url, _WRITER)
    with translated():
        connection.execute(_INSIST_ON_SYNC)
    return connection


def _open(url: str, session: dict[str, str]) -> Connection:
    with translated():
        own = conninfo_to_dict(url)
        settings = (f"--{name}={value}".replace(" ", r"\ ") for name, value in session.items())
        options = " ".join([str(own.pop("options", "")), *settings])
        conninfo = make_conninfo("", **(_NETWORK | own), options=options)
        connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=_PREPARE_AFTER)
        connection.prepared_max = _PREPARED_MAX
        # One type for all integers: the driver's own choice by size would prepare each statement
        # several times over.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        register_arrays(connection.adapters)
        return connection


def command(connection: Connection, sql: str) -> str | None:
    """BEGIN, COMMIT or ROLLBACK, never prepared; returns what the server says it did."""
    return connection.execute(sql, prepare=False).statusmessage


class _Translated:
    """A class and not a generator, because it stands on the hot path."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, psycopg.Error):
            raise problem_of(error) from error
        if isinstance(error, UnicodeEncodeError | OverflowError | struct.error):
            raise Incorrect("store.unstorable", f"a value cannot be stored: {error}") from error


_TRANSLATED = _Translated()


def translated() -> _Translated:
    """Turn whatever the driver raises into a Problem."""
    return _TRANSLATED


def problem_of(error: psycopg.Error) -> Problem:
    """PostgreSQL's complaint, in our words."""
    if isinstance(error, errors.QueryCanceled):
        return Interrupted("store.interrupted", "the statement was interrupted")
    if isinstance(error, errors.DiskFull):
        return Unavailable("store.full", "the disk is full", hint="free some space, then retry")
    if isinstance(error, _CROWDED):
        return Unavailable("store.busy", "the database is busy", hint="retry soon")
    if isinstance(error, errors.InvalidPassword | errors.InvalidAuthorizationSpecification):
        return Incorrect(
            "store.refused", f"PostgreSQL refused the role: {error}", hint="check the URL"
        )
    if isinstance(error, _LOST):
        return Unavailable(
            "store.lost",
            "the connection to PostgreSQL was lost or could not be made",
            hint="check that the server runs, then retry",
        )
    if isinstance(error, errors.DataError):
        return Incorrect("store.unstorable", f"a value cannot be stored: {error}")
    if isinstance(error, errors.ProgrammingError) and error.sqlstate is None:
        return Incorrect("store.cannot-open", f"this is no PostgreSQL URL: {error}")
    return Fault("store.failed", f"PostgreSQL: {error}")


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that a new one may do better."""
    return isinstance(error, _LOST) and not isinstance(error, (*_CROWDED, errors.QueryCanceled))
