"""The rows that the store writes for an item, taken from a store that wrote some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

import sandbar
from bench import subject
from sandbar.model.documents import read_doc
from sandbar.model.words import entity_words
from sandbar.store.search import Words


class Sample(NamedTuple):
    """What one item becomes: class, document and index keys; only its id and t are still open."""

    cls: int
    doc: str
    keys: tuple[tuple[int, bytes], ...]  # (property, value)
    words: Words  # what it is searched by


class Batch(NamedTuple):
    """All rows of one transaction, ready to be bound."""

    entities: list[tuple[int, int, int, int, str]]
    slots: list[tuple[int, int, bytes, int, int]]
    words: list[tuple[int, Words]]
    ids: list[int]
    t: int
    next_id: int


def harvest(path: Path, first: int, count: int, size: int) -> list[Sample]:
    """Let a store of its own create items, and read the rows it made of them."""
    with sandbar.open(path) as db:
        subject.define(db)
        written = db.transact([subject.creation(first + n, size) for n in range(count)])
        ids = [outcome.entity_id for outcome in written.outcomes]
        cls = db.schema._schema.class_named(subject.CLASS)
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    keys: dict[int, list[tuple[int, bytes]]] = {id: [] for id in ids}
    for property, value, id in connection.execute("SELECT property, value, id FROM slot"):
        if id in keys:
            keys[id].append((property, value))
    rows = connection.execute("SELECT id, class, doc FROM entity WHERE id >= ?", (ids[0],))
    samples = [
        Sample(class_id, doc, tuple(keys[id]), entity_words(cls, read_doc(doc)))
        for id, class_id, doc in rows
    ]
    connection.close()
    return samples


def batch_of(ws: int, samples: Sequence[Sample], first_id: int, t: int) -> Batch:
    """The rows of one transaction that creates these items."""
    placed = list(enumerate(samples, first_id))
    return Batch(
        [(ws, id, one.cls, t, one.doc) for id, one in placed],
        [(ws, property, key, id, t) for id, one in placed for property, key in one.keys],
        [(id, one.words) for id, one in placed],
        [id for id, _ in placed],
        t,
        first_id + len(placed),
    )
