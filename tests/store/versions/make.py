"""Make and keep the databases of the newest version of the tables.

    .venv/bin/python -m tests.store.versions.make

One that is kept already stays as it is; `--again` makes it anew, as long as it was not released.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sandbar.database import open_database
from sandbar.store.migrate import migrations_of
from sandbar.store.postgres import install as postgres
from sandbar.store.sqlite import upgrade as sqlite
from tests.postgres_server import PostgresServer
from tests.postgres_supervisor import find_program
from tests.store.versions import pack, path_of
from tests.store.versions.world import DROPPED, HOME, OTHER, fill


def populate(address: str) -> None:
    """Three workspaces, one of which is dropped."""
    for name in (OTHER, DROPPED):
        with open_database(address, name) as db:
            db.create("dt/List", {"db/ident": f"{name}/list"})
    with open_database(address, HOME) as db:
        fill(db)
        db.neighbours.drop(DROPPED)


def make_sqlite() -> bytes:
    """A whole file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.db"
        populate(str(path))
        return path.read_bytes()


def make_postgres() -> bytes:
    """What pg_dump says of a database: text that another version of the server reads, too."""
    with PostgresServer() as server:
        admin = server.create_database()
        populate(postgres.install(admin))
        return dumped(admin)


def dumped(admin: str) -> bytes:
    """A database as statements; those for psql alone are left out."""
    program = Path(find_program("initdb")).with_name("pg_dump")  # not what Debian calls so
    how = ["--schema=sandbar", "--no-owner", "--no-comments", "--inserts", "--rows-per-insert=1000"]
    command = [str(program), *how, f"--dbname={admin}"]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    lines = text.split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith((b"\\", b"--")) and line)


def main() -> None:
    """Keep what is not kept yet."""
    newest = {"sqlite": sqlite.PACKAGE, "postgres": postgres.PACKAGE}
    for dialect, make in (("sqlite", make_sqlite), ("postgres", make_postgres)):
        path = path_of(dialect, len(migrations_of(newest[dialect])))
        if path.exists() and "--again" not in sys.argv:
            sys.stdout.write(f"{path.name} is kept already\n")
            continue
        pack(path, make())
        sys.stdout.write(f"{path.name}: {path.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
