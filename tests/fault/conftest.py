"""Fixtures for breaking things, and the closing report of what was measured.

`zygote`          forks child processes quickly
`seed`            a new one for each test, printed; `SANDBAR_SEED` repeats a run
`say`             prints a figure: with the test's output, and in the closing report
`postgres_admin`  a fresh database with our tables, as its owner knows it
`postgres_app`    the same database, as servers know it
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sandbar.store.postgres.install import install
from tests.fault.zygote import Zygote
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One for all tests of a worker."""
    with Zygote() as zygote:
        yield zygote


@pytest.fixture(scope="session")
def installed_template(postgres_server: PostgresServer) -> Iterator[str]:
    """A database with our tables that nobody uses: to copy it is quicker than to install."""
    url = postgres_server.create_database()
    install(url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def postgres_admin(postgres_server: PostgresServer, installed_template: str) -> Iterator[str]:
    """The owner's address of a database with our tables."""
    url = postgres_server.create_database(template=installed_template)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def postgres_app(postgres_admin: str) -> str:
    """The servers' address of the same database."""
    return install(postgres_admin)
