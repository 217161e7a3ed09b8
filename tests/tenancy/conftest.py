"""Databases for a tenant and its victim.

`seed`     what every random choice comes from, printed; `SANDBAR_SEED` repeats a run
`say`      prints a figure, also in the closing report
`kind`     of database: SQLite and PostgreSQL in turn
`models`   a victim in a database of each kind, to be copied
`arena`    a world with a victim full of canaries
`new_arena`  makes one, and the same world without a victim; and others like them
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import Say
from tests.postgres_server import PostgresServer
from tests.tenancy.arena import Arena, NewArena
from tests.tenancy.planting import Databases, Model, made_model
from tests.tenancy.playing import paced

Models = Callable[[str], Model]


@pytest.fixture(scope="session")
def seed_of_all() -> str:
    """What these tests have in common: the victim is planted from it."""
    return os.environ.get("SANDBAR_SEED") or secrets.token_hex(4)


@pytest.fixture
def seed(seed_of_all: str, say: Say) -> str:
    """What every random choice of a test comes from."""
    say(f"seed {seed_of_all}")
    return seed_of_all


@pytest.fixture(scope="session")
def models(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory, seed_of_all: str
) -> Iterator[Models]:
    """A victim, and a world without it, in a database of each kind: made when first asked for."""

    @cache
    def of(kind: str) -> Model:
        folder = tmp_path_factory.mktemp(f"model-{kind}")
        databases = Databases(kind, folder, postgres_server)
        made.enter_context(closing(databases))
        with pytest.MonkeyPatch.context() as patch:
            paced(patch)
            return made_model(databases, folder, seed_of_all)

    with ExitStack() as made:
        yield of


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return str(request.param)


@pytest.fixture
def databases(kind: str, tmp_path: Path, postgres_server: PostgresServer) -> Iterator[Databases]:
    """Databases of that kind."""
    with closing(Databases(kind, tmp_path, postgres_server)) as databases:
        yield databases


@pytest.fixture
def new_arena(
    request: pytest.FixtureRequest,
    databases: Databases,
    models: Models,
    kind: str,
    seed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[NewArena]:
    """Makes arenas; each is played in the same way, as the seed says."""
    model = models(kind)  # before the test breaks anything
    paced(monkeypatch)

    def new(*, is_compared: bool = True) -> Arena:
        address, world = worlds.enter_context(model.world.opened(databases))
        without = worlds.enter_context(model.without.opened(databases))[1] if is_compared else None
        own = f"{seed} {request.node.name}"  # or else all would make the same calls
        return Arena(own, world, without, *model.found(), address.admin)

    with ExitStack() as worlds:
        yield new


@pytest.fixture
def arena(new_arena: NewArena) -> Arena:
    """A victim; nothing is compared with a world without it."""
    return new_arena(is_compared=False)
