"""A world in a workspace of PostgreSQL that is put back before each test."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from sandbar.model import Workspace
from tests.access.world import World
from tests.kept_postgres import kept_store
from tests.kept_rows import KeptRows

Make = Callable[[Workspace, str], World]


class KeptWorld:
    """The world as it was made, as often as it is wanted."""

    def __init__(self, address: str, superusers_address: str, make: Make = World) -> None:
        """The first is where servers connect, the second leads to the same database."""
        self._address = address
        name = f"world-{uuid4()}"
        self._made = make(Workspace.open(kept_store(address), name), name)
        self._rows = KeptRows(superusers_address, self._made.workspace.number)

    def anew(self) -> World:
        """The world, with nothing that anybody has done to it since."""
        self._rows.put_back()
        return self._made.copied(Workspace.open(kept_store(self._address), self._made.name))

    def close(self) -> None:
        """Let the rows go."""
        self._rows.close()
