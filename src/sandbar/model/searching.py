"""Searching a workspace for words, and bringing old entities into the index.

The index is written by the transactions that write the entities, so a search sees what a read at
the same moment sees. A page continues after as many results as were shown before it: what is
written in between may move results by a place, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from sandbar.errors import Incorrect, Unavailable, Unsupported
from sandbar.model import core
from sandbar.model.cursors import Cursor, question_digest, read_cursor, write_cursor
from sandbar.model.documents import read_doc
from sandbar.model.hiding import AllBut, hidden_ids
from sandbar.model.rendering import Source, render
from sandbar.model.results import Hit, SearchPage
from sandbar.model.schema import Schema
from sandbar.model.search_terms import parse_search
from sandbar.model.snippets import snippet_of
from sandbar.model.words import entity_words
from sandbar.store.api import Store, Transaction
from sandbar.store.rows import Row
from sandbar.store.search import Sought

LIMIT_MAX = 100
_IDENT = str(core.IDENT)
_BUILT_ROWS = 500  # per transaction


class Search(NamedTuple):
    """A search as it was asked."""

    query: Any
    class_: Any
    limit: Any
    cursor: str | None
    hidden: Collection[Any]


class Searched(Source, Protocol):
    """Where a search looks."""

    def search(self, sought: Sought) -> list[tuple[int, float]]:
        """One page of ids and scores, best first."""


def refuse_past(as_of: object) -> None:
    """Only what is there now can be searched."""
    if as_of is not None:
        raise Unsupported(
            "search.as-of",
            "a search looks at what there is now, not at the past",
            hint="search now, then read the entities as-of; or use entity.query with as-of",
        )


def search_page(source: Searched, schema: Schema, t: int, epoch: int, search: Search) -> SearchPage:
    """One page of what was found, best first."""
    if type(search.limit) is not int or not 1 <= search.limit <= LIMIT_MAX:
        raise Incorrect(
            "search.limit", f"limit is from 1 to {LIMIT_MAX}", hint="page with the cursor"
        )
    terms = parse_search(search.query)
    hidden = hidden_ids(schema, search.hidden)
    classes = None
    if search.class_ is not None or isinstance(search.hidden, AllBut):
        root = None if search.class_ is None else schema.class_named(search.class_).id
        wanted = schema.class_ids if root is None else schema.descendants(root)
        classes = tuple(id for id in wanted if id not in hidden)
    question = question_digest("search", search.query, search.class_, sorted(hidden))
    passed = 0 if search.cursor is None else read_cursor(search.cursor, question, epoch).id
    left_out = () if classes is not None else tuple(sorted(hidden))
    found = source.search(Sought(terms, search.limit + 1, passed, classes, left_out))
    scores = dict(found[: search.limit])
    rows = source.entities(list(scores))
    entities = render(schema, rows, source)
    items = [
        Hit(entity, scores[row.id], snippet_of(_texts(schema, row), terms))
        for entity, row in zip(entities, rows, strict=True)
    ]
    if len(found) <= search.limit:
        return SearchPage(items, t)
    stop = Cursor(epoch, t, question, 0, b"", passed + search.limit)
    return SearchPage(items, t, write_cursor(stop))


def _texts(schema: Schema, row: Row) -> list[str]:
    """What a snippet may show: the ident comes last, since every hit has it beside."""
    doc = read_doc(row.doc)
    texts: list[str] = []
    slots = schema.class_by_id(row.cls).text_slots
    for key, many in sorted(slots, key=lambda slot: slot[0] == _IDENT):
        if key in doc:
            texts += doc[key] if many else [doc[key]]
    return texts


def refuse_unbuilt(unsearched: int | None) -> None:
    """A search that would miss something says so instead."""
    if unsearched is not None:
        raise Unavailable(
            "search.building",
            "the search index of this workspace is still being built",
            hint="retry soon; whoever opens the database goes on building it",
        )


def build_index(store: Store, ws: int, schema_of: Callable[[int, int], Schema]) -> None:
    """Index the entities from before there was a search, in short transactions.

    Several processes may do this at once: each step begins where the last one, anybody's, ended.
    """

    def step(tx: Transaction) -> bool:
        reads = tx.hindsight()
        after = reads.unsearched()
        if after is None:
            return False
        schema = schema_of(tx.generation, tx.epoch)
        rows = reads.entities_after(after, _BUILT_ROWS)
        for row in rows:
            words = entity_words(schema.class_by_id(row.cls), read_doc(row.doc))
            tx.index_words(row.id, words)
        tx.indexed_up_to(rows[-1].id if rows else None)
        return bool(rows)

    while store.submit(ws, step, alone=True).result():
        pass
