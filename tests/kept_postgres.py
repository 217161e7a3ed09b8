"""PostgreSQL stores that stay open from test to test, as a server's does.

To connect half a dozen times and to prepare every statement anew takes longer than most tests do.
A test that is about opening, closing or losing connections opens a store of its own.
"""

from __future__ import annotations

import sandbar
from sandbar.database.opening import is_postgres
from sandbar.model import Workspace
from sandbar.store.numbering import Numbers
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.postgres.trail import PostgresTrail


class KeptStore(PostgresStore):
    """Whoever closes it only leaves."""

    def close(self) -> None:
        """Stay open; the next one's audit begins a run of its own."""
        self._numbers = Numbers()
        self.trail = self.key_uses = PostgresTrail(self._numbers, self._pool, self._appenders)

    def end(self) -> None:
        """Close at last."""
        super().close()


_kept: dict[str, KeptStore] = {}


def kept_store(url: str) -> PostgresStore:
    """The store of this process at an address."""
    if url not in _kept:
        end_kept_stores()  # one is enough: tests come folder by folder
        _kept[url] = KeptStore(url)
    return _kept[url]


def open_for_tests(address: str, workspace: str, *, principal: str = "local") -> sandbar.Database:
    """A workspace, in the kept store if it is in PostgreSQL: to close it leaves that open."""
    if not is_postgres(address):
        return sandbar.open(address, workspace, principal=principal)
    store = kept_store(address)
    return sandbar.Database(store, Workspace.open(store, workspace), principal, workspace)


def end_kept_stores() -> None:
    """Close whatever is kept."""
    while _kept:
        _kept.popitem()[1].end()
