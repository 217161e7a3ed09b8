"""The workspaces of one database, for those who see to them."""

from __future__ import annotations

from collections.abc import Callable

from sandbar.model import Workspace
from sandbar.store import Store


class Neighbourhood:
    """Makes, finds and drops workspaces."""

    def __init__(
        self, store: Store, find: Callable[[str], Workspace], forget: Callable[[str], None]
    ) -> None:
        self._store = store
        self._find = find
        self._forget = forget

    def names(self) -> list[str]:
        """Every workspace there is, by name."""
        return [name for _, name in self._store.workspaces()]

    def home_of_server(self) -> str | None:
        """The one that a server is at home in, where that can be told."""
        return self._store.home_of_server()

    def open(self, name: str) -> Workspace:
        """One that exists."""
        self._forget(name)
        return self._find(name)

    def create(self, name: str) -> Workspace:
        """A new one, with the core of the metamodel."""
        Workspace.open(self._store, name)
        return self.open(name)

    def drop(self, name: str) -> None:
        """Erase one with all that is in it, and its past; what was erased is overwritten."""
        self._store.drop_workspace(name)
        self._forget(name)
        self._store.scrub()
