"""Bringing a SQLite file to the current schema: a new one at once, an old one step by step."""

from __future__ import annotations

import os
import threading

import apsw

from sandbar.errors import Conflict, Incorrect
from sandbar.store.migrate import migrations_of, schema_of
from sandbar.store.sqlite.connection import make_file, open_reader, open_writer, translated
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.reads import QUERIES

PACKAGE = "sandbar.store.sqlite"

_one_at_a_time = threading.Lock()


def bring_up_to_date(path: str) -> File:
    """Make the tables of a new file, or run the migrations that an old one lacks."""
    with _one_at_a_time:
        if os.path.exists(path):
            _require_ours(path)
        else:
            make_file(path)
        connection = open_writer(path)
        try:
            with translated():
                # A look first: a current file must not wait for anybody's write lock.
                if migration_number(connection) != len(migrations_of(PACKAGE)):
                    _migrate(connection)
            return File(path)
        finally:
            connection.close()


def _require_ours(path: str) -> None:
    """Look, by a connection that changes nothing: a writer's would give the file a log."""
    connection = open_reader(path)
    try:
        with translated():
            _known_number(connection)
    finally:
        connection.close()


def _known_number(connection: apsw.Connection) -> int:
    number = migration_number(connection)
    if number > len(migrations_of(PACKAGE)):
        raise Conflict(
            "store.newer",
            "this file was written by a newer version of Sandbar",
            hint="install that version or a later one",
        )
    return number


def _migrate(connection: apsw.Connection) -> None:
    migrations = migrations_of(PACKAGE)
    connection.execute("BEGIN IMMEDIATE")
    number = _known_number(connection)
    missing = migrations[number:]
    if number == 0:
        connection.execute(schema_of(PACKAGE))
    else:
        for migration in missing:
            connection.execute(migration.sql)
    connection.executemany(QUERIES.note_migration, [m[:2] for m in missing])
    connection.execute("COMMIT")


def migration_number(connection: apsw.Connection) -> int:
    """The last migration that the file has seen; 0 for a new file."""
    if connection.execute(QUERIES.table_count).get == 0:
        return 0
    if connection.execute(QUERIES.has_migrations).get == 0:
        raise Incorrect(
            "store.not-ours",
            "this SQLite file was not made by Sandbar",
            hint="choose another path; Sandbar makes its own file",
        )
    return int(connection.execute(QUERIES.migration_number).get)
