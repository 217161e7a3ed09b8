"""Dropping a workspace of a SQLite file."""

from __future__ import annotations

import secrets

from sandbar.store.queries import load_queries
from sandbar.store.sqlite.connection import begin_writing, open_writer, translated
from sandbar.store.workspaces import no_workspace

_Q = load_queries("sandbar.store.sqlite", "workspaces.sql")

# Every table with a column ws but the workspaces themselves; a test compares.
TABLES = (
    "tx",
    "version",
    "slot",
    "past",
    "secret",
    "idempotency",
    "token",
    "job",
    "unsearched",
    "audit",
    "seal",
    "key_use",
)


def drop_workspace(path: str, name: str) -> None:
    """Delete all rows of a workspace; a mark keeps its number from being given out again."""
    connection = open_writer(path)
    try:
        begin_writing(connection)
        with translated():
            ws = connection.execute(_Q.mark_dropped, (secrets.randbits(52), name)).get
            if ws is None:
                raise no_workspace(name)
            connection.execute(_Q.drop_search, (ws,))
            connection.execute(_Q.drop_entities, (ws,))
            for table in TABLES:
                connection.execute(_Q.drop_rows.format(table=table), (ws,))
            connection.execute("COMMIT")
    finally:
        connection.close(True)  # and with it whatever was begun
