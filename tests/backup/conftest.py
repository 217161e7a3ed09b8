"""Databases to back up and to restore into, SQLite and PostgreSQL in every combination.

`source`  one to back up          `target`  one to restore into, empty
`own`     one of each kind in turn, where only one is needed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sandbar
from sandbar.store.postgres.install import install
from tests.backup.raw import Raw
from tests.postgres_server import PostgresServer

KINDS = ["sqlite", "postgres"]


class Site:
    """Where a database is, or is to be; `raw` reads it as its owner may."""

    def __init__(self, kind: str, address: str, owner_address: str) -> None:
        self.kind = kind
        self.address = address
        self.raw = Raw(kind, owner_address)

    def open(self, workspace: str = "main") -> sandbar.Database:
        """Open it, made if need be."""
        return sandbar.open(self.address, workspace)

    def is_untouched(self) -> bool:
        """Whether there is no file, or nothing in any table."""
        if self.kind == "sqlite":
            folder, name = Path(self.address).parent, Path(self.address).name
            lock = f"{name}.server-lock"
            return [p.name for p in folder.iterdir() if p.name.startswith(name)] in ([], [lock])
        rows = self.raw.everything()
        unsearched = self.raw.ask("SELECT * FROM unsearched")
        return not any(rows.values()) and not unsearched


Sites = Callable[[str], Site]


@pytest.fixture
def sites(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[Sites]:
    """Makes empty databases of a kind."""
    made: list[str] = []

    def make(kind: str) -> Site:
        if kind == "sqlite":
            path = str(tmp_path / f"{len(list(tmp_path.iterdir()))}-{len(made)}.db")
            made.append("")
            return Site(kind, path, path)
        owner = postgres_server.create_database()
        made.append(owner)
        return Site(kind, install(owner), owner)

    yield make
    for owner in filter(None, made):
        postgres_server.drop_database(owner)


@pytest.fixture(params=KINDS, ids=[f"from-{kind}" for kind in KINDS])
def source(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """A database to back up."""
    return sites(request.param)


@pytest.fixture(params=KINDS, ids=[f"into-{kind}" for kind in KINDS])
def target(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """A database to restore into."""
    return sites(request.param)


@pytest.fixture(params=KINDS)
def own(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """A database of each kind in turn."""
    return sites(request.param)
