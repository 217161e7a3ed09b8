"""Databases for a tenant and its victim.

`seed`     what every random choice comes from, printed; `SANDBAR_SEED` repeats a run
`say`      prints a figure, also in the closing report
`address`  where a database lives, SQLite and PostgreSQL in turn
`arena`    a world with a victim full of canaries, and the same world without one
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from sandbar.store.postgres.install import install
from tests.postgres_server import PostgresServer
from tests.tenancy.attacker import Attacker
from tests.tenancy.canaries import Canaries
from tests.tenancy.fingerprint import fingerprint
from tests.tenancy.victim import Loot, planted
from tests.tenancy.world import World, opened_world


class Address(NamedTuple):
    """A database as servers open it, and as its owner looks into it."""

    url: str
    admin: str


class Arena:
    """Two worlds: one with a victim in it, and one that never had any."""

    def __init__(
        self, seed: str, world: World, without: World, canaries: Canaries, loot: Loot, admin: str
    ) -> None:
        self.world, self.without = world, without
        self.canaries, self.loot = canaries, loot
        self.admin = admin
        self.attacker = Attacker(Random(seed), world.ours, loot)

    def victims_rows(self) -> dict[str, tuple[int, str]]:
        """All that the database holds of the victim's."""
        return fingerprint(self.admin, self.world.victim.workspace_name)


NewAddress = Callable[[], Address]


@pytest.fixture(params=["sqlite", "postgres"])
def new_address(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: PostgresServer
) -> Iterator[NewAddress]:
    """Makes empty databases of one kind."""
    made: list[str] = []

    def new() -> Address:
        if request.param == "sqlite":
            made.append(str(tmp_path / f"tenancy-{len(made)}.db"))
            return Address(made[-1], made[-1])
        made.append(postgres_server.create_database())
        return Address(install(made[-1]), made[-1])

    yield new
    for address in made if request.param == "postgres" else ():
        postgres_server.drop_database(address)


@pytest.fixture
def address(new_address: NewAddress) -> Address:
    """An empty database."""
    return new_address()


@pytest.fixture
def arena(new_address: NewAddress, seed: str, tmp_path: Path) -> Iterator[Arena]:
    """A victim, and a world without it."""
    canaries = Canaries(Random(f"canaries {seed}"))
    name = f"tenant-{canaries.known('name of a workspace')}"
    one, other = new_address(), new_address()
    with opened_world(one.url, name) as world, opened_world(other.url, None) as without:
        victim = planted(world, canaries, tmp_path / "packs")
        yield Arena(seed, world, without, canaries, victim.loot, one.admin)
