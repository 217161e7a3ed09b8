"""Databases to back up and to restore into, SQLite and PostgreSQL in every combination.

`source`  one to back up          `target`  one to restore into, empty
`own`     one of each kind in turn, where only one is needed

What many tests begin with is made once and copied from then on (`Site.made`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
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
        self._numbers = count(1)
        self.installed = server.create_database()
        self._app_address = install(self.installed)

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
            site.become(place)
        return value

    def _copy_of(self, site: Site, name: str) -> str:
        if site.kind == "postgres":
            return self.server.create_database(template=site.raw.owner_address)
        assert not Path(f"{site.address}-wal").exists(), "everything is in the one file"
        return shutil.copyfile(site.address, str(self._folder / f"{name}.db"))

    def new_site(self) -> Site:
        """A PostgreSQL database with our tables, which will be made when it is needed."""
        name = f"site_{os.getpid()}_{next(self._numbers)}"
        address = self._app_address.replace(_database_of(self.installed), name)
        return Site("postgres", address, self.server.url_of(name), self, is_made=False)

    def close(self) -> None:
        """Remove them."""
        kept = [place for (kind, _), (place, _) in self._kept.items() if kind == "postgres"]
        for place in (self.installed, *kept):
            self.server.drop_database(place)


class Site:
    """Where a database is, or is to be; `raw` reads it as its owner may.

    One in PostgreSQL is copied from an empty one, unless it is from one that was filled: to copy
    is what takes longest, so that it is done when somebody asks for the address.
    """

    def __init__(
        self,
        kind: str,
        address: str,
        owner_address: str,
        snapshots: Snapshots,
        *,
        is_made: bool = True,
    ) -> None:
        self.kind = kind
        self._address = address
        self._raw = Raw(kind, owner_address)
        self._snapshots = snapshots
        self._is_made = is_made

    @property
    def address(self) -> str:
        """Where servers find it."""
        self._be_made()
        return self._address

    @property
    def raw(self) -> Raw:
        """What its owner sees."""
        self._be_made()
        return self._raw

    def _be_made(self) -> None:
        if not self._is_made:
            self.become(self._snapshots.installed)

    def become(self, template: str) -> None:
        """Be, from now on, like the PostgreSQL database at this address."""
        self.drop()
        name = _database_of(self._raw.owner_address)
        self._snapshots.server.create_database(name, template=template)
        self._is_made = True

    def drop(self) -> None:
        """Remove it, if it is in PostgreSQL; a file goes with its folder."""
        if self.kind == "postgres" and self._is_made:
            self._snapshots.server.drop_database(self._raw.owner_address)
            self._is_made = False

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
            return not [p.name for p in folder.iterdir() if p.name.startswith(name)]
        return self.raw.is_empty()


Sites = Callable[[str], Site]


def _database_of(url: str) -> str:
    return url.rpartition("/")[2]


@pytest.fixture(scope="session")
def snapshots(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer
) -> Iterator[Snapshots]:
    """What was filled before."""
    snapshots = Snapshots(tmp_path_factory.mktemp("snapshots"), postgres_server)
    yield snapshots
    snapshots.close()


@contextmanager
def sites_in(folder: Path, snapshots: Snapshots) -> Iterator[Sites]:
    """Makes empty databases of a kind, and removes them at the end."""
    made: list[Site] = []

    def make(kind: str) -> Site:
        if kind == "sqlite":
            path = str(folder / f"{len(list(folder.iterdir()))}-{len(made)}.db")
            made.append(Site(kind, path, path, snapshots))
        else:
            made.append(snapshots.new_site())
        return made[-1]

    yield make
    for site in made:
        site.drop()


@pytest.fixture
def sites(tmp_path: Path, snapshots: Snapshots) -> Iterator[Sites]:
    """Makes empty databases of a kind."""
    with sites_in(tmp_path, snapshots) as sites:
        yield sites


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
