"""What the workspaces of one open store share."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from sandbar.errors import NotFound
from sandbar.model import Workspace
from sandbar.notify import StoreHub
from sandbar.store.api import Store

M = TypeVar("M")


class Family(Generic[M]):
    """What the workspaces of one open store share."""

    def __init__(self, store: Store, name: str, workspace: Workspace) -> None:
        self._store = store
        self._workspaces = {name: workspace}
        self._hub: StoreHub | None = None
        self.lock = threading.RLock()
        self.members: dict[str, M] = {}

    def workspace(self, name: str) -> Workspace:
        """A workspace by name; it must exist, since nobody can have signed in to another."""
        with self.lock:
            if name not in self._workspaces:
                if self._store.workspace(name) is None:
                    raise NotFound(
                        "workspace.unknown",
                        f"there is no workspace {name}",
                        hint="sandbar serve --workspace NAME makes one",
                    )
                self._workspaces[name] = Workspace.open(self._store, name)
            return self._workspaces[name]

    def hub(self) -> StoreHub:
        """The hub, made when somebody first wants to listen."""
        with self.lock:
            if self._hub is None:
                self._hub = StoreHub(self.workspace)
            return self._hub

    def close(self) -> None:
        """Stop telling anybody."""
        with self.lock:
            if self._hub is not None:
                self._hub.close()
