"""Processes that die between a commit and what has to follow it.

Of those that erase something from a SQLite file the steps are the statements that any connection
runs from the commit on. A step `at` of None is never reached; `inside` says how far a VACUUM comes
that it is to die in.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import apsw

import sandbar
from sandbar.database import open_database
from sandbar.model import searching
from sandbar.store.postgres.session import PostgresSession
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.session import SqliteSession

HOME, OTHER = "main", "other"
VICTIM = "people/eve"
ROWS_PER_STEP = 40
_OPS_BETWEEN_LOOKS = 20


class Fate:
    """Counts the steps after the commit, and kills this process at one of them."""

    def __init__(self, at: int | None, inside: int | None) -> None:
        self._at = at
        self._inside = inside
        self._seen: int | None = None  # None: nothing is committed yet
        self._inched = 0

    def step(self, cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        """One more statement is about to run."""
        del bindings
        if self._seen is not None:
            self._count()
            if self._inside is not None and statement == "VACUUM":
                left = self._inside
                cursor.connection.set_progress_handler(lambda: self._inch(left), _OPS_BETWEEN_LOOKS)
        return True

    def after(self, commit: Callable[..., None]) -> Callable[..., None]:
        """The same commit, after which the steps are counted."""

        def committing(*given: Any) -> None:
            commit(*given)
            if self._seen is None:
                self._seen = -1
                self._count()

        return committing

    def _count(self) -> None:
        assert self._seen is not None
        self._seen += 1
        if self._seen == self._at:
            _die()

    def _inch(self, most: int) -> bool:
        self._inched += 1
        if self._inched > most:
            _die()
        return False


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(path: str, what: str, at: int | None, inside: int | None = None) -> None:
    """Purge an entity, drop a workspace, or open a file that owes a scrub."""
    fate = Fate(at, inside)
    apsw.connection_hooks.append(lambda connection: connection.set_exec_trace(fate.step))
    if what == "open":
        fate.after(lambda: None)()  # what it owes was committed by another process
        sandbar.open(path).close()
        return
    with open_database(path, HOME) as db:
        patch.object(SqliteSession, "commit", fate.after(SqliteSession.commit)).start()
        patch.object(File, "commit", fate.after(File.commit)).start()
        if what == "purge":
            db.purge(VICTIM)
        else:
            db._family.neighbours.drop(OTHER)


def build_index(target: str, kill: str) -> None:
    """Open a database whose search index is to be built; die before or after its next commit."""
    patch.object(searching, "_BUILT_ROWS", ROWS_PER_STEP).start()
    for session in (SqliteSession, PostgresSession):
        patch.object(session, "commit", _fatal(session.commit, kill)).start()
    open_database(target, HOME).close()


def _fatal(commit: Callable[[Any], None], kill: str) -> Callable[[Any], None]:
    def committing(session: Any) -> None:
        if kill == "before":
            _die()
        commit(session)
        _die()

    return committing


def purge_and_say(path: str, out: str) -> None:
    """Purge and tell that it is committed, then go on: whoever reads that may kill at any time."""
    commit = SqliteSession.commit

    def committing(session: SqliteSession) -> None:
        commit(session)
        with open(out, "w", encoding="ascii") as file:
            file.write("committed")

    with open_database(path, HOME) as db:
        patch.object(SqliteSession, "commit", committing).start()
        db.purge(VICTIM)
