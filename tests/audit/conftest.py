"""Databases for the tests of the audit, SQLite and PostgreSQL in turn.

`place`   a database that can be opened more than once, and tampered with by its owner
`seed`    a new one for each test, printed; `SANDBAR_SEED` repeats a run
`say`     prints a figure: with the test's output, and in the closing report
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from sandbar.store.postgres.install import install
from tests.audit.vandal import PostgresVandal, SqliteVandal, Vandal
from tests.postgres_server import PostgresServer
from tests.store.conftest import Place


class OwnedPlace(Place):
    """A database whose owner may do everything with it."""

    def __init__(self, dialect: str, address: str, owner_address: str) -> None:
        super().__init__(dialect, address)
        self._owner_address = owner_address

    def sessions(self) -> set[int]:
        """The server's processes that work for us; a file has none."""
        if self.dialect == "sqlite":
            return set()
        with psycopg.connect(self._owner_address) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return {pid for (pid,) in rows}

    def vandal(self) -> Vandal:
        """Somebody with the owner's rights, and other things in mind."""
        vandals: dict[str, Callable[[str], Vandal]] = {
            "sqlite": SqliteVandal,
            "postgres": PostgresVandal,
        }
        return vandals[self.dialect](self._owner_address)


@pytest.fixture(scope="session")
def audit_owner(postgres_server: PostgresServer) -> Iterator[str]:
    """The owner's address of a PostgreSQL database with our tables, shared by these tests."""
    url = postgres_server.create_database()
    install(url)
    yield url
    postgres_server.drop_database(url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnedPlace]:
    """A database of each kind in turn."""
    if request.param == "sqlite":
        address = owner = str(tmp_path / "audit.db")
    else:
        owner = request.getfixturevalue("audit_owner")
        address = install(owner)
    place = OwnedPlace(request.param, address, owner)
    yield place
    place.close()
