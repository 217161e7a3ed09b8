"""What the store says to PostgreSQL: its statements without their own filter, and a recording.

`without_filters` takes the workspace out of every comparison in the store's `.sql` files: then
nothing but row-level security keeps workspaces apart. `Recorder` notes each statement with its
bindings and what came of it, so that it can be said again on a connection that is bound elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from types import SimpleNamespace
from typing import Any, NamedTuple

import psycopg
import pytest

from sandbar.sql import load_queries
from sandbar.store import AuditRow

PACKAGE = "sandbar.store.postgres"
_NOT_OF_SERVERS = ("install.sql", "schema.sql")
_FILTER = re.compile(r"\b(?:[a-z]+\.)?ws = (%\(ws\)s|%s|\{ws\}|[a-z]+\.ws)")
_HOLE = re.compile(r"\{[a-z_]+\}")


def _queries(file: str) -> SimpleNamespace:
    """The very object that the store has: what is changed in it is changed there."""
    lists = {"audit": AuditRow._fields} if file == "trail.sql" else {}
    return load_queries(PACKAGE, file, **lists)


def named_queries() -> dict[str, str]:
    """Every statement that servers use, by the name it has in its file."""
    found: dict[str, str] = {}
    for file in _files():
        for name, sql in vars(_queries(file)).items():
            found[f"{file}:{name}"] = sql
    return found


def _files() -> list[str]:
    names = [one.name for one in resources.files(PACKAGE).iterdir() if one.name.endswith(".sql")]
    return sorted(name for name in names if name not in _NOT_OF_SERVERS)


def unfiltered(sql: str) -> str:
    """A statement that takes the workspace and asks for none."""

    def instead(found: re.Match[str]) -> str:
        given = found[1]
        return f"{given}::bigint IS NOT NULL" if given.startswith("%") else "true"

    return _FILTER.sub(instead, sql)


def without_filters(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let every statement ask for all workspaces; how many of them did ask for one."""
    changed = 0
    for file in _files():
        queries = _queries(file)
        for name, sql in list(vars(queries).items()):
            if unfiltered(sql) != sql:
                changed += 1
                monkeypatch.setattr(queries, name, unfiltered(sql))
    return changed


class Said(NamedTuple):
    """A statement as it was executed, and how many rows it gave or changed."""

    sql: str
    bindings: Any
    rows: int

    @property
    def head(self) -> str:
        """Where the statement begins, in one line."""
        return " ".join(self.sql.split())[:120]


class Recorder:
    """The statements of one process, in the order in which they were said."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Listen to the driver."""
        execute = psycopg.Cursor.execute

        def listening(cursor: Any, query: Any, params: Any = None, **more: Any) -> Any:
            done = execute(cursor, query, params, **more)
            if isinstance(query, str):
                # Of several statements in one the last counts, which nobody has looked at yet.
                rows = 1 if ";" in query else max(cursor.rowcount, 0)
                self.said.append(Said(query, params, rows))
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.Cursor, "execute", listening)
            yield

    def naming(self, ws: int) -> list[Said]:
        """Those that name a workspace: of each the first with an effect, and one without."""
        found: dict[tuple[str, bool], Said] = {}
        for said in self.said:
            if _names(said, ws):
                found.setdefault((said.sql, said.rows > 0), said)
        return list(found.values())


def is_part_of(statement: str, said: Said) -> bool:
    """Whether a named statement, or what is left of it around its holes, was said."""
    parts = [part.strip() for part in _HOLE.split(statement) if len(part.strip()) > 12]
    return all(part in said.sql for part in parts)


def _names(said: Said, ws: int) -> bool:
    given = said.bindings
    values = list(given.values()) if isinstance(given, dict) else list(given or ())
    return ws in [value for value in values if type(value) is int] or f"ws = {ws} " in said.sql
