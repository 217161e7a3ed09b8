"""Opening SQLite connections, and saying its errors in our words."""

from __future__ import annotations

import os
from types import TracebackType

import apsw

from sandbar import clock
from sandbar.errors import Fault, Incorrect, Interrupted, Problem, Unavailable
from sandbar.patience import current
from sandbar.sql import load_queries
from sandbar.store.sqlite.inheritance import note_opened, refuse_inherited

_Q = load_queries("sandbar.store.sqlite", "connection.sql")

_MODE = 0o600
_BUSY_S_MAX = 5.0
_BUSY_PAUSE_S = 0.001
_BEGIN_S_MAX = 5.0
_BEGIN_PAUSE_S = 0.005
# Of each reader, of which a server keeps several. A page that it does not hold is in the system's
# cache, at the price of 2 µs; to find one among 40 MB takes half of that too, as the processor's
# own cache does not hold them. With twice as much, queries of a file of 7 MB are 2 % quicker, those
# of a million entities 2 % slower.
_READER_CACHE_KIB = 4_000
_WRITER_CACHE_KIB = 64_000
# 64 MB. Pages that many commits have changed are moved into the file once: the less often, the less
# work (with a quarter of this, writes to a million entities take a tenth longer). But moving it all
# makes one commit wait, for 50 ms or so; and who opens the file after a crash reads the log whole.
_LOG_PAGES = 16_000


def make_file(path: str) -> None:
    """Make an empty file that only its owner may read, unless there is one. No other connection
    makes any: a file that is gone would be made anew otherwise, by who still believes in it.

    SQLite gives the files beside it the same mode. Where there is a file, it is not opened here: to
    close it would end the locks of other connections of this process.
    """
    with translated():
        refuse_inherited(path)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, _MODE))
        except OSError:
            pass  # it is there, or SQLite will say why it cannot be
        apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE).close()


def open_writer(path: str) -> apsw.Connection:
    """A connection that may write: every commit is synced to the disk."""
    with translated():
        connection = _open(path)
        settings = _Q.set_up_writer.format(cache_kib=_WRITER_CACHE_KIB, log_pages=_LOG_PAGES)
        connection.execute(settings).fetchall()
        return connection


def open_claimer(path: str) -> apsw.Connection:
    """A connection for writes that may be lost with the power, so they wait for no disk."""
    with translated():
        connection = _open(path)
        # As many pages of the log as the writer leaves, who is to move it.
        connection.execute(_Q.set_up_claimer.format(log_pages=_LOG_PAGES)).fetchall()
        return connection


def open_appender(path: str) -> apsw.Connection:
    """Likewise, for rows of which there are many; it asks for the lock and does not wait for it.

    Nor does it ever move the log into the file: whoever appends may be an event loop.
    """
    connection = open_claimer(path)
    connection.set_busy_handler(None)
    connection.wal_autocheckpoint(0)
    return connection


def begin_writing(connection: apsw.Connection) -> None:
    """Take the write lock. SQLite sometimes says "busy" at once; then it is asked again."""
    deadline = clock.monotonic_s() + _BEGIN_S_MAX
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            if clock.monotonic_s() > deadline:
                raise problem_of(error) from error
            clock.pause_s(_BEGIN_PAUSE_S)
        except apsw.Error as error:
            raise problem_of(error) from error
        else:
            return


def open_reader(path: str) -> apsw.Connection:
    """A connection that cannot write, whatever it is told."""
    with translated():
        connection = _open(path)
        connection.execute(_Q.set_up_reader.format(cache_kib=_READER_CACHE_KIB)).fetchall()
        return connection


def _open(path: str) -> apsw.Connection:
    refuse_inherited(path)
    connection = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE)
    note_opened(connection, path)
    connection.set_busy_handler(_Patience())
    # Otherwise SQLite plans a statement anew whenever a bound value changes, in the hope of better
    # statistics: that costs three times as much as running it, and our plans have no choices.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    return connection


class _Patience:
    """Asks every millisecond: SQLite's own handler sleeps through the pauses of a busy writer."""

    def __init__(self) -> None:
        self._until_s = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._until_s = clock.monotonic_s() + _BUSY_S_MAX
        clock.pause_s(_BUSY_PAUSE_S)
        return clock.monotonic_s() < self._until_s


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
        if isinstance(error, apsw.Error):
            raise problem_of(error) from error
        if isinstance(error, UnicodeEncodeError | OverflowError):
            raise Incorrect("store.unstorable", f"a value cannot be stored: {error}") from error


_TRANSLATED = _Translated()


def translated() -> _Translated:
    """Turn whatever SQLite raises into a Problem."""
    return _TRANSLATED


def problem_of(error: apsw.Error) -> Problem:
    """SQLite's complaint, in our words."""
    if isinstance(error, apsw.FullError):
        return Unavailable("store.full", "the disk is full", hint="free some space, then retry")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return Unavailable("store.busy", "another process holds the database", hint="retry soon")
    if isinstance(error, apsw.InterruptError):
        patience = current()
        if patience is not None and patience.is_over():
            return patience.problem()
        return Interrupted("store.interrupted", "the statement was interrupted")
    if isinstance(error, apsw.CantOpenError | apsw.NotADBError | apsw.PermissionsError):
        return Incorrect(
            "store.cannot-open",
            f"this is no database that can be opened: {error}",
            hint="give the path of a SQLite file, or of a new one in a folder that is there;"
            " this user must be allowed to write to both",
        )
    if isinstance(error, apsw.ReadOnlyError):
        return Unavailable(
            "store.read-only",
            "the database file, or the folder that it is in, cannot be written",
            hint="let this user write to the file, and to its folder, where SQLite keeps its log",
        )
    if isinstance(error, apsw.IOError):
        return Unavailable("store.io", "the disk refused a read or a write")
    if isinstance(error, apsw.CorruptError):
        return Unavailable("store.corrupt", "the database file is damaged", hint="restore a backup")
    return Fault("store.failed", f"SQLite: {error}")
