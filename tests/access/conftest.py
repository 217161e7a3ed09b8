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
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.access.kept_world import KeptWorld, Make
from tests.access.world import World
from tests.kept_postgres import kept_store


class Place:
    """A database that this process has open, and another one too."""

    def __init__(self, dialect: str, address: str, neighbour: Store | None = None) -> None:
        """The neighbour is a store that is open already, as another process has it."""
        self.dialect = dialect
        self.address = address
        self.name = f"test-{uuid4()}"
        self._neighbour = neighbour
        self._opened: list[Store] = []

    def store(self) -> Store:
        """The database, as another process has it open."""
        if self._neighbour is not None:
            return self._neighbour
        store = SqliteStore(self.address)
        self._opened.append(store)
        return store

    def workspace(self, name: str | None = None) -> Workspace:
        """A workspace, as another process has it: over none of our connections."""
        return Workspace.open(self.store(), name or self.name)

    def workspace_of_tests(self) -> Workspace:
        """The new workspace, as this process has it."""
        if self.dialect == "sqlite":
            return self.workspace()
        return Workspace.open(kept_store(self.address), self.name)

    def close(self) -> None:
        """Close all that was opened."""
        while self._opened:
            self._opened.pop().close()


@pytest.fixture(scope="session")
def neighbour(shared_postgres: str) -> Iterator[Store]:
    """Another process at the database of all tests; to connect anew in each takes too long."""
    with closing(PostgresStore(shared_postgres)) as store:
        yield store


def place_of_kind(request: pytest.FixtureRequest, dialect: str, folder: Path) -> Place:
    """A database of that kind; a file is in the folder."""
    if dialect == "sqlite":
        return Place(dialect, str(folder / "test.db"))
    address: str = request.getfixturevalue("shared_postgres")
    return Place(dialect, address, request.getfixturevalue("neighbour"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn."""
    with closing(place_of_kind(request, request.param, tmp_path)) as place:
        yield place


@pytest.fixture
def workspace(place: Place) -> Workspace:
    """A new workspace."""
    return place.workspace_of_tests()


def world_in_file(folder: Path, make: Make) -> tuple[Path, World]:
    """A new world, and the file that it is in."""
    path = folder / "world.db"
    with closing(SqliteStore(str(path))) as store:
        return path, make(Workspace.open(store, "main"), "main")


@pytest.fixture(scope="session")
def sqlite_world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, World]:
    """A world in a file that each test copies: to make one takes long."""
    return world_in_file(tmp_path_factory.mktemp("world"), World)


@pytest.fixture(scope="session")
def kept_postgres_world(shared_postgres: str, superusers_postgres: str) -> Iterator[KeptWorld]:
    """The same in that database, where each test finds it as it was made."""
    with closing(KeptWorld(shared_postgres, superusers_postgres)) as kept:
        yield kept


@pytest.fixture
def copied_postgres_world(kept_postgres_world: KeptWorld) -> World:
    """That world, put back."""
    return kept_postgres_world.anew()


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
