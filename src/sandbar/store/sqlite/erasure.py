"""Erasing entities from a SQLite file, down to the bytes.

Rows that are gone linger in three places: in pieces of the search index, which keep a dropped word
until they are merged; in the free space of pages; and in the log. `secure_delete` would not do:
SQLite leaves copies behind when it moves rows from page to page, so the file is written anew.
"""

from __future__ import annotations

import threading

import apsw

from sandbar.patience import current
from sandbar.sql import load_queries
from sandbar.store.rows import ERASED
from sandbar.store.sqlite.connection import open_writer, translated
from sandbar.store.sqlite.file import File

QUERIES = load_queries("sandbar.store.sqlite", "queries.sql")

_STEPS_BETWEEN_LOOKS = 4_000
_READER_S_MAX = 0.25
_LAST_READER_S_MAX = 2.0  # after the work is done
_WRITERS_MS_MAX = 5_000


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


def scrub(file: File, lock: threading.RLock) -> bool:
    """Merge the search index, write the file anew without what is free, and empty the log.

    False: somebody holds on to an older state of the file, which the log is kept for. Meanwhile the
    other writers of this process wait for `lock`. It ends with the patience of this thread.
    """
    connection = file.connect(open_writer)
    try:
        patience = current()
        if patience is not None:
            connection.set_progress_handler(patience.is_over, _STEPS_BETWEEN_LOOKS)
        with lock, translated():
            if not _empty_log(connection, _READER_S_MAX):
                return False  # the whole file would be written to a log that only grows
            _merge(connection)
            connection.execute(QUERIES.write_anew)
            return _empty_log(connection, _LAST_READER_S_MAX)
    finally:
        connection.close(True)


def _merge(connection: apsw.Connection) -> None:
    statement, before = QUERIES.begin_merging, -2
    # Fewer than two changes: there was nothing left to merge.
    while connection.total_changes() - before >= 2:
        before = connection.total_changes()
        connection.execute(statement)
        statement = QUERIES.go_on_merging


def _empty_log(connection: apsw.Connection, patience_s: float) -> bool:
    """Move the log into the file, unless somebody reads from it for longer than this.

    All who write wait meanwhile, so it is not long.
    """
    connection.set_busy_timeout(int(patience_s * 1000))
    busy = connection.execute(QUERIES.empty_log).fetchall()[0][0]
    connection.set_busy_timeout(_WRITERS_MS_MAX)
    return not busy
