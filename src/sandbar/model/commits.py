"""What transactions did, entity by entity: for whoever follows a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from sandbar.model import core
from sandbar.model.documents import read_doc
from sandbar.model.schema import Schema
from sandbar.store import Row, Snapshot, TxRow

ENTITIES_MAX = 1000  # of one commit; and about as many are read at a time

_IDENT_KEY = str(core.IDENT)


class Standing(msgspec.Struct, frozen=True):
    """Where a workspace stands. A restored backup has another epoch, and its t means another."""

    t: int
    epoch: int


class EntityChange(msgspec.Struct, frozen=True):
    """What a transaction did to one entity."""

    id: int
    ident: str | None  # as the transaction left it; before the end, of a deleted entity
    class_: str
    kind: Literal["created", "updated", "deleted"]


class Commit(msgspec.Struct, frozen=True):
    """One transaction; `is_partial` if it changed entities that are not listed."""

    t: int
    is_schema: bool
    entities: tuple[EntityChange, ...]
    is_partial: bool


def commits_after(
    snapshot: Snapshot, schema: Schema, schema_at: Callable[[int], Schema], t: int, limit: int
) -> list[Commit]:
    """The transactions after `t`, oldest first: at least one, if there is any, at most `limit`."""
    transactions = list(_bounded(snapshot.transactions(after=t, limit=limit)))
    places = {place for tx in transactions for id in _listed(tx) for place in _places(id, tx.t)}
    rows = snapshot.entities_at(sorted(places))

    def class_of(cls: int, t: int) -> str:
        return (schema if schema.has_class(cls) else schema_at(t)).ident_of(cls)

    return [_commit(tx, schema, rows, class_of) for tx in transactions]


def _bounded(transactions: list[TxRow]) -> Iterator[TxRow]:
    """As many as change a bounded number of entities."""
    count = 0
    for tx in transactions:
        count += min(len(tx.ids), ENTITIES_MAX)
        if count > ENTITIES_MAX and count != min(len(tx.ids), ENTITIES_MAX):
            return
        yield tx


def _listed(tx: TxRow) -> tuple[int, ...]:
    return tx.ids[:ENTITIES_MAX]


def _places(id: int, t: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (id, t - 1), (id, t)


def _commit(
    tx: TxRow,
    schema: Schema,
    rows: dict[tuple[int, int], Row],
    class_of: Callable[[int, int], str],
) -> Commit:
    entities = []
    for id in _listed(tx):
        before, after = (rows.get(place) for place in _places(id, tx.t))
        row = after or before
        if row is None:
            continue  # it is in no history any more: purged, or begun and ended at once
        kind: Literal["created", "updated", "deleted"] = "updated"
        if before is None or after is None:
            kind = "created" if before is None else "deleted"
        ident = read_doc(row.doc).get(_IDENT_KEY)
        entities.append(EntityChange(id, ident, class_of(row.cls, row.t), kind))
    is_schema = schema.basis(tx.t) == tx.t
    return Commit(tx.t, is_schema, tuple(entities), len(entities) < len(tx.ids))
