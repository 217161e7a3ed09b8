"""All rows of a database, read past the program: which tables there are, the database says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import psycopg
from psycopg import sql

Rows = list[tuple[Any, ...]]
Columns = dict[str, list[str]]
Ask = Callable[[str], Rows]

# Not the same in a restored database, and why.
MADE_ANEW = {"search", "owed", "bucket"}
DIFFERENT = {
    # The first is drawn anew; what was spent in the last minute is forgotten.
    "workspace": {"epoch", "background_transitions", "background_bytes", "background_us"},
    "job": {"owner", "token", "until_us", "over_us"},  # nobody holds it, or has put it off
    "entity": {"place"},  # SQLite's way to say ws and id
}


class Raw:
    """A database as its owner sees it."""

    def __init__(self, kind: str, owner_address: str) -> None:
        self.kind = kind
        self.owner_address = owner_address
        self._kept: Ask | None = None

    def columns(self) -> Columns:
        """The tables that know workspaces, and their columns."""
        with self._asking() as ask:
            return self._columns(ask)

    def _columns(self, ask: Ask) -> Columns:
        if self.kind == "sqlite":
            found = ask(
                "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c "
                "WHERE s.type = 'table'"
            )
        else:
            found = ask(
                "SELECT table_name, column_name FROM information_schema.columns "
                "WHERE table_schema = 'sandbar'"
            )
        columns: Columns = {}
        for table, column in found:
            columns.setdefault(table, []).append(column)
        return {table: sorted(names) for table, names in columns.items() if "ws" in names}

    def everything(self) -> dict[str, Rows]:
        """Every row that must be the same in a restored database, in one order."""
        with self._asking() as ask:
            return self._everything(ask)

    def _everything(self, ask: Ask) -> dict[str, Rows]:
        found = {}
        for table, names in self._columns(ask).items():
            if table not in MADE_ANEW:
                kept = [name for name in names if name not in DIFFERENT.get(table, ())]
                where = "" if self.kind == "sqlite" else "sandbar."
                rows = ask(f"SELECT {', '.join(kept)} FROM {where}{table}")
                found[table] = sorted((_plain(row) for row in rows), key=repr)
        return found

    def is_empty(self) -> bool:
        """Whether no table has a row, nor is any workspace still to be searched."""
        with self._asking() as ask:
            rows = self._everything(ask)
            return not any(rows.values()) and not ask("SELECT * FROM owed")

    def ask(self, statement: str) -> Rows:
        """The rows of any statement."""
        with self._asking() as ask:
            return ask(statement)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Ask all questions inside the block over one connection, if it is a server's."""
        if self.kind == "sqlite":
            yield
            return
        with self._asking() as self._kept:
            try:
                yield
            finally:
                self._kept = None

    @contextmanager
    def _asking(self) -> Iterator[Ask]:
        """One connection for many statements."""
        if self._kept is not None:
            yield self._kept
            return
        if self.kind == "sqlite":
            file = apsw.Connection(self.owner_address)
            try:
                yield lambda statement: file.execute(statement).fetchall()
            finally:
                file.close()
            return
        with psycopg.connect(self.owner_address, autocommit=True) as connection:
            connection.execute("SET search_path = sandbar")
            yield lambda statement: connection.execute(sql.SQL(statement)).fetchall()


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same value from both drivers: lists of ids are JSON in one of them."""
    return tuple(
        json.loads(value) if isinstance(value, str) and value.startswith("[") else value
        for value in row
    )
