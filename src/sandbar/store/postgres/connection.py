"""Opening PostgreSQL connections, and saying the driver's errors in our words.

Every connection is in autocommit mode: transactions begin where the code says BEGIN.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from math import ceil
from types import TracebackType
from typing import Any, TypeVar, overload

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper

from sandbar.errors import Fault, Incorrect, Interrupted, NotFound, Problem, Unavailable
from sandbar.patience import current
from sandbar.sql import load_queries
from sandbar.store.batch import in_doubt
from sandbar.store.postgres.arrays import register_arrays
from sandbar.store.postgres.standby import Unreplicated, WritingConnection

Connection = psycopg.Connection[tuple[Any, ...]]

_Q = load_queries("sandbar.store.postgres", "queries.sql")

STATEMENT_S_MAX = 30

# Every statement of ours is a walk over an index. Without statistics (a young table) or with old
# ones the planner doubts that and reads whole tables instead, so it is left no other choice.
_PLANNER = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",  # an incremental sort of an index walk stops as early as the walk
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_SESSION = _PLANNER | {
    "search_path": "sandbar,pg_catalog,pg_temp",
    "client_encoding": "UTF8",
    "statement_timeout": f"{STATEMENT_S_MAX}s",
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
# Leases may be lost with the power: whoever held one finds that its token counts no more.
_CLAIMER = _WRITER | {"synchronous_commit": "off"}
# A backup is as slow as the disk at its other end, and so is a restore, beside which nobody writes.
_UNLIMITED = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "tcp_user_timeout": "0",
}
# Says and hears words that may be lost, so it waits for no disk.
_MESSENGER = _SESSION | {"synchronous_commit": "off"}
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

_BUSY = (Unavailable, "store.busy", "the database is busy", "retry soon")
_LOST = (
    Unavailable,
    "store.lost",
    "the connection to PostgreSQL was lost or could not be made",
    "check that the server runs, then retry",
)
_CROWDED = (
    Unavailable,
    "store.crowded",
    "PostgreSQL takes no more connections",
    "close some, or raise max_connections; then retry",
)
_TOO_SLOW = (
    Interrupted,
    "store.too-slow",
    "PostgreSQL ended a transaction that had been silent for too long",
    "do the slow work outside the transaction",
)
_STANDBY = (
    Unavailable,
    "store.read-only",
    "this PostgreSQL server takes no writes: it is a standby, or was made read-only",
    "name the primary; or all servers, postgresql://USER@HOST1,HOST2/DATABASE, and the one that"
    " takes writes is found",
)
_UNSTORABLE = (Incorrect, "store.unstorable", "a value cannot be stored", None)
_FULL = (Unavailable, "store.full", "the disk is full", "free some space, then retry")
_NO_DATABASE = (
    NotFound,
    "store.no-database",
    "PostgreSQL has no database of this name",
    "look at the end of the URL: …@HOST/DATABASE; createdb makes a database, then `sandbar migrate`"
    " its tables",
)
_NO_ROLE = (
    Incorrect,
    "store.refused",
    "PostgreSQL has no such role, or does not let it log in",
    "look at the beginning of the URL: postgresql://ROLE:PASSWORD@…; `sandbar migrate` makes roles",
)
_NO_PASSWORD = (
    Incorrect,
    "store.refused",
    "PostgreSQL refused the password, or wants one; it says the same of a role that it does not"
    " know",
    "look at the beginning of the URL: postgresql://ROLE:PASSWORD@…;"
    " a password's @ : / and % are written %40 %3A %2F and %25",
)
_NO_ENTRY = (
    Incorrect,
    "store.refused",
    "pg_hba.conf of PostgreSQL does not let this role in from here",
    "look at role, host and database of the URL, or add a line to pg_hba.conf",
)
_NO_RIGHT = (
    Incorrect,
    "store.refused",
    "the role lacks a right in this database",
    "connect as the role that `sandbar migrate` made, or run it again as the database's owner",
)
_REFUSED = (Incorrect, "store.refused", "PostgreSQL refused the role", "check the URL")
_IO = (Unavailable, "store.io", "the disk refused a read or a write", None)
_INTERRUPTED = (Interrupted, "store.interrupted", "the statement was interrupted", None)

_CANCELLED = "57014"
_LOST_CODES = (_LOST[1], _STANDBY[1])  # of several servers another may have become the primary
_Said = tuple[type[Problem], str, str, str | None]
# Of a connection that was never made; the first match counts, and the last always does.
_WITHOUT_STATE: tuple[tuple[str, _Said], ...] = (
    ("too many clients|too many connections|connection slots are reserved", _CROWDED),
    ("pg_hba.conf", _NO_ENTRY),
    ("authentication failed|no password supplied", _NO_PASSWORD),
    ("permission denied for database", _NO_RIGHT),
    ('database ".*" does not exist', _NO_DATABASE),
    ('role ".*" (does not exist|is not permitted to log in)', _NO_ROLE),
    ("does not exist|is not permitted", _REFUSED),
    ("", _LOST),
)

# What libpq quotes of an address may be its password: with a space or a percent sign in it.
_QUOTED = re.compile(r'".*"', re.DOTALL)
_ODD_HOST = re.compile(r"""(["'])[^"']*@[^"']*\1""")

# By SQLSTATE, or its first characters; the longest match counts.
_PROBLEMS: dict[str, _Said] = {
    "08": _LOST,
    "22": _UNSTORABLE,
    "25006": _STANDBY,
    "25P03": _TOO_SLOW,
    "28": _REFUSED,
    "3D000": _NO_DATABASE,
    "40": _BUSY,
    "53": _BUSY,
    "53100": _FULL,
    "53300": _CROWDED,
    "54": _UNSTORABLE,
    "55P03": _BUSY,  # a lock was not to be had in time
    _CANCELLED: _INTERRUPTED,
    "57P": _LOST,  # the server shuts down, or starts
    "58": _IO,
}


def open_reader(url: str) -> Connection:
    """A connection whose transactions are read-only snapshots."""
    return _open(url, _READER)


def open_writer(url: str) -> WritingConnection:
    """A connection that may write, and that the server ends when it falls silent."""
    connection = _open(url, _WRITER, WritingConnection)
    with translated():
        connection.execute(_Q.insist_on_sync)
    return connection


def open_claimer(url: str) -> WritingConnection:
    """A connection for writes that may be lost with the power, so they wait for no disk."""
    return _open(url, _CLAIMER, WritingConnection)


def open_patient_reader(url: str) -> Connection:
    """A connection for one snapshot that may take hours."""
    return _open(url, _READER | _UNLIMITED)


def open_patient_writer(url: str) -> Connection:
    """A connection for one transaction that may take hours."""
    connection = _open(url, _WRITER | _UNLIMITED)
    with translated():
        connection.execute(_Q.insist_on_sync)
    return connection


def open_owner(url: str) -> Connection:
    """A connection for who makes the tables, with no settings but their own."""
    return _open(url, {})


def open_messenger(url: str) -> Connection:
    """A connection for NOTIFY and LISTEN."""
    return _open(url, _MESSENGER)


C = TypeVar("C", bound=Connection)


@overload
def _open(url: str, session: dict[str, str]) -> Connection: ...


@overload
def _open(url: str, session: dict[str, str], kind: type[C]) -> C: ...


def _open(
    url: str, session: dict[str, str], kind: type[Connection] = psycopg.Connection
) -> Connection:
    with translated():
        own = conninfo_to_dict(url)
        settings = (f"--{name}={value}".replace(" ", r"\ ") for name, value in session.items())
        options = " ".join([str(own.pop("options", "")), *settings])
        own |= _kind_of_server(own, session)
        conninfo = make_conninfo("", **(_NETWORK | own), options=options)
        connection = kind.connect(conninfo, autocommit=True, prepare_threshold=_PREPARE_AFTER)
        connection.prepared_max = _PREPARED_MAX
        # One type for all integers: the driver's own choice by size would prepare each statement
        # several times over.
        connection.adapters.register_dumper(int, Int8BinaryDumper)
        register_arrays(connection.adapters)
        return connection


def _kind_of_server(own: Mapping[str, Any], session: dict[str, str]) -> dict[str, str]:
    """Of several servers the one that takes writes, also for who reads: a standby is behind.

    A reader's session is read-only by our own wish, so libpq would find no server `read-write`.
    """
    wish = own.get("target_session_attrs")
    if wish is None and "," not in f"{own.get('host')}{own.get('hostaddr')}":
        return {}
    wish = wish or "read-write"
    if wish == "read-write" and session.get("default_transaction_read_only") == "on":
        wish = "primary"
    return {"target_session_attrs": str(wish)}


def begin(connection: Connection, statement_s: float | None) -> None:
    """Begin a transaction in which every statement has so much time (None: what is usual)."""
    if statement_s is None:
        command(connection, "BEGIN")
    else:
        command(connection, _Q.begin_limited.format(ms=limit_ms(statement_s)))


def limit_ms(seconds: float) -> int:
    """The limit of a statement that should end within this time, as the server takes it.

    Never less: who is stopped before the deadline would not be told that it was the deadline.
    """
    return max(ceil(min(seconds, STATEMENT_S_MAX) * 1000), 1)


def command(connection: Connection, sql: str) -> str | None:
    """Begin or end a transaction, never prepared; returns what the server says it did."""
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
    if isinstance(error, Unreplicated):
        return in_doubt()
    state = error.sqlstate
    if state is None:
        return _problem_without_state(error)
    patience = current()
    if state == _CANCELLED and patience is not None and patience.is_over():
        return patience.problem()
    for length in (5, 3, 2):
        if state[:length] in _PROBLEMS:
            kind, code, message, hint = _PROBLEMS[state[:length]]
            return kind(code, message, hint=hint)
    return Fault("store.failed", f"PostgreSQL: {error}")


def _problem_without_state(error: psycopg.Error) -> Problem:
    """What the driver says of its own accord."""
    if isinstance(error, errors.OperationalError):
        # libpq gives no SQLSTATE for a connection that was never made, only the server's words.
        for complaint, (kind, code, message, hint) in _WITHOUT_STATE:
            if re.search(complaint, str(error)):
                return kind(code, message, hint=hint)
    if isinstance(error, errors.DataError):
        return Incorrect("store.unstorable", f"a value cannot be stored: {error}")
    if isinstance(error, errors.ProgrammingError):
        return Incorrect(
            "store.cannot-open",
            f"this is no PostgreSQL URL: {_QUOTED.sub('…', str(error)).strip()}",
            hint="for example postgresql://USER:PASSWORD@HOST/DATABASE;"
            " a password's @ : / and % are written %40 %3A %2F and %25",
        )
    return Fault("store.failed", f"PostgreSQL: {error}")


def without_odd_hosts(error: BaseException | None) -> str:
    """What is said of a connection, without names of hosts that end a password with an @ in it."""
    return _ODD_HOST.sub("…", str(error))


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, so that a new one may do better."""
    return problem_of(error).code in _LOST_CODES
