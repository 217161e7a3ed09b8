"""Databases for the tests of workflows: a workspace with orders, SQLite and PostgreSQL in turn.

`place`  where a database lives: can be opened more than once
`db`     a new workspace there with the classes of `tests.workflow.orders`
`lite`   the same on SQLite only, for what no store can change
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import sandbar
from sandbar.store.postgres.install import install
from tests.model.conftest import Place
from tests.postgres_server import PostgresServer
from tests.workflow import orders


@pytest.fixture(scope="session")
def workflow_postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """A PostgreSQL database with our tables, shared by the tests of workflows."""
    url = postgres_server.create_database()
    yield install(url)
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        address = str(tmp_path / "test.db")
    else:
        address = request.getfixturevalue("workflow_postgres")
    place = Place(request.param, address)
    yield place
    if request.param == "postgres":
        _leave_nothing_to_do(place)
    place.close()


def _leave_nothing_to_do(place: Place) -> None:
    """Workers look after all workspaces of a database, and the next test shares this one."""
    place.close()
    with sandbar.open(place.address, place.workspace) as db:
        for view in db.workflows.active(limit=1000)[0]:
            job = partial(db.workspace.jobs.schedule, view.process_id, None)
            db.workspace.run(job, principal="test")
        assert db._store.jobs.next_due_s() is None


@pytest.fixture
def db(place: Place) -> sandbar.Database:
    """A new workspace with orders."""
    db = place.open()
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
