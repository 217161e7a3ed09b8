"""Workspaces to listen to.

`site`  a database, SQLite or PostgreSQL, with a hub that follows its workspaces
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.store.postgres.install import install
from tests.notify.listening import Site, assert_no_thread_left, note_strangers
from tests.postgres_server import PostgresServer


@pytest.fixture(autouse=True)
def _strangers() -> None:
    """Each test answers for its own threads."""
    note_strangers()


@pytest.fixture(scope="session")
def notify_admin(postgres_server: PostgresServer) -> Iterator[str]:
    """The superuser's address of a PostgreSQL database with our tables."""
    url = postgres_server.create_database()
    install(url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def postgres_site(notify_admin: str) -> Iterator[Site]:
    """A PostgreSQL database; no thread may outlive it."""
    site = Site("postgres", install(notify_admin))
    yield site
    site.close()
    assert_no_thread_left()


@pytest.fixture
def sqlite_site(tmp_path: Path) -> Iterator[Site]:
    """A SQLite file; no thread may outlive it."""
    site = Site("sqlite", str(tmp_path / "test.db"))
    yield site
    site.close()
    assert_no_thread_left()


@pytest.fixture(params=["sqlite", "postgres"])
def site(request: pytest.FixtureRequest) -> Site:
    """A database of each kind in turn."""
    site: Site = request.getfixturevalue(f"{request.param}_site")
    return site
