"""Where the databases of a recording stand: SQLite files, or databases of a PostgreSQL server."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.live_server import sandbar
from tests.postgres_server import PostgresServer

_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Place:
    """A folder for files, and a PostgreSQL server if the databases are to stand there."""

    folder: Path
    postgres: PostgresServer | None = None

    def database(self, folder: Path) -> str:
        """A path or an address where nothing is yet."""
        if self.postgres is None:
            return str(folder / "recorded.db")
        url = self.postgres.create_database()
        found = re.findall(r"postgresql://[^\s\"]+", sandbar("migrate", url))
        return str(found[0])


@contextmanager
def sqlite_place() -> Iterator[Place]:
    """Files, in memory if there is any."""
    parent = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="sandbar-recordings-", dir=parent) as folder:
        yield Place(Path(folder))


@contextmanager
def postgres_place() -> Iterator[Place]:
    """A server of its own."""
    with sqlite_place() as place, PostgresServer() as server:
        yield Place(place.folder, server)
