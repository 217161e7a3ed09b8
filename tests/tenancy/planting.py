"""A victim that is planted once, in a database that everybody copies.

To plant one takes longer than most tests that need it. The two worlds of a model are closed, so
that their databases can be copied: a file, or a template of PostgreSQL.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import NamedTuple

from sandbar.store.postgres.install import ROLE, install
from tests.postgres_server import PostgresServer
from tests.tenancy.arena import Address
from tests.tenancy.canaries import Canaries
from tests.tenancy.victim import Loot, planted
from tests.tenancy.world import Tokens, World, opened_world


class Databases:
    """Makes databases of one kind, and copies of them; in the end all of them are dropped."""

    def __init__(self, kind: str, folder: Path, postgres: PostgresServer) -> None:
        self.is_file = kind == "sqlite"
        self._folder, self._postgres = folder, postgres
        self._made: list[str] = []

    def new(self) -> Address:
        """An empty one."""
        if self.is_file:
            return self._file()
        self._made.append(self._postgres.create_database())
        return Address(install(self._made[-1]), self._made[-1])

    def copy(self, of: Address) -> Address:
        """One like another that nobody has open."""
        if self.is_file:
            copy = self._file()
            shutil.copyfile(of.admin, copy.admin)
            return copy
        self._made.append(self._postgres.create_database(template=of.admin))
        name = self._made[-1].rpartition("/")[2]
        return Address(self._postgres.url_of(name, ROLE), self._made[-1])

    def close(self) -> None:
        """Remove those of PostgreSQL; files go with their folder."""
        for admin in () if self.is_file else self._made:
            self._postgres.drop_database(admin)

    def _file(self) -> Address:
        self._made.append(str(self._folder / f"tenancy-{len(self._made)}.db"))
        return Address(self._made[-1], self._made[-1])


class Closed(NamedTuple):
    """A world that nobody has open."""

    address: Address
    victim: str | None
    tokens: Tokens

    @contextmanager
    def opened(
        self, databases: Databases, *, server: bool = False
    ) -> Iterator[tuple[Address, World]]:
        """A copy of it, and where that is."""
        copy = databases.copy(self.address)
        with opened_world(copy.url, self.victim, self.tokens, server=server) as world:
            yield copy, world


class Model(NamedTuple):
    """A world with a victim, one without, and what was planted."""

    world: Closed
    without: Closed
    canaries: Canaries
    loot: Loot

    def found(self) -> tuple[Canaries, Loot]:
        """What was planted, for one who notes what is said of it."""
        return deepcopy(self.canaries), deepcopy(self.loot)


def made_model(databases: Databases, folder: Path, seed: str) -> Model:
    """Plant a victim; the world without it is there at all the moments that are overheard."""
    canaries = Canaries(Random(f"canaries {seed}"))
    name = f"tenant-{canaries.known('name of a workspace')}"
    one, other = databases.new(), databases.new()
    with opened_world(one.url, name) as world, opened_world(other.url, None) as without:
        loot = planted(world, canaries, folder / "packs").loot
        return Model(
            Closed(one, name, world.tokens), Closed(other, None, without.tokens), canaries, loot
        )
