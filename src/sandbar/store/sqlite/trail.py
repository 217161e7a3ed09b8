"""The audit in a SQLite file, and when keys were last used.

Rows come by three ways: with the batch that they tell of; over a connection of their own that waits
for no disk; or, while others write, by a file beside the database (`aside.py`), so that no reader
waits for a writer. Within a process, all who write take turns by a lock, so that nobody has to ask
SQLite for its own in vain.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import apsw

from sandbar.errors import Problem
from sandbar.faults import log_fault
from sandbar.sql import load_queries
from sandbar.store.numbering import Numbers, NumberTaken, Outcome, number_taken, strangers
from sandbar.store.plan import Plan
from sandbar.store.sqlite.aside import (
    MOVED_AT_ONCE,
    NOTHING_MOVES,
    Aside,
    AsideRow,
    Left,
    Moving,
    left_by_others,
    take_in,
)
from sandbar.store.sqlite.connection import (
    begin_writing,
    open_appender,
    open_writer,
    translated,
)
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.line import Line, NotFree, begin_at_once
from sandbar.store.trail import (
    AuditRow,
    Note,
    Place,
    RunEnd,
    Seal,
    audit_row,
    rehearsed_row,
    require_next,
)
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.sqlite", "trail.sql", audit=AuditRow._fields)

_GREATEST = (1 << 63) - 1
_LOG_BYTES_MAX = 4_000_000  # beyond this it is moved into the file
_NO_WORKSPACE = 0
_REHEARSE_S = 0.2  # for which one who only tries waits for the others
_UNMOVED_ROWS_MAX = 400  # about as much, if each has come alone

AllRows = Callable[[str, Any], list[Any]]


def apply_rides(connection: apsw.Connection, ws: int, plan: Plan) -> None:
    """Write the rows of the notes that come along with a batch."""
    if plan.rides:
        taken = _put_rows(connection, [(ws, row) for row in plan.rides.values()])
        if taken:
            raise number_taken()


def _put_rows(
    connection: apsw.Connection, rows: Sequence[tuple[int, AuditRow]]
) -> list[tuple[int, AuditRow]]:
    """Write rows; those are returned whose number somebody else's row has."""
    before = connection.total_changes()
    connection.executemany(_Q.put_audit, [(ws, *row) for ws, row in rows])
    taken = []
    if connection.total_changes() - before < len(rows):
        for ws, row in rows:
            found = connection.execute(_Q.rows_of, (ws, row.run, row.n - 1, row.n, 1))
            if strangers([row], map(audit_row, found)):
                taken.append((ws, row))
    return taken


