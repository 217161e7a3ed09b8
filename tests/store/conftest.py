"""The stores under test.

`place`  a database, SQLite or PostgreSQL, that can be opened more than once
`own_place`  likewise, one that is empty, and that no other test shares
`new_place`  likewise, one that nobody has ever been connected to
`store`  that database opened, `ws` an empty workspace in it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from sandbar.store.api import Store
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.lending import Lender
from tests.postgres_server import PostgresServer


class Place:
    """Where a database lives; whatever is opened here is closed after the test."""

    def __init__(self, dialect: str, address: str, lender: Lender | None = None) -> None:
        self.dialect = dialect
        self.address = address
        self._lender = lender
        self._opened: list[Store] = []
        self._borrowed: list[PostgresStore] = []

    def another(self) -> Store:
        """One more opening; if it can be, in a store that stays open from test to test."""
        if self._lender is None:
            return self.open()
        self._borrowed.append(self._lender.borrow())
        return self._borrowed[-1]

    def open(self) -> Store:
        """Open it now, as a process does that has just begun."""
        kinds: dict[str, Callable[[str], Store]] = {
            "sqlite": SqliteStore,
            "postgres": PostgresStore,
        }
        store = kinds[self.dialect](self.address)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close all that was opened, and give back what was borrowed."""
        while self._opened:
            self._opened.pop().close()
        while self._lender is not None and self._borrowed:
            self._lender.take_back(self._borrowed.pop())


@pytest.fixture(scope="session")
def installed_admin(postgres_server: PostgresServer) -> Iterator[str]:
    """The superuser's address of a database with our tables, shared by the tests of a worker."""
    url = postgres_server.create_database()
    install(url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(scope="session")
def installed_postgres(installed_admin: str) -> str:
    """The address of the same database as servers know it."""
    return install(installed_admin)


@pytest.fixture(scope="package")
def lender(installed_postgres: str) -> Iterator[Lender]:
    """Stores of that database."""
    lender = Lender(installed_postgres)
    yield lender
    lender.end()


class Emptied:
    """A database that is emptied for each test: to make one takes a hundred times as long."""

    def __init__(self, admin: str) -> None:
        self.address = install(admin)
        self.lender = Lender(self.address)
        self._admin = psycopg.connect(admin, autocommit=True, options="-c lock_timeout=10s")
        tables = self._admin.execute(
            "SELECT table_name FROM information_schema.columns "
            "WHERE table_schema = 'sandbar' AND column_name = 'ws'"
        ).fetchall()
        delete = sql.SQL("DELETE FROM sandbar.{}")
        self._statements = sql.SQL("; ").join(
            delete.format(sql.Identifier(table)) for (table,) in tables
        )

    def empty(self) -> None:
        """Forget all workspaces, with all that is in them."""
        self._admin.execute(self._statements)

    def close(self) -> None:
        """Let go of it."""
        self.lender.end()
        self._admin.close()


@pytest.fixture(scope="package")
def emptied(postgres_server: PostgresServer) -> Iterator[Emptied]:
    """A database for the tests that must be alone in one."""
    admin = postgres_server.create_database()
    emptied = Emptied(admin)
    yield emptied
    emptied.close()
    postgres_server.drop_database(admin)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """A database of each kind in turn."""
    place: Place = request.getfixturevalue(f"{request.param}_place")
    return place


@pytest.fixture(params=["sqlite", "postgres"])
def own_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn that no other test shares, for what spans workspaces."""
    if request.param == "sqlite":
        place = Place("sqlite", str(tmp_path / "own.db"))
    else:
        emptied: Emptied = request.getfixturevalue("emptied")
        emptied.empty()
        place = Place("postgres", emptied.address, emptied.lender)
    yield place
    place.close()


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A new database of each kind in turn, for what others' connections would disturb."""
    if request.param == "sqlite":
        place = Place("sqlite", str(tmp_path / "new.db"))
    else:
        place = Place("postgres", install(request.getfixturevalue("fresh_postgres")))
    yield place
    place.close()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Iterator[Place]:
    """A SQLite database."""
    place = Place("sqlite", str(tmp_path / "test.db"))
    yield place
    place.close()


@pytest.fixture
def postgres_place(installed_postgres: str, lender: Lender) -> Iterator[Place]:
    """A PostgreSQL database."""
    place = Place("postgres", installed_postgres, lender)
    yield place
    place.close()


@pytest.fixture
def store(place: Place) -> Store:
    """The database, opened."""
    return place.another()


@pytest.fixture
def ws(store: Store) -> int:
    """An empty workspace."""
    return new_workspace(store)


def new_workspace(store: Store) -> int:
    """A workspace that no other test knows."""
    return store.create_workspace(f"test-{uuid4()}")
