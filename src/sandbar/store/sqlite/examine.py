"""Looking at a SQLite file without changing it: no table is made, no migration is run."""

from __future__ import annotations

import os

import apsw

from sandbar.store.examined import Examination
from sandbar.store.migrate import migrations_of
from sandbar.store.sqlite.claim import claimer, is_claimed
from sandbar.store.sqlite.connection import open_reader, translated
from sandbar.store.sqlite.owed import duties_of
from sandbar.store.sqlite.reads import QUERIES
from sandbar.store.sqlite.upgrade import PACKAGE, migration_number


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
    is_served = is_claimed(whole)
    return Examination(
        f"SQLite {apsw.sqlite_lib_version()}",
        number,
        known,
        has_workspace=workspace in names,
        workspaces=names,
        is_served=is_served,
        server_pid=claimer(whole) if is_served else None,
        owed=owed,
    )
