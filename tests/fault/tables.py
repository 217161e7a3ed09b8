"""The raw tables of a workspace, read past the program that wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import psycopg

Rows = list[tuple[Any, ...]]


class Tables(NamedTuple):
    """All that is stored of the workspace `main`."""

    t: int
    tx: dict[int, list[int]]  # t to the ids that it changed
    entity: Rows  # id, class, t, doc
    version: Rows  # id, t, class, doc
    slot: Rows  # property, value, id, since
    past: Rows  # property, value, level, since, id, until
    integrity: str


def sqlite_tables(path: str) -> Tables:
    """Read a SQLite file, and let the engine look for damage."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("BEGIN")
        tables = _read(lambda sql: connection.execute(sql).fetchall(), "")
        connection.execute("COMMIT")
        return tables._replace(integrity=connection.execute("PRAGMA integrity_check").get)
    finally:
        connection.close()


def postgres_tables(admin_url: str) -> Tables:
    """Read a PostgreSQL database as its owner."""
    with psycopg.connect(admin_url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return _read(lambda sql: connection.execute(sql.encode()).fetchall(), "sandbar.")


def _read(fetch: Callable[[str], Rows], prefix: str) -> Tables:
    (ws, t), = fetch(f"SELECT ws, t FROM {prefix}workspace WHERE name = 'main'")  # fmt: skip

    def rows(columns: str, table: str) -> Rows:
        return fetch(f"SELECT {columns} FROM {prefix}{table} WHERE ws = {ws}")

    return Tables(
        t,
        {t: json.loads(ids) if isinstance(ids, str) else ids for t, ids in rows("t, ids", "tx")},
        rows("id, class, t, doc", "entity"),
        rows("id, t, class, doc", "version"),
        rows("property, value, id, since", "slot"),
        rows("property, value, level, since, id, until", "past"),
        "ok",
    )
