"""Databases for the tests of the model.

`place`  where a database lives, SQLite or PostgreSQL: can be opened more than once
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
from tests.kept_postgres import open_for_tests
from tests.model import shop as shop_model


class Place:
    """An address; whatever is opened here is closed after the test."""

    def __init__(self, dialect: str, address: str) -> None:
        self.dialect = dialect
        self.address = address
        self.workspace = f"test-{uuid4()}"
        self._opened: list[sandbar.Database] = []

    def open(
        self,
        workspace: str | None = None,
        *,
        principal: str = "local",
        metamodel: bytes | None = None,
    ) -> sandbar.Database:
        """Open it once more, as another process would."""
        name = workspace or self.workspace
        db = sandbar.open(self.address, name, principal=principal, metamodel=metamodel)
        self._opened.append(db)
        return db

    def workspace_of_tests(self) -> sandbar.Database:
        """The new workspace; if it can be, in a store that stays open from test to test."""
        db = open_for_tests(self.address, self.workspace)
        self._opened.append(db)
        return db

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
def db(place: Place) -> sandbar.Database:
    """A new workspace."""
    return place.workspace_of_tests()


@pytest.fixture
def shop(db: sandbar.Database) -> sandbar.Database:
    """A new workspace with the shop's classes."""
    shop_model.define(db)
    return db


@pytest.fixture
def pair(tmp_path: Path, shared_postgres: str) -> Iterator[tuple[Place, Place]]:
    """A SQLite and a PostgreSQL database, each with a workspace of its own."""
    places = Place("sqlite", str(tmp_path / "pair.db")), Place("postgres", shared_postgres)
    yield places
    for place in places:
        place.close()
