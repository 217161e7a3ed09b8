"""The search index of PostgreSQL: a tsvector per entity, made of ready-made words."""

from __future__ import annotations

from typing import Any

from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Longs, Texts
from sandbar.store.postgres.connection import Connection
from sandbar.store.queries import load_queries
from sandbar.store.search import GAP, Sought, Term, Words

_Q = load_queries("sandbar.store.postgres", "queries.sql")


def apply_words(connection: Connection, ws: int, plan: Plan) -> None:
    """Write what the batch made searchable."""
    if plan.words:
        kept = {id: words for id, words in plan.words.items() if words}
        gone = Longs(id for id in plan.words if id not in kept and id < plan.first_unstored_id)
        if kept or gone:
            bindings = {
                "ws": ws,
                "ids": Longs(kept),
                "words": Texts(_vector(ws, words) for words in kept.values()),
                "gone_ids": gone,
            }
            connection.execute(_Q.put_words, bindings)
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
