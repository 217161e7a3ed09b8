"""Databases for the tests of workflows: a workspace with orders, SQLite and PostgreSQL in turn.

`place`  where a database lives: can be opened more than once
`db`     a new workspace there with the classes of `tests.workflow.orders`
`lite`   the same on SQLite only, for what no store can change
`brisk`  a worker that does not take its time
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

import sandbar
from sandbar.store.postgres.install import install
from sandbar.workflow import worker
from tests.kept_postgres import end_kept_stores
from tests.model.conftest import Place
from tests.postgres_server import PostgresServer
from tests.workflow import orders


class Owned(NamedTuple):
    """A database with our tables, and its owner's connection to it."""

    address: str
    owner: psycopg.Connection


@pytest.fixture(scope="session")
def workflow_postgres(postgres_server: PostgresServer) -> Iterator[Owned]:
    """A PostgreSQL database of the tests of workflows alone."""
    url = postgres_server.create_database()
    address = install(url)
    with psycopg.connect(url, autocommit=True) as owner:
        yield Owned(address, owner)
    end_kept_stores()
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn.

    Workers look after all workspaces of a database, and the next test shares the one of PostgreSQL:
    nothing may be left to do there.
    """
    if request.param == "sqlite":
        place = Place("sqlite", str(tmp_path / "test.db"))
        yield place
        place.close()
        return
    shared: Owned = request.getfixturevalue("workflow_postgres")
    place = Place("postgres", shared.address)
    yield place
    place.close()
    shared.owner.execute("DELETE FROM sandbar.job")


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that looks after its leases more often, and is less patient with who hangs."""
    monkeypatch.setattr(worker, "_RENEW_EVERY_S", 0.05)
    monkeypatch.setattr(worker, "_GRACE_S", 0.2)


@pytest.fixture
def db(place: Place) -> sandbar.Database:
    """A new workspace with orders."""
    db = place.workspace_of_tests()
    orders.define(db)
    return db


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[sandbar.Database]:
    """The same in a SQLite file."""
    place = Place("sqlite", str(tmp_path / "lite.db"))
    db = place.open()
    orders.define(db)
    yield db
    place.close()
