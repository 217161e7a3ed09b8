"""The stores under test.

`place`  a database, SQLite or PostgreSQL, that can be opened more than once
`own_place`  likewise, one that no other test shares
`store`  that database opened, `ws` an empty workspace in it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sandbar.store.api import Store
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.kept_postgres import end_kept_stores, kept_store
from tests.postgres_server import PostgresServer


class Place:
    """Where a database lives; whatever is opened here is closed after the test."""

    def __init__(self, dialect: str, address: str) -> None:
        self.dialect = dialect
        self.address = address
        self._opened: list[Store] = []

    def open(self) -> Store:
        """Open it once more, as another process would."""
        kinds: dict[str, Callable[[str], Store]] = {
            "sqlite": SqliteStore,
            "postgres": PostgresStore,
        }
        store = kinds[self.dialect](self.address)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close all that was opened."""
        while self._opened:
            self._opened.pop().close()

    def store_of_tests(self) -> Store:
        """The database, opened; if it can be, in a store that stays open from test to test."""
        return self.open() if self.dialect == "sqlite" else kept_store(self.address)


@pytest.fixture(scope="session")
def installed_admin(postgres_server: PostgresServer) -> Iterator[str]:
    """The superuser's address of a database with our tables, shared by the tests of a worker."""
    url = postgres_server.create_database()
    install(url)
    yield url
    end_kept_stores()
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def installed_postgres(installed_admin: str) -> str:
    """The address of the same database as servers know it."""
    return install(installed_admin)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        address = str(tmp_path / "test.db")
    else:
        address = request.getfixturevalue("installed_postgres")
    place = Place(request.param, address)
    yield place
    place.close()


@pytest.fixture(params=["sqlite", "postgres"])
def own_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn that no other test shares, for what spans workspaces."""
    if request.param == "sqlite":
        address = str(tmp_path / "own.db")
    else:
        address = install(request.getfixturevalue("fresh_postgres"))
    place = Place(request.param, address)
    yield place
    place.close()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Iterator[Place]:
    """A SQLite database."""
    place = Place("sqlite", str(tmp_path / "test.db"))
    yield place
    place.close()


@pytest.fixture
def postgres_place(installed_postgres: str) -> Iterator[Place]:
    """A PostgreSQL database."""
    place = Place("postgres", installed_postgres)
    yield place
    place.close()


@pytest.fixture
def store(place: Place) -> Store:
    """The database, opened."""
    return place.store_of_tests()


@pytest.fixture
def ws(store: Store) -> int:
    """An empty workspace."""
    return new_workspace(store)


def new_workspace(store: Store) -> int:
    """A workspace that no other test knows."""
    return store.create_workspace(f"test-{uuid4()}")
