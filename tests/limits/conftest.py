"""Four servers on one PostgreSQL, one on a file, and an administrator's hand on each.

`fleet`   the servers of a store, by name: "sqlite" (one) or "postgres" (four)
`fleets`  both at the same time, for tests that wait more than they work
`seed`    names what a test makes, so that tests do not meet in one bucket
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.store.postgres.install import install
from tests.limits.fleet import Fleet, fleet_on
from tests.postgres_server import PostgresServer


@pytest.fixture(scope="package")
def postgres_address(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of these tests."""
    url = postgres_server.create_database()
    yield install(url)
    postgres_server.drop_database(url)


@pytest.fixture(scope="package")
def four(postgres_address: str) -> Iterator[Fleet]:
    """Four servers on one database."""
    with fleet_on(postgres_address, 4) as fleet:
        yield fleet


@pytest.fixture(scope="package")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One server on a file."""
    folder: Path = tmp_path_factory.mktemp("limits")
    with fleet_on(str(folder / "limits.db"), 1) as fleet:
        yield fleet


@pytest.fixture(params=["sqlite", "postgres"])
def fleet(request: pytest.FixtureRequest) -> Fleet:
    """The servers of each store in turn."""
    found: Fleet = request.getfixturevalue("one" if request.param == "sqlite" else "four")
    return found


@pytest.fixture
def fleets(one: Fleet, four: Fleet) -> list[Fleet]:
    """The servers of both stores."""
    return [one, four]
