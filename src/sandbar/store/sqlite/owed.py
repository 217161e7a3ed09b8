"""Duties in a SQLite file, and the one that it owes: to overwrite what was erased."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from sandbar import clock
from sandbar.errors import Interrupted, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.patience import current
from sandbar.sql import load_queries
from sandbar.store.jobs import microseconds
from sandbar.store.owed import LEASE_S, SCRUB, Duty, pause_s
from sandbar.store.sqlite.erasure import scrub
from sandbar.store.sqlite.file import File
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.sqlite", "owed.sql")
_log = logging.getLogger("sandbar.store")

AllRows = Callable[[str, Any], list[Any]]


def owe_scrub(connection: apsw.Connection, ws: int, t: int) -> None:
    """Have it noted, with whatever else is committed, that erased rows are to be overwritten."""
    connection.execute(_Q.owe, (ws, SCRUB, t, clock.now_us()))


def duties_of(connection: apsw.Connection) -> tuple[Duty, ...]:
    """All that a file owes, oldest first."""
    rows: list[Any] = connection.execute(_Q.duties).fetchall()
    return tuple(Duty(*row) for row in rows)


class SqliteOwed:
    """The duties of all workspaces of a file."""

    def __init__(
        self,
        file: File,
        lock: threading.RLock,
        all_rows: AllRows,
        require_open: Callable[[], None],
    ) -> None:
        """`lock` is that of all who write in this process; `all_rows` reads as the store does."""
        self._file = file
        self._lock = lock
        self._all_rows = all_rows
        self._require_open = require_open
        self._scrubbing = threading.Lock()

    def duties(self) -> list[Duty]:
        """All that is owed, oldest first."""
        return [Duty(*row) for row in self._all_rows(_Q.duties, ())]

    def claim(self) -> Duty | None:
        """One that is due, if any is."""
        now_us = clock.now_us()
        if not self._all_rows(_Q.is_due, (now_us,))[0][0]:
            return None  # so nobody waits for a lock that nobody needs
        with self._writing() as connection:
            found: list[Any] = connection.execute(
                _Q.claim, (now_us, microseconds(LEASE_S))
            ).fetchall()
        return Duty(*found[0]) if found else None

    def postpone(self, duty: Duty) -> None:
        """It could not be done: it is due again after a while."""
        with self._writing() as connection:
            _postpone(connection, duty.ws, duty.duty, duty.tries)

    def is_scrub_due(self) -> bool:
        """Whether something erased is to be overwritten by now; a claim may be that of the dead."""
        now_us, marks = clock.now_us(), self._all_rows(_Q.marks, (SCRUB,))
        return any(tries == 0 or due_us <= now_us for _, _, tries, due_us in marks)

    def scrub(self) -> bool:
        """Overwrite what was erased, if that is owed; False: it still is, and is tried again.

        What was erased is committed: nobody who asks for more is told that it failed.
        """
        patience = current()
        left_s = None if patience is None else patience.remaining_s()
        if not self._scrubbing.acquire(timeout=-1 if left_s is None else left_s):
            return False  # another thread is at it
        try:
            self._require_open()
            self._file.require()
            marks = self._all_rows(_Q.marks, (SCRUB,))
            return not marks or self._scrub(marks)
        except Problem as problem:
            _tell(problem)
            return False
        finally:
            self._scrubbing.release()

    def _scrub(self, marks: list[Any]) -> bool:
        try:
            is_done = scrub(self._file, self._lock)
        except Problem as problem:
            _tell(problem)
            is_done = False
        with self._writing() as connection:
            for ws, mark, tries, _ in marks:
                if is_done:
                    connection.execute(_Q.done, (ws, SCRUB, mark))
                else:
                    _postpone(connection, ws, SCRUB, tries)
        if not is_done:
            _log.warning("owed.postponed: what was erased is not overwritten yet; tried again")
        return is_done

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        self._require_open()
        refuse_on_writer()
        with self._lock, self._file.transaction() as connection:
            yield connection


def _postpone(connection: apsw.Connection, ws: int, duty: str, tries: int) -> None:
    due_us = clock.now_us() + microseconds(pause_s(tries))
    connection.execute(_Q.postpone, (due_us, ws, duty))


def _tell(problem: Problem) -> None:
    """Others that keep the file busy, and callers who wait no longer, are no defect."""
    if not isinstance(problem, Unavailable | Interrupted):
        log_fault("store.scrub-failed", problem)