class SqliteTrail:
    """The audit of all workspaces of a file, and `KeyUses`."""

    def __init__(
        self,
        file: File,
        numbers: Numbers,
        lock: threading.RLock,
        all_rows: AllRows,
        require_open: Callable[[], None],
    ) -> None:
        """`all_rows` reads as the store does; whoever of this process writes holds `lock`."""
        self._file = file
        self._numbers = numbers
        self._lock = lock
        self._all_rows = all_rows
        self._require_open = require_open
        self._appending = Line(file, open_appender, require_open)
        self._sealing = Line(file, open_writer, require_open)
        self._unmoved = 0  # rows that were appended since somebody has looked after the log
        self._aside = Aside(file.path, numbers.run)
        self._aside_lock = threading.Lock()  # held for microseconds, also by an event loop
        self.run = numbers.run

    # --- appending ---------------------------------------------------------------------------

    def append(self, notes: Sequence[Note]) -> None:
        """Commit the rows of notes that are not kept yet, once the file is free."""
        self._refuse_wrong_place()
        with self._lock:
            self._put(notes, begin_writing)
        self._unmoved += len(notes)
        if self._unmoved >= _UNMOVED_ROWS_MAX:
            self._checkpoint_besides()

    def append_at_once(self, notes: Sequence[Note]) -> bool:
        """Commit them if the file is free this instant; else keep them beside it."""
        self._require_open()
        return self._put_if_free(notes) or self._put_aside(notes)

    def _put_if_free(self, notes: Sequence[Note]) -> bool:
        try:
            if not self._lock.acquire(blocking=False):
                return False
            return self._put(notes, begin_at_once)
        finally:
            # Whoever is interrupted cannot know whether it got the lock, but the lock does. Nor is
            # there a step before the call at which another Ctrl-C could come.
            try:
                self._lock.release()
            except RuntimeError:
                pass

    def rehearse(self, ws: int) -> bool:
        """Write a row and give it up; then one of no workspace, which may be deleted, to the disk.

        The one needs the room in the tree that the next row will, and the other that in the log.
        """
        self._refuse_wrong_place()
        if not self._lock.acquire(timeout=_REHEARSE_S):
            return False
        try:
            row = rehearsed_row(self.run)
            with self._appending.transaction(begin_at_once) as connection:
                connection.execute(_Q.begin_trial)
                connection.execute(_Q.put_audit, (ws, *row))
                connection.execute(_Q.end_trial)
                connection.execute(_Q.put_audit, (_NO_WORKSPACE, *row))
                connection.execute(_Q.drop_audit, (_NO_WORKSPACE, row.run, row.n))
        except NotFree:
            return False
        finally:
            self._lock.release()
        return True

    def note_uses(self, ws: int, uses: Mapping[int, int]) -> None:
        """Note when keys were used, as far as that is news."""
        self._refuse_wrong_place()
        with self._lock, self._appending.transaction() as connection:
            connection.executemany(_Q.note_use, [(ws, id, at_us) for id, at_us in uses.items()])

    def _put(self, notes: Sequence[Note], begin: Callable[[apsw.Connection], None]) -> bool:
        try:
            return self._try_to_put(notes, begin)
        except NumberTaken:
            return self._try_to_put(notes, begin)  # under the next one

    def _try_to_put(self, notes: Sequence[Note], begin: Callable[[apsw.Connection], None]) -> bool:
        begun: dict[Note, AuditRow] = {}
        taken: list[tuple[int, AuditRow]] = []
        moving = NOTHING_MOVES
        outcome = Outcome.LOST
        try:
            with self._appending.transaction(begin) as connection:
                moving = self._move(connection)
                for note in notes:
                    row = self._numbers.begin(note)
                    if row is not None:
                        begun[note] = row
                taken = _put_rows(connection, [(note.ws, row) for note, row in begun.items()])
                outcome = Outcome.DOUBTFUL  # as long as its COMMIT is not over
            outcome = Outcome.KEPT
            self._have_moved(moving)
        except NotFree:
            return False
        finally:
            moving.end(self._numbers)
            for note, row in begun.items():
                is_taken = (note.ws, row) in taken
                self._numbers.end(note, Outcome.TAKEN if is_taken else outcome)
        if taken:
            raise number_taken()
        return True

    # --- aside -------------------------------------------------------------------------------

    def _put_aside(self, notes: Sequence[Note]) -> bool:
        """Keep rows beside the file, which somebody else writes to just now."""
        epochs = {ws: self._epoch(ws) for ws in {note.ws for note in notes}}
        if None in epochs.values():
            return False
        with self._aside_lock:
            begun: dict[Note, AuditRow] = {}
            outcome = Outcome.LOST
            try:
                for note in notes:
                    row = self._numbers.begin(note)
                    if row is not None:
                        begun[note] = row
                self._file.require()
                rows = [AsideRow(note.ws, epochs[note.ws] or 0, row) for note, row in begun.items()]
                if self._aside.put(rows):
                    outcome = Outcome.ASIDE
            finally:
                for note in begun:
                    self._numbers.end(note, outcome)
        return outcome is Outcome.ASIDE or not begun

    def _epoch(self, ws: int) -> int | None:
        found = self._all_rows(_Q.epoch, (ws,))
        return int(found[0][0]) if found else None

    def _move(self, connection: apsw.Connection) -> Moving:
        """Write the rows that wait aside to the table; they go on waiting until the commit."""
        if not self._aside.waiting:
            return NOTHING_MOVES
        with self._aside_lock:
            rows = self._aside.waiting[:MOVED_AT_ONCE]
        return take_in(connection, self._numbers, rows)

    def _have_moved(self, moving: Moving) -> None:
        if moving.rows:
            with self._aside_lock:
                self._aside.moved(len(moving.rows))
            for ws, _, row in moving.rows:
                self._numbers.arrived(ws, row.n)

    def bring_in(self) -> None:
        """Move what waits aside into the table: our own rows, and those of runs that are over."""
        self._refuse_wrong_place()
        while self._aside.waiting:
            with self._lock:
                self._put((), begin_writing)
        for left in left_by_others(self._file.path):
            self._adopt(left)

    def _adopt(self, left: Left) -> None:
        rows, moving = left.rows(), NOTHING_MOVES
        try:
            with self._lock, self._sealing.transaction() as connection:  # synced: the file goes
                moving = take_in(connection, self._numbers, rows)
        finally:
            moving.end(self._numbers)
        left.remove()

    # --- reading -----------------------------------------------------------------------------

    def rows(
        self,
        ws: int,
        *,
        limit: int,
        before_us: int | None = None,
        principal: str | None = None,
        verb: str | None = None,
        is_success: bool | None = None,
        cursor: Place | None = None,
    ) -> list[AuditRow]:
        """Rows from before an instant, newest first."""
        end = _GREATEST if before_us is None else before_us
        at_us, run, n = min(cursor or (end, 0, 0), (end, 0, 0))
        bindings: dict[str, Any] = {"ws": ws, "last_us": at_us, "at_us": at_us, "run": run, "n": n}
        bindings |= {"principal": principal, "verb": verb, "is_success": is_success}
        return list(map(audit_row, self._all_rows(_Q.rows, bindings | {"limit": limit})))

    def rows_of(
        self, ws: int, run: int, *, after_n: int, last_n: int | None = None, limit: int
    ) -> list[AuditRow]:
        """Rows of a run, ascending."""
        last = _GREATEST if last_n is None else last_n
        return list(map(audit_row, self._all_rows(_Q.rows_of, (ws, run, after_n, last, limit))))

    def runs(self, ws: int) -> list[tuple[int, int, int]]:
        """The runs that have rows, with the last of each."""
        return [(run, n, at_us) for run, n, at_us in self._all_rows(_Q.runs, (ws,))]

    def run_ends(self, ws: int, *, after: int, limit: int) -> list[RunEnd]:
        """The next runs that have rows, and how far each has got."""
        found = self._all_rows(_Q.run_ends, {"ws": ws, "after": after, "limit": limit})
        return [RunEnd(*columns) for columns in found]

    def settled_n(self, ws: int) -> int:
        """Up to where this run's numbers are settled."""
        if self._aside.waiting:
            self.bring_in()
        return self._numbers.settled(ws)

    def doubtful(self, ws: int) -> list[Note]:
        """Notes of this run whose outcome nobody can tell."""
        return self._numbers.doubtful(ws)

    def end_run(self) -> bool:
        """Give out no more numbers."""
        if self._aside.waiting:
            self.bring_in()
        return self._numbers.end_run()

    def workspaces_of_run(self) -> list[int]:
        """Where this run has given out numbers."""
        return self._numbers.workspaces()

    def seals(self, ws: int, *, after: int, limit: int) -> list[Seal]:
        """Seals with greater numbers."""
        return [Seal(*columns) for columns in self._all_rows(_Q.seals, (ws, after, limit))]

    def last_seal(self, ws: int) -> Seal | None:
        """The end of the workspace's chain."""
        found = self._all_rows(_Q.last_seal, (ws,))
        return Seal(*found[0]) if found else None

    def last_sealed_n(self, ws: int, run: int) -> int:
        """The last number of a run that a seal covers."""
        return int(self._all_rows(_Q.last_sealed, (ws, run))[0][0])

    def uses(self, ws: int) -> dict[int, int]:
        """The last use of every key."""
        return dict(self._all_rows(_Q.uses, (ws,)))

    # --- sealing -----------------------------------------------------------------------------

    def seal(self, ws: int, make: Callable[[Seal | None], Seal | None]) -> Seal | None:
        """Store the seal that follows the last one, whoever made that."""
        self._refuse_wrong_place()
        while True:
            last = self.last_seal(ws)
            made = make(last)
            if made is None:
                return None
            require_next(last, made)
            with self._lock, self._sealing.transaction() as connection:
                connection.execute(_Q.put_seal, (ws, *made))
                is_ours = connection.changes() == 1
            if is_ours:
                return made

    def checkpoint(self) -> None:
        """Move the log into the file if it has grown; nobody waits for that, but the caller."""
        self._require_open()
        self._unmoved = 0
        try:
            size = os.stat(f"{self._file.path}-wal").st_size
        except FileNotFoundError:
            return
        if size > _LOG_BYTES_MAX:
            connection = self._file.connect(open_writer)
            try:
                with translated(), suppress(apsw.BusyError):  # then somebody else is at it
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            finally:
                connection.close()

    def _checkpoint_besides(self) -> None:
        """What was to be done is done: whoever waits for it need not know of this."""
        try:
            self.checkpoint()
        except Problem as problem:
            log_fault("audit.checkpoint-failed", problem)

    def close(self) -> None:
        """Let go of the connections, once the store is no longer open."""
        with self._lock:
            self._appending.hang_up()
            self._sealing.hang_up()
            self._aside.close()

    def _refuse_wrong_place(self) -> None:
        self._require_open()  # before the lock, which after a fork nobody might ever release
        refuse_on_writer()
