"""PostgreSQL stores that stay open from test to test, as a server's does.

To connect half a dozen times and to prepare every statement anew takes longer than most tests do.
A test that is about opening, closing or losing connections opens a store of its own.
"""

from __future__ import annotations

import sandbar
from sandbar.model import Workspace
from sandbar.store.postgres.store import PostgresStore


class _KeptStore(PostgresStore):
    """Whoever closes it only leaves."""

    def close(self) -> None:
        """Stay open."""

    def end(self) -> None:
        """Close at last."""
        super().close()


_kept: dict[str, _KeptStore] = {}


def kept_store(url: str) -> PostgresStore:
    """The store of this process at an address."""
    if url not in _kept:
        end_kept_stores()  # one is enough: tests come folder by folder
        _kept[url] = _KeptStore(url)
    return _kept[url]


def open_kept(url: str, workspace: str, *, principal: str = "local") -> sandbar.Database:
    """A workspace in the kept store; to close it leaves the store open."""
    store = kept_store(url)
    return sandbar.Database(store, Workspace.open(store, workspace), principal, workspace)


def end_kept_stores() -> None:
    """Close whatever is kept."""
    while _kept:
        _kept.popitem()[1].end()
