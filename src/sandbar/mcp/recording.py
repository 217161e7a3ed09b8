"""The audit's side of a request: what it is, how it ended, and that its row is kept in time.

Over HTTP the edge brings a record with every request. Over standard input there is none, so the
server makes its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import anyio.to_thread

from sandbar.access import Caller
from sandbar.audit import Note, accompanied
from sandbar.database import Database
from sandbar.model import Answer

T = TypeVar("T")


class Record(Protocol):
    """One request on its way into the audit, as its method sees it."""

    note: Note | None

    def fail(self, code: str) -> None:
        """Say how it ended, if not well."""

    async def settle(self) -> None:
        """The row is committed when this returns."""

    def working(self, work: Callable[[], T]) -> T:
        """Work in a thread: what it writes takes the row along."""

    def writing(self, begin: Callable[[], Answer[T] | None]) -> Answer[T] | None:
        """Queue a write, which takes the row along."""


class OwnRecord:
    """The record of a request over standard input, which passes no edge."""

    def __init__(self, database: Database, caller: Caller, method: str, verb: str | None) -> None:
        self._journal = database.journal
        self.note: Note | None = database.note(caller, surface="stdio", method=method, verb=verb)

    def fail(self, code: str) -> None:
        """Say how it ended; the first word counts."""
        assert self.note is not None
        if self.note.code is None:
            self.note.is_success, self.note.code = False, code

    async def settle(self) -> None:
        """Write the row, unless it rode with a write."""
        if self.note is not None:
            note, self.note = self.note, None
            await anyio.to_thread.run_sync(self._journal.settle, note)

    def working(self, work: Callable[[], T]) -> T:
        """Work in a thread."""
        with accompanied(self.note):
            return work()

    def writing(self, begin: Callable[[], Answer[T] | None]) -> Answer[T] | None:
        """Queue a write."""
        return begin()
