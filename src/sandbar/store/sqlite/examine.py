"""Looking at a SQLite file without changing it: no table is made, no migration is run."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

import apsw

from sandbar.store.examined import Examination
from sandbar.store.migrate import migrations_of
from sandbar.store.sqlite.connection import open_reader, translated
from sandbar.store.sqlite.owed import duties_of
from sandbar.store.sqlite.reads import QUERIES
from sandbar.store.sqlite.upgrade import PACKAGE, migration_number

_LOCKS = Path("/proc/locks")
CLAIM = ".server-lock"  # what a server holds locked beside the file


def examine(path: str, workspace: str) -> Examination:
    """What a file is, and whether a server has claimed it."""
    whole = os.path.realpath(path)
    connection = open_reader(whole)
    try:
        with translated():
            number = migration_number(connection)
            rows = connection.execute(QUERIES.workspaces).fetchall() if number else []
            names = tuple(str(name) for _, name in rows)
            known = len(migrations_of(PACKAGE))
            owed = duties_of(connection) if number == known else ()
    finally:
        connection.close()
    lock = Path(f"{whole}{CLAIM}")
    is_served = is_claimed(whole)
    return Examination(
        f"SQLite {apsw.sqlite_lib_version()}",
        number,
        known,
        has_workspace=workspace in names,
        workspaces=names,
        is_served=is_served,
        server_pid=_holder(lock) if is_served else None,
        owed=owed,
    )


def home_of_server(path: str) -> str | None:
    """The workspace that the server of a file is at home in; None if none runs."""
    if not is_claimed(path):
        return None
    return Path(f"{path}{CLAIM}").read_bytes().decode("utf-8", "surrogatepass") or None


def is_claimed(path: str) -> bool:
    """Whether a server serves this file."""
    try:
        handle = os.open(f"{path}{CLAIM}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _holder(lock: Path) -> int | None:
    """The process that has claimed the file, where the system keeps a list."""
    if not _LOCKS.exists():
        return None
    entry = re.compile(rf"FLOCK\s+\w+\s+WRITE\s+(\d+)\s+\S+:{lock.stat().st_ino}\s")
    found = entry.search(_LOCKS.read_text(encoding="ascii"))
    return int(found[1]) if found else None
