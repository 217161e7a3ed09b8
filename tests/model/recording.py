"""Listening in on what the model asks the store for, on both stores alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbar.model import core
from sandbar.store.postgres.reads import PostgresReads
from sandbar.store.postgres.session import PostgresSession
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.rows import Row
from sandbar.store.scan import Found, Scan
from sandbar.store.sqlite.reads import SqliteReads
from sandbar.store.sqlite.session import SqliteSession
from sandbar.store.sqlite.store import SqliteStore

KINDS = (SqliteStore, SqliteReads, SqliteSession, PostgresStore, PostgresReads, PostgresSession)
POINTS = ("point", "point_by_key", "point_as_of")
READS = ("entity", "entity_as_of", "entities", "find", "find_as_of", "referrers", "scan")
LISTS = ("versions", "transactions", "schema_changes")


@dataclass
class Asked:
    """What the store was asked for; `schema` are the classes and properties among the answers."""

    calls: Counter[str] = field(default_factory=Counter)
    scans: list[tuple[Scan, int]] = field(default_factory=list)  # with the number of rows found
    schema: set[int] = field(default_factory=set)

    @property
    def rows(self) -> int:
        """How many rows all scans have found."""
        return sum(found for _, found in self.scans)

    def note(self, name: str, question: Any, answer: Any) -> None:
        """One call and its answer."""
        self.calls[name] += 1
        if name == "scan":
            self.scans.append((question, len(answer)))
        for row in _rows(answer):
            if row.cls in (core.CLASS, core.PROPERTY):
                self.schema.add(row.id)


def _rows(answer: Any) -> list[Row | Found]:
    """The rows in an answer: a list, a row, or the head of a workspace and a row."""
    many = answer if isinstance(answer, list) or type(answer) is tuple else (answer,)
    return [one for one in many if isinstance(one, Row | Found)]


@contextmanager
def recorded() -> Iterator[Asked]:
    """Whatever any database is asked for inside the block, by any thread."""
    asked = Asked()
    with pytest.MonkeyPatch.context() as patch:
        for kind in KINDS:
            for name in (*POINTS, *READS, *LISTS, "snapshot"):
                if name in vars(kind):
                    patch.setattr(kind, name, _listening(asked, name, vars(kind)[name]))
        yield asked


def _listening(asked: Asked, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *given: Any, **named: Any) -> Any:
        answer = method(self, *given, **named)
        asked.note(name, given[0] if given else None, answer)
        return answer

    return call
