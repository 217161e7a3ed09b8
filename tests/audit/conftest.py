"""Databases for the tests of the audit, SQLite and PostgreSQL in turn.

`place`   a database that can be opened more than once, and tampered with by its owner
`lasting_place`  one for all tests of a module
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


@pytest.fixture(scope="session")
def audit_address(audit_owner: str) -> str:
    """Where servers find that database."""
    return install(audit_owner)


def owned_place(request: pytest.FixtureRequest, folder: Path) -> OwnedPlace:
    """A file in the folder, or the database that these tests share."""
    if request.param == "sqlite":
        path = str(folder / "audit.db")
        return OwnedPlace("sqlite", path, path)
    address = request.getfixturevalue("audit_address")
    return OwnedPlace("postgres", address, request.getfixturevalue("audit_owner"))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnedPlace]:
    """A database of each kind in turn."""
    place = owned_place(request, tmp_path)
    yield place
    place.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def lasting_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OwnedPlace]:
    """The same for all tests of a module, which leave it as they found it."""
    place = owned_place(request, tmp_path_factory.mktemp("audit"))
    yield place
    place.close()
