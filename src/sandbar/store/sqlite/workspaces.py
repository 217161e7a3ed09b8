"""Making and dropping workspaces of a SQLite file."""

from __future__ import annotations

import secrets

from sandbar.sql import load_queries
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.owed import owe_scrub
from sandbar.store.sqlite.reads import QUERIES
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
    "owed",
    "audit",
    "seal",
    "key_use",
)


def create_workspace(file: File, name: str) -> None:
    """Make an empty workspace, unless there is one of that name."""
    with file.transaction() as connection:
        connection.execute(QUERIES.create_workspace, (name, secrets.randbits(52)))


def drop_workspace(file: File, name: str) -> None:
    """Delete all rows of a workspace; a mark keeps its number from being given out again."""
    with file.transaction() as connection:
        ws = connection.execute(_Q.mark_dropped, (secrets.randbits(52), name)).get
        if ws is None:
            raise no_workspace(name)
        connection.execute(_Q.drop_search, (ws,))
        connection.execute(_Q.drop_entities, (ws,))
        for table in TABLES:
            connection.execute(_Q.drop_rows.format(table=table), (ws,))
        owe_scrub(connection, ws, 0)
