"""The search index of SQLite: FTS5 without a copy of the text."""

from __future__ import annotations

import apsw
import msgspec

from sandbar.sql import load_queries
from sandbar.store.plan import Plan
from sandbar.store.search import AllOf, Sought, Term

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


def find_words(connection: apsw.Connection, ws: int, sought: Sought) -> list[list[int]]:
    """For each search the ids of those who have its words, greatest first."""
    classes = None if sought.classes is None else msgspec.json.encode(sought.classes).decode()
    hidden = msgspec.json.encode(sought.hidden).decode() if sought.hidden else None
    end = (ws + 1) << 40 if sought.below is None else (ws << 40) + sought.below
    found = []
    for search in sought.searches:
        bindings = (_match(ws, search), end, classes, hidden, sought.most)
        found.append([id for (id,) in connection.execute(QUERIES.search, bindings)])
    return found


def _match(ws: int, search: AllOf) -> str:
    """The search for FTS5. Every word stands in quotes and holds none: there is no syntax."""
    alternatives = (" OR ".join(_phrase(ws, term) for term in any_of) for any_of in search)
    return " AND ".join(f"({either})" for either in alternatives)


def _phrase(ws: int, term: Term) -> str:
    words = " ".join(f"{ws}_{word}" for word in term.words)
    return f'"{words}" *' if term.is_prefix else f'"{words}"'
