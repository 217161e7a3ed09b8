"""PostgreSQL stores that stay open and are lent to one test after the other.

For tests that need several openings of a database at once, each with connections, a writer and
caches of its own, as other processes would have them. A test that is about opening, closing or
losing connections opens a store itself.
"""

from __future__ import annotations

from sandbar.store.postgres.store import PostgresStore
from tests.kept_postgres import KeptStore


class Lender:
    """As many stores of one database as were ever needed at the same time."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._idle: list[PostgresStore] = []
        self._all: list[KeptStore] = []

    def borrow(self) -> PostgresStore:
        """A store that nobody else has; to close it is only to leave it."""
        if not self._idle:
            self._all.append(KeptStore(self._address))
            self._idle.append(self._all[-1])
        return self._idle.pop()

    def take_back(self, store: PostgresStore) -> None:
        """Have it back; the next one's audit begins a run of its own."""
        store.close()
        self._idle.append(store)

    def end(self) -> None:
        """Close them at last."""
        while self._all:
            self._all.pop().end()
