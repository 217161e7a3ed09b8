"""Erasing entities from a SQLite file, down to the bytes.

Rows that are gone linger in three places: in pieces of the search index, which keep a dropped word
until they are merged; in the free space of pages; and in the log. `secure_delete` would not do:
SQLite leaves copies behind when it moves rows from page to page, so the file is written anew.
"""

from __future__ import annotations

import apsw

from sandbar.store.queries import load_queries
from sandbar.store.rows import ERASED
from sandbar.store.sqlite.connection import open_writer, translated
from sandbar.store.sqlite.file import File

QUERIES = load_queries("sandbar.store.sqlite", "queries.sql")


def erase(connection: apsw.Connection, ws: int, id: int, t: int) -> None:
    """Drop all that is kept of an entity, and leave a mark that says when."""
    for statement in (
        QUERIES.erase_usage,
        QUERIES.erase_versions,
        QUERIES.erase_past,
        QUERIES.erase_secrets,
        QUERIES.erase_records,
    ):
        connection.execute(statement, (ws, id))
    connection.execute(QUERIES.put_version, (ws, id, t, ERASED, None))


def scrub(file: File) -> bool:
    """Merge the search index, write the file anew without what is free, and empty the log."""
    connection = file.connect(open_writer)
    try:
        with translated():
            statement, before = QUERIES.begin_merging, -2
            # Fewer than two changes: there was nothing left to merge.
            while connection.total_changes() - before >= 2:
                before = connection.total_changes()
                connection.execute(statement)
                statement = QUERIES.go_on_merging
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
            return not busy
    finally:
        connection.close(True)
