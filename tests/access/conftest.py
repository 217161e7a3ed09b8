"""Databases for the tests of access: a place of each kind, and a workspace with accounts in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from sandbar.model import Workspace
from sandbar.store.api import Store
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.access.world import World
from tests.kept_postgres import kept_store
from tests.postgres_server import PostgresServer


class Place:
    """A database that can be opened more than once, as other processes would."""

    def __init__(self, dialect: str, address: str) -> None:
        self.dialect = dialect
        self.address = address
        self.name = f"test-{uuid4()}"
        self._opened: list[Store] = []

    def store(self) -> Store:
        """Open it once more."""
        kind = SqliteStore if self.dialect == "sqlite" else PostgresStore
        store: Store = kind(self.address)
        self._opened.append(store)
        return store

    def workspace(self, name: str | None = None) -> Workspace:
        """A workspace, over a connection of its own."""
        return Workspace.open(self.store(), name or self.name)

    def workspace_of_tests(self) -> Workspace:
        """The new workspace; if it can be, in a store that stays open from test to test."""
        if self.dialect == "sqlite":
            return self.workspace()
        return Workspace.open(kept_store(self.address), self.name)

    def close(self) -> None:
        """Close all that was opened."""
        while self._opened:
            self._opened.pop().close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        address = str(tmp_path / "test.db")
    else:
        address = request.getfixturevalue("shared_postgres")
    place = Place(request.param, address)
    yield place
    place.close()


@pytest.fixture
def workspace(place: Place) -> Workspace:
    """A new workspace."""
    return place.workspace_of_tests()


@pytest.fixture(scope="session")
def sqlite_world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    """A world in a file that each test copies: to make one takes long."""
    path = tmp_path_factory.mktemp("world") / "world.db"
    with closing(SqliteStore(str(path))) as store:
        return path, World(Workspace.open(store, "main"), "main")


@pytest.fixture(scope="session")
def postgres_world(postgres_server: PostgresServer) -> tuple[str, World]:
    """The same in a PostgreSQL database, at its superuser's address."""
    url = postgres_server.create_database()
    with closing(PostgresStore(install(url))) as store:
        return url, World(Workspace.open(store, "main"), "main")


@pytest.fixture
def copied_postgres_world(
    postgres_server: PostgresServer, postgres_world: tuple[str, World]
) -> Iterator[World]:
    """A copy of that database."""
    template, world = postgres_world
    url = postgres_server.create_database(template=template)
    with closing(PostgresStore(install(url))) as store:
        yield world.copied(Workspace.open(store, "main"))
    postgres_server.drop_database(url)


@pytest.fixture
def copied_sqlite_world(tmp_path: Path, sqlite_world: tuple[Path, World]) -> Iterator[World]:
    """A copy of that file."""
    template, world = sqlite_world
    path = str(shutil.copy(template, tmp_path / "world.db"))
    with closing(SqliteStore(path)) as store:
        yield world.copied(Workspace.open(store, "main"))


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest) -> World:
    """A workspace in which an attacker has a writer's account."""
    world: World = request.getfixturevalue(f"copied_{request.param}_world")
    return world
