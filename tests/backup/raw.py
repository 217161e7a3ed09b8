"""All rows of a database, read past the program: which tables there are, the database says."""

from __future__ import annotations

import json
from typing import Any

import apsw
import psycopg
from psycopg import sql

Rows = list[tuple[Any, ...]]
Columns = dict[str, list[str]]

# Not the same in a restored database, and why.
MADE_ANEW = {"search", "unsearched", "bucket"}
DIFFERENT = {
    "workspace": {"epoch"},  # drawn anew
    "job": {"owner", "token", "until_us"},  # nobody holds it
    "entity": {"place"},  # SQLite's way to say ws and id
}


class Raw:
    """A database as its owner sees it."""

    def __init__(self, kind: str, owner_address: str) -> None:
        self.kind = kind
        self.owner_address = owner_address

    def columns(self) -> Columns:
        """The tables that know workspaces, and their columns."""
        if self.kind == "sqlite":
            found = self.ask(
                "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c "
                "WHERE s.type = 'table'"
            )
        else:
            found = self.ask(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = 'sandbar'"
            )
        columns: Columns = {}
        for table, column in found:
            columns.setdefault(table, []).append(column)
        return {table: sorted(names) for table, names in columns.items() if "ws" in names}

    def everything(self) -> dict[str, Rows]:
        """Every row that must be the same in a restored database, in one order."""
        found = {}
        for table, names in self.columns().items():
            if table not in MADE_ANEW:
                kept = [name for name in names if name not in DIFFERENT.get(table, ())]
                where = "" if self.kind == "sqlite" else "sandbar."
                rows = self.ask(f"SELECT {', '.join(kept)} FROM {where}{table}")
                found[table] = sorted((_plain(row) for row in rows), key=repr)
        return found

    def ask(self, statement: str) -> Rows:
        """The rows of any statement."""
        if self.kind == "sqlite":
            file = apsw.Connection(self.owner_address)
            try:
                return file.execute(statement).fetchall()
            finally:
                file.close()
        with psycopg.connect(self.owner_address) as connection:
            connection.execute("SET search_path = sandbar")
            return connection.execute(sql.SQL(statement)).fetchall()


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same value from both drivers: lists of ids are JSON in one of them."""
    return tuple(
        json.loads(value) if isinstance(value, str) and value.startswith("[") else value
        for value in row
    )
