"""A SQLite file as a store: one writer, a pool of readers, several processes side by side."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from sandbar import clock
from sandbar.errors import Incorrect, Unavailable
from sandbar.patience import check as check_patience
from sandbar.patience import current
from sandbar.store.numbering import Numbers
from sandbar.store.opened import OpenStore
from sandbar.store.rows import Head, Row, Token
from sandbar.store.scan import Key
from sandbar.store.sqlite.buckets import MemoryBuckets
from sandbar.store.sqlite.claim import Claim, home_of_server, is_claimed
from sandbar.store.sqlite.connection import open_reader, problem_of, translated
from sandbar.store.sqlite.jobs import SqliteJobs
from sandbar.store.sqlite.owed import SqliteOwed
from sandbar.store.sqlite.reads import QUERIES, SqliteReads
from sandbar.store.sqlite.session import SqliteConnector
from sandbar.store.sqlite.trail import SqliteTrail
from sandbar.store.sqlite.upgrade import bring_up_to_date
from sandbar.store.sqlite.workspaces import create_workspace, drop_workspace
from sandbar.store.usage import Account, Limits, limits_of
from sandbar.store.workspaces import no_workspace
from sandbar.store.writer import refuse_on_writer

_IDLE_READERS_MAX = 8
_STEPS_BETWEEN_LOOKS = 4_000  # tens of microseconds: how often a read asks whether to go on
_POLL_S = 0.05  # nobody tells us of other processes' commits


class SqliteStore(OpenStore):
    """One database file."""

    reads_in_microseconds = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        server: bool = False,
        home: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        """`limits` are those of workspaces for which no others were set."""
        self._limits = limits or Limits()
        self._path = whole_path(os.fspath(path))
        self._readers: deque[apsw.Connection] = deque()
        self._write_lock = threading.RLock()  # one that knows who has it: see the trail
        self.buckets = MemoryBuckets()
        self._claim = Claim(self._path, home) if server else None
        try:
            file = self._file = bring_up_to_date(self._path)
            numbers = Numbers()
            self.jobs = SqliteJobs(file, self._one_row, self._all_rows, self._require_open)
            self.trail = self.key_uses = SqliteTrail(
                file, numbers, self._write_lock, self._all_rows, self._require_open
            )
            self.owed = SqliteOwed(file, self._write_lock, self._all_rows, self._require_open)
            super().__init__(
                lambda: SqliteConnector(file, self._write_lock, limits),
                numbers,
                workers=1,
                yields=True,
                poll_s=_POLL_S,
            )
            with suppress(Unavailable):  # the file is busy: a server's sealer looks again
                self.trail.bring_in()
        except BaseException:
            self._give_up_claim()
            raise
        try:
            self._do_what_is_owed()
        except BaseException:
            self.close()
            raise

    def _do_what_is_owed(self) -> None:
        """What another process was to overwrite, and has not, is done before anything else.

        A server does it in the background, also for those who work beside it.
        """
        if self.owed.is_scrub_due() and not is_claimed(self._path):
            self.scrub()

    # --- workspaces ------------------------------------------------------------------------

    def workspace(self, name: str) -> int | None:
        """The number of the workspace of that name."""
        row = self._one_row(QUERIES.workspace_by_name, (name,))
        return None if row is None else int(row[0])

    def workspaces(self) -> list[tuple[int, str]]:
        """Numbers and names of the workspaces that there are."""
        return [(ws, name) for ws, name in self._all_rows(QUERIES.workspaces, ())]

    def create_workspace(self, name: str) -> int:
        """Make an empty workspace, unless there is one of that name."""
        self._require_open()
        refuse_on_writer()
        with self._write_lock:
            create_workspace(self._file, name)
        ws = self.workspace(name)
        assert ws is not None
        return ws

    def drop_workspace(self, name: str) -> None:
        """Delete a workspace with all that is in it."""
        self._require_open()
        refuse_on_writer()
        with self._write_lock:
            drop_workspace(self._file, name)

    def account(self, ws: int) -> Account:
        """What a workspace uses, and may use."""
        columns = self._one_row(QUERIES.usage, (ws,))
        if columns is None:
            raise no_workspace(ws)
        return Account.of_row(columns, self._limits, clock.now_us())

    def set_limits(self, ws: int, limits: str) -> None:
        """Set the limits of a workspace."""
        self._require_open()
        refuse_on_writer()
        most = limits_of(self._limits, limits).of_background
        with self._write_lock, self._file.transaction() as connection:
            connection.execute(QUERIES.set_limits, (limits, *most, ws))

    def home_of_server(self) -> str | None:
        """The workspace that the server on this file is at home in, if one runs."""
        return home_of_server(self._path)

    # --- reads -----------------------------------------------------------------------------

    def head(self, ws: int) -> Head:
        """Where the workspace stands."""
        columns = self._one_row(QUERIES.head, (ws,))
        if columns is None:
            raise no_workspace(ws)
        return Head(*columns)

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

    def secret(self, ws: int, id: int, property: int) -> str | None:
        """The hash kept for a secret slot, in one statement."""
        columns = self._one_row(QUERIES.secret, (ws, id, property))
        return None if columns is None else str(columns[0])

    def token(self, digest: bytes) -> Token | None:
        """The minted key with this digest, whosever it is."""
        columns = self._one_row(QUERIES.token, (digest,))
        return None if columns is None else _token(columns)

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
        is_sound = False
        try:
            patience = current()
            if patience is not None:
                connection.set_progress_handler(patience.is_over, _STEPS_BETWEEN_LOOKS)
            with translated():
                connection.execute("BEGIN")
                yield SqliteReads(connection, ws, patience)
            is_sound = True
        except BaseException as error:
            # What a reader makes of its rows is no fault of the connection, and a new one is dear.
            is_sound = _is_of_reader(error)
            raise
        finally:
            self._end_snapshot(connection, is_sound=is_sound)

    def _start_hearing(self) -> None:
        """There is nothing to hear: a file tells nobody, so watchers look."""

    def _stop_hearing(self) -> None:
        """Nothing to stop."""

    def scrub(self) -> bool:
        """Overwrite what was erased: write the file anew, and empty the log."""
        return self.owed.scrub()

    def _let_go(self) -> None:
        self.jobs.close()
        self.trail.close()
        self._drop_readers()
        self._give_up_claim()

    def _give_up_claim(self) -> None:
        if self._claim is not None:
            self._claim.give_up()

    def _one_row(self, sql: str, bindings: tuple[Any, ...]) -> Any:
        connection = self._borrow()
        try:  # as `translated` does, in half a microsecond less
            row = connection.execute(sql, bindings).fetchone()
        except apsw.Error as error:
            raise problem_of(error) from error
        self._give_back(connection)
        return row

    def _all_rows(self, sql: str, bindings: Any) -> list[Any]:
        """All rows of one statement, which ends with the patience of this thread."""
        connection = self._borrow()
        patience = current()
        if patience is not None:
            connection.set_progress_handler(patience.is_over, _STEPS_BETWEEN_LOOKS)
        try:
            with translated():
                rows = connection.execute(sql, bindings).fetchall()
        except BaseException:
            connection.close(True)
            raise
        connection.set_progress_handler(None)
        self._give_back(connection)
        return rows

    def _calmly(
        self, ws: int, look: Callable[[SqliteReads], Row | None]
    ) -> tuple[Head, Row | None]:
        """Nothing was found, and so no head: look again, for both at the same moment."""
        with self.snapshot(ws) as reads:
            return Head(*reads.state[:3]), look(reads)

    def _borrow(self) -> apsw.Connection:
        """A reader for this thread alone; one that is not given back after an error is dropped."""
        self._require_open()
        check_patience()
        try:
            return self._readers.pop()
        except IndexError:
            return self._file.connect(open_reader)

    def _end_snapshot(self, connection: apsw.Connection, *, is_sound: bool) -> None:
        try:
            if is_sound:
                connection.set_progress_handler(None)
                with translated():
                    connection.execute("ROLLBACK")
        except BaseException:
            is_sound = False
            raise
        finally:
            if is_sound:
                self._give_back(connection)
            else:
                # Not left to the collector: while a snapshot is open, the log cannot shrink.
                connection.close(True)

    def _give_back(self, connection: apsw.Connection) -> None:
        if len(self._readers) < _IDLE_READERS_MAX:
            self._readers.append(connection)
            if self._closed:  # in the meantime, and nobody else would look for it
                self._drop_readers()
        else:
            connection.close()

    def _drop_readers(self) -> None:
        while True:
            try:
                connection = self._readers.pop()
            except IndexError:  # perhaps another thread was quicker
                return
            connection.close()


def _head_and_row(columns: Any) -> tuple[Head, Row | None]:
    t, generation, epoch, id, cls, since, doc = columns
    return Head(t, generation, epoch), None if doc is None else Row(id, cls, since, doc)


def _token(columns: Any) -> Token:
    ws, workspace, id, is_revoked = columns
    return Token(ws, workspace, id, bool(is_revoked))


def _is_of_reader(error: BaseException) -> bool:
    """Whether an error arose from what was read; SQLite's own come translated.

    A read that was interrupted leaves its connection as it was.
    """
    cause = error.__cause__
    is_of_sqlite = isinstance(cause, apsw.Error) and not isinstance(cause, apsw.InterruptError)
    return isinstance(error, Exception) and not is_of_sqlite


def whole_path(path: str) -> str:
    """The path of the file itself: one lock for all its names, one file whatever the directory."""
    if path in ("", ":memory:") or path.startswith("file:"):
        raise Incorrect(
            "store.cannot-open",
            "several connections share a database, so it needs a file of its own",
            hint="give a path; a temporary directory will do",
        )
    try:
        return os.path.realpath(path)
    except ValueError as error:  # NUL, or half a character
        raise Incorrect(
            "store.cannot-open", f"this is no path: {error}", hint="for example shop.db"
        ) from error
