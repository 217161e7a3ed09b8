"""All rows of one workspace in every table, read past the program: has anybody touched them?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import apsw
import psycopg

Rows = list[tuple[Any, ...]]

_SQLITE_TABLES = """
SELECT DISTINCT m.name FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c
WHERE m.type = 'table' AND c.name = 'ws' ORDER BY 1
"""
_POSTGRES_TABLES = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'ws'
WHERE c.relnamespace = 'sandbar'::regnamespace AND c.relkind = 'r' ORDER BY 1
"""


def fingerprint(address: str, name: str) -> dict[str, tuple[int, str]]:
    """Of each table that has workspaces: how many rows this one has, and a digest of them.

    `address` is a file, or the superuser's URL, whom no policy binds.
    """
    if address.startswith("postgresql://"):
        with psycopg.connect(address) as connection:
            return _of(
                lambda sql: connection.execute(sql.encode()).fetchall(), _POSTGRES_TABLES, name
            )
    file = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = _of(lambda sql: file.execute(sql).fetchall(), _SQLITE_TABLES, name)
        ws = file.execute("SELECT ws FROM workspace WHERE name = ?", (name,)).get
        words = "SELECT rowid FROM search WHERE rowid >> 40 = ? ORDER BY rowid"
        return found | {"search": _digest(file.execute(words, (ws,)).fetchall())}
    finally:
        file.close()


def _of(fetch: Callable[[str], Rows], tables: str, name: str) -> dict[str, tuple[int, str]]:
    prefix = "sandbar." if tables is _POSTGRES_TABLES else ""
    found = fetch(f"SELECT ws FROM {prefix}workspace WHERE name = '{name}'")
    assert found, f"there is no workspace {name}"
    (ws,) = found[0]
    return {
        table: _digest(fetch(f"SELECT * FROM {prefix}{table} WHERE ws = {ws}"))
        for (table,) in fetch(tables)
    }


def _digest(rows: Rows) -> tuple[int, str]:
    lines = sorted(repr(row) for row in rows)
    return len(rows), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
