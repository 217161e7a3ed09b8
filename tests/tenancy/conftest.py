"""Databases for a tenant and its victim.

`seed`     what every random choice comes from, printed; `SANDBAR_SEED` repeats a run
`say`      prints a figure, also in the closing report
`address`  where a database lives, SQLite and PostgreSQL in turn
`arena`    a world with a victim full of canaries
`new_arena`  makes one, and the same world without a victim; and others like them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from random import Random

import pytest

from sandbar.store.postgres.install import install
from tests.postgres_server import PostgresServer
from tests.tenancy.arena import Address, Arena, NewArena
from tests.tenancy.canaries import Canaries
from tests.tenancy.playing import paced
from tests.tenancy.victim import planted
from tests.tenancy.world import opened_world

NewAddress = Callable[[], Address]


@pytest.fixture(scope="session")
def installed(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with our tables and nothing in them, to be copied; nobody connects to it."""
    admin = postgres_server.create_database()
    install(admin)
    yield admin
    postgres_server.drop_database(admin)


@pytest.fixture(params=["sqlite", "postgres"])
def new_address(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: PostgresServer,
    installed: str,
) -> Iterator[NewAddress]:
    """Makes empty databases of one kind."""
    made: list[str] = []

    def new() -> Address:
        if request.param == "sqlite":
            made.append(str(tmp_path / f"tenancy-{len(made)}.db"))
            return Address(made[-1], made[-1])
        made.append(postgres_server.create_database(template=installed))
        return Address(install(made[-1]), made[-1])

    yield new
    for address in made if request.param == "postgres" else ():
        postgres_server.drop_database(address)


@pytest.fixture
def address(new_address: NewAddress) -> Address:
    """An empty database."""
    return new_address()


@pytest.fixture
def new_arena(
    new_address: NewAddress, seed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[NewArena]:
    """Makes arenas; each is played in the same way, as the seed says."""
    paced(monkeypatch)
    made = count(1)

    def new(*, is_compared: bool = True) -> Arena:
        canaries = Canaries(Random(f"canaries {seed}"))
        name = f"tenant-{canaries.known('name of a workspace')}"
        one = new_address()
        world = worlds.enter_context(opened_world(one.url, name))
        without = None
        if is_compared:  # it has to be there at all the moments that are overheard
            without = worlds.enter_context(opened_world(new_address().url, None))
        victim = planted(world, canaries, tmp_path / f"packs-{next(made)}")
        return Arena(seed, world, without, canaries, victim.loot, one.admin)

    with ExitStack() as worlds:
        yield new


@pytest.fixture
def arena(new_arena: NewArena) -> Arena:
    """A victim; nothing is compared with a world without it."""
    return new_arena(is_compared=False)
