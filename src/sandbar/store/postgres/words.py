"""The search index of PostgreSQL: a tsvector per entity, made of ready-made words."""

from __future__ import annotations

from typing import Any

from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Longs, Texts
from sandbar.store.postgres.connection import Connection
from sandbar.store.queries import load_queries
from sandbar.store.search import GAP, Sought, Term, Words

_Q = load_queries("sandbar.store.postgres", "queries.sql")


def words_of(ws: int, plan: Plan) -> dict[str, Any]:
    """What the batch makes searchable, as bindings of the statement that writes all its rows."""
    kept = {id: words for id, words in plan.words.items() if words}
    gone = [id for id in plan.words if id not in kept and id < plan.first_unstored_id]
    return {
        "searched_ids": Longs(kept),
        "searched_words": Texts(_vector(ws, words) for words in kept.values()),
        "unsearched_ids": Longs(gone),
    }


def note_searched(connection: Connection, ws: int, plan: Plan) -> None:
    """Note how far the search has caught up with older entities."""
    if plan.unsearched is not None:
        (after,) = plan.unsearched
        if after is None:
            connection.execute(_Q.all_searched, (ws,))
        else:
            connection.execute(_Q.note_searched, (after, ws))


def _vector(ws: int, words: Words) -> str:
    """The words with their places. They need no quotes: they hold nothing that has a meaning."""
    return " ".join([f"{ws}_{word}:{place}" for place, word in enumerate(words, 1) if word != GAP])


def search_bindings(ws: int, sought: Sought) -> tuple[Any, ...]:
    """The bindings of a search."""
    query = " & ".join(_phrase(ws, term) for term in sought.terms)
    classes = None if sought.classes is None else Longs(sought.classes)
    return ws, query, classes, Longs(sought.hidden), sought.limit, sought.passed


def _phrase(ws: int, term: Term) -> str:
    words = " <-> ".join(f"'{ws}_{word}'" for word in term.words)
    return f"({words}:*)" if term.is_prefix else f"({words})"
