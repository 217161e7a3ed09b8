"""The search index of PostgreSQL: a tsvector per entity, made of ready-made words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.sql import load_queries
from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Longs, Texts
from sandbar.store.postgres.connection import Connection
from sandbar.store.search import GAP, AllOf, Sought, Term, Words

_Q = load_queries("sandbar.store.postgres", "queries.sql")

_NO_END = 1 << 62
_SMALL = 10  # a workspace with fewer ids than so many times what is wanted needs no sample
_BY_INDEX = 2  # what an entity costs that the index of words gives, in steps of the walk
_SAMPLE_PLACES = 16
_SAMPLE_ROWS = 8

Ask = Callable[[str, Any], list[tuple[Any, ...]]]


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


def find_words(ask: Ask, ws: int, next_id: int, sought: Sought) -> list[list[int]]:
    """For each search the ids of those who have its words, greatest first.

    Which of two ways is walked makes no difference but in time: the index of words costs as much
    as there are entities that have them, the walk down the ids as much as there are between two.
    """
    queries = [_query(ws, search) for search in sought.searches]
    bindings = {
        "ws": ws,
        "below": _NO_END if sought.below is None else sought.below,
        "classes": None if sought.classes is None else Longs(sought.classes),
        "hidden": Longs(sought.hidden),
        "most": sought.most,
    }
    common = _common(ask, bindings, queries, next_id, sought.most)
    found: list[list[int]] = [[] for _ in queries]
    for statement, is_common in ((_Q.search_rare, False), (_Q.search_common, True)):
        places = [place for place in range(len(queries)) if (place in common) is is_common]
        if places:
            some = Texts(queries[place] for place in places)
            for nth, id in ask(statement, bindings | {"queries": some}):
                found[places[nth - 1]].append(id)
    return found


def _common(
    ask: Ask, bindings: dict[str, Any], queries: list[str], next_id: int, most: int
) -> set[int]:
    """Which of the queries so many match that the walk down the ids is the shorter way."""
    if next_id <= most * _SMALL:
        return set()
    step = next_id // _SAMPLE_PLACES
    sample = {
        "queries": Texts(queries),
        "places": Longs(range(step, next_id + 1, step)),
        "rows": _SAMPLE_ROWS,
    }
    rows = ask(_Q.search_sample, bindings | sample)
    whole = _SAMPLE_PLACES * _SAMPLE_ROWS
    return {nth - 1 for nth, count in rows if (count / whole) ** 2 * next_id * _BY_INDEX > most}


def _query(ws: int, search: AllOf) -> str:
    alternatives = (" | ".join(_phrase(ws, term) for term in any_of) for any_of in search)
    return " & ".join(f"({either})" for either in alternatives)


def _phrase(ws: int, term: Term) -> str:
    words = " <-> ".join(f"'{ws}_{word}'" for word in term.words)
    return f"({words}:*)" if term.is_prefix else f"({words})"
