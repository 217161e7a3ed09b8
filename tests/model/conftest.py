"""Databases for the tests of the model.

`place`  where a database lives, SQLite or PostgreSQL: can be opened more than once
`lender` PostgreSQL stores that stay open, for those openings
`db`     a new workspace there, opened
`shop`   the same with the classes of `tests.model.shop`
`pair`   one new workspace of each kind
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import sandbar
from sandbar.model import Workspace
from sandbar.store.postgres.store import PostgresStore
from tests.kept_postgres import open_for_tests
from tests.lending import Lender
from tests.model import shop as shop_model


class Place:
    """An address; whatever is opened here is closed after the test."""

    def __init__(self, dialect: str, address: str, lender: Lender | None = None) -> None:
        self.dialect = dialect
        self.address = address
        self.workspace = f"test-{uuid4()}"
        self._lender = lender
        self._opened: list[sandbar.Database] = []
        self._borrowed: list[PostgresStore] = []

    def open(
        self,
        workspace: str | None = None,
        *,
        principal: str = "local",
        metamodel: bytes | None = None,
    ) -> sandbar.Database:
        """Open it now, as a process does that has just begun."""
        name = workspace or self.workspace
        db = sandbar.open(self.address, name, principal=principal, metamodel=metamodel)
        self._opened.append(db)
        return db

    def another(
        self,
        workspace: str | None = None,
        *,
        principal: str = "local",
        metamodel: bytes | None = None,
    ) -> sandbar.Database:
        """As another process sees it; if it can be, in a store that stays open and is its alone."""
        if self._lender is None:
            return self.open(workspace, principal=principal, metamodel=metamodel)
        name, store = workspace or self.workspace, self._lender.borrow()
        self._borrowed.append(store)
        db = sandbar.Database(store, Workspace.open(store, name, metamodel), principal, name)
        self._opened.append(db)
        return db

    def workspace_of_tests(self) -> sandbar.Database:
        """The new workspace; if it can be, in a store that stays open from test to test."""
        db = open_for_tests(self.address, self.workspace)
        self._opened.append(db)
        return db

    def close(self) -> None:
        """Close all that was opened, and give back what was borrowed."""
        while self._opened:
            self._opened.pop().close()
        while self._lender is not None and self._borrowed:
            self._lender.take_back(self._borrowed.pop())


@pytest.fixture(scope="package")
def lender(shared_postgres: str) -> Iterator[Lender]:
    """Stores for whoever needs more than one."""
    lender = Lender(shared_postgres)
    yield lender
    lender.end()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        place = Place("sqlite", str(tmp_path / "test.db"))
    else:
        address = request.getfixturevalue("shared_postgres")
        place = Place("postgres", address, request.getfixturevalue("lender"))
    yield place
    place.close()


@pytest.fixture
def db(place: Place) -> sandbar.Database:
    """A new workspace."""
    return place.workspace_of_tests()


@pytest.fixture
def shop(db: sandbar.Database) -> sandbar.Database:
    """A new workspace with the shop's classes."""
    shop_model.define(db)
    return db


@pytest.fixture
def pair(tmp_path: Path, shared_postgres: str, lender: Lender) -> Iterator[tuple[Place, Place]]:
    """A SQLite and a PostgreSQL database, each with a workspace of its own."""
    ours = Place("postgres", shared_postgres, lender)
    places = Place("sqlite", str(tmp_path / "pair.db")), ours
    yield places
    for place in places:
        place.close()
