"""Databases to back up and to restore into, SQLite and PostgreSQL in every combination.

`source`  one to back up          `target`  one to restore into, empty
`own`     one of each kind in turn, where only one is needed

What many tests begin with is made once and copied from then on (`Site.made`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import sandbar
from sandbar.store.postgres.install import install
from tests.backup.raw import Raw
from tests.postgres_server import PostgresServer

KINDS = ["sqlite", "postgres"]
T = TypeVar("T")


class Snapshots:
    """Databases as they were when they had just been filled, by kind and name."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self.server = server
        self._folder = folder
        self._kept: dict[tuple[str, str], tuple[str, Any]] = {}
        self.installed = server.create_database()
        install(self.installed)

    def made(self, site: Site, name: str, make: Callable[[Site], T]) -> T:
        """What `make` makes of an empty site: done the first time, copied later."""
        if (site.kind, name) not in self._kept:
            value = make(site)
            self._kept[site.kind, name] = (self._copy_of(site, name), value)
            return value
        place, value = self._kept[site.kind, name]
        if site.kind == "sqlite":
            shutil.copyfile(place, site.address)
        else:
            owner = site.raw.owner_address
            self.server.drop_database(owner)
            self.server.create_database(owner.rpartition("/")[2], template=place)
        return value

    def _copy_of(self, site: Site, name: str) -> str:
        if site.kind == "postgres":
            return self.server.create_database(template=site.raw.owner_address)
        assert not Path(f"{site.address}-wal").exists(), "everything is in the one file"
        return shutil.copyfile(site.address, str(self._folder / f"{name}.db"))

    def close(self) -> None:
        """Remove them."""
        kept = [place for (kind, _), (place, _) in self._kept.items() if kind == "postgres"]
        for place in (self.installed, *kept):
            self.server.drop_database(place)


class Site:
    """Where a database is, or is to be; `raw` reads it as its owner may."""

    def __init__(self, kind: str, address: str, owner_address: str, snapshots: Snapshots) -> None:
        self.kind = kind
        self.address = address
        self.raw = Raw(kind, owner_address)
        self._snapshots = snapshots

    def made(self, name: str, make: Callable[[Site], T]) -> T:
        """Fill it, or copy what was filled in the same way before."""
        return self._snapshots.made(self, name, make)

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


@pytest.fixture(scope="session")
def snapshots(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer
) -> Iterator[Snapshots]:
    """What was filled before."""
    snapshots = Snapshots(tmp_path_factory.mktemp("snapshots"), postgres_server)
    yield snapshots
    snapshots.close()


@pytest.fixture
def sites(tmp_path: Path, snapshots: Snapshots) -> Iterator[Sites]:
    """Makes empty databases of a kind."""
    made: list[str] = []

    def make(kind: str) -> Site:
        if kind == "sqlite":
            path = str(tmp_path / f"{len(list(tmp_path.iterdir()))}-{len(made)}.db")
            made.append("")
            return Site(kind, path, path, snapshots)
        owner = snapshots.server.create_database(template=snapshots.installed)
        made.append(owner)
        return Site(kind, install(owner), owner, snapshots)

    yield make
    for owner in filter(None, made):
        snapshots.server.drop_database(owner)


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
