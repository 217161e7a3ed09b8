"""Where populations live: SQLite files in one folder, or databases of one PostgreSQL server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bench.bare.contract import Bare
from bench.bare.postgres import BarePostgres
from bench.bare.sqlite import BareSqlite
from sandbar.store.postgres.install import install
from tests.postgres_server import PostgresServer


class Place(Protocol):
    """One kind of store; a target is what `sandbar.open` takes."""

    name: str

    def make(self, name: str) -> str:
        """A new, empty target."""

    def copy(self, target: str, name: str) -> str:
        """Another target with the same rows; nobody may have the first one open."""

    def settle(self, target: str) -> None:
        """Do what an operator does after a bulk load."""

    def bare(self, target: str, *, writes: bool) -> Bare:
        """The bare driver, connected to a target."""

    def drop(self, target: str) -> None:
        """Remove a target that nobody has open."""


class SqlitePlace:
    """Files in a folder."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make(self, name: str) -> str:
        """The path of a file that is not there yet."""
        return str(self._folder / f"{name}.db")

    def copy(self, target: str, name: str) -> str:
        """A copy of the file; closing it has emptied the write-ahead log."""
        copy = shutil.copyfile(target, f"{target}-{name}")
        with open(copy, "rb+") as written:
            os.fsync(written.fileno())  # not while somebody else's writes are measured
        return copy

    def settle(self, target: str) -> None:
        """Nothing: every query is written so that SQLite needs no statistics."""

    def bare(self, target: str, *, writes: bool) -> Bare:
        """An apsw connection."""
        return BareSqlite(target, writes=writes)

    def drop(self, target: str) -> None:
        """Remove the file and what SQLite put beside it."""
        for suffix in ("", "-wal", "-shm"):
            Path(target + suffix).unlink(missing_ok=True)


class PostgresPlace:
    """Databases of a server that lives as long as the run."""

    name = "postgres"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    def make(self, name: str) -> str:
        """The application's address of a new database with our tables."""
        return install(self._server.create_database(f"bench_{name}".replace("-", "_")))

    def copy(self, target: str, name: str) -> str:
        """A database made after the model of another."""
        model = _database(target)
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(f"{model}_{name}"), sql.Identifier(model)
        )
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("CHECKPOINT")
        return target.replace(model, f"{model}_{name}")

    def settle(self, target: str) -> None:
        """Give the planner its statistics, and leave no bulk of dirty pages to what follows."""
        with psycopg.connect(self._admin(target), autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE)")
            connection.execute("CHECKPOINT")

    def bare(self, target: str, *, writes: bool) -> Bare:
        """A superuser's connection."""
        del writes
        return BarePostgres(self._admin(target))

    def drop(self, target: str) -> None:
        """Remove the database."""
        self._server.drop_database(self._admin(target))

    def _admin(self, target: str) -> str:
        return self._server.url_of(_database(target))


def _database(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")
