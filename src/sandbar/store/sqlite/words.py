"""The search index of SQLite: FTS5 without a copy of the text."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from sandbar.store.plan import Plan
from sandbar.store.queries import load_queries
from sandbar.store.search import Sought, Term

QUERIES = load_queries("sandbar.store.sqlite", "queries.sql")


def apply_words(connection: apsw.Connection, ws: int, plan: Plan) -> None:
    """Write what the batch made searchable: all at once, in order of id, or FTS5 is slow."""
    if plan.words:
        prefix, first, stored = f"{ws}_", ws << 40, plan.first_unstored_id
        between = f" {prefix}"
        rows = sorted(plan.words.items())
        new = [(first + id, prefix + between.join(w)) for id, w in rows if w and id >= stored]
        connection.executemany(QUERIES.put_words, new)
        if rows[0][0] < stored:
            older = [(first + id, w) for id, w in rows if id < stored]
            gone = [(place,) for place, w in older if not w]
            connection.executemany(QUERIES.drop_words, gone)
            kept = [(place, prefix + between.join(w)) for place, w in older if w]
            connection.executemany(QUERIES.replace_words, kept)
    if plan.unsearched is not None:
        (after,) = plan.unsearched
        if after is None:
            connection.execute(QUERIES.all_searched, (ws,))
        else:
            connection.execute(QUERIES.note_searched, (after, ws))


def search_bindings(ws: int, sought: Sought) -> tuple[Any, ...]:
    """The bindings of a search. Every word stands in quotes and holds none: there is no syntax."""
    query = " AND ".join(_phrase(ws, term) for term in sought.terms)
    classes = None if sought.classes is None else msgspec.json.encode(sought.classes).decode()
    hidden = msgspec.json.encode(sought.hidden).decode() if sought.hidden else None
    return query, classes, hidden, sought.limit, sought.passed


def _phrase(ws: int, term: Term) -> str:
    words = " ".join(f"{ws}_{word}" for word in term.words)
    return f'"{words}" *' if term.is_prefix else f'"{words}"'
