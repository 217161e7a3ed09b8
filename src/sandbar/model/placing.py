"""Where an entity is, without reading what it says."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from sandbar.model.naming import resolve, unknown_entity
from sandbar.model.schema import Schema
from sandbar.model.unit import Unit
from sandbar.store import Snapshot


class Place(NamedTuple):
    """An entity as one of its states: what is found at the same place again is the same."""

    id: int
    t: int
    epoch: int


def place_in(snapshot: Snapshot, schema: Schema, entity: Any) -> Place:
    """The place of an entity now."""
    row = snapshot.entity(resolve(snapshot, schema, entity, None))
    if row is None:
        raise unknown_entity(schema, entity)
    return Place(row.id, row.t, snapshot.state.epoch)


def place_inside(unit: Unit, entity: Any) -> Place:
    """The place of an entity as the open transaction sees it."""
    draft = unit.load(unit.resolve(entity))
    if draft is None or draft.doc is None:
        raise unknown_entity(unit.schema, entity)
    is_new = draft.before is None or draft.is_changed()
    return Place(
        draft.id, unit.tx.t if is_new or draft.before is None else draft.before.t, unit.tx.epoch
    )


def last_changes_inside(unit: Unit, ids: Collection[int]) -> dict[int, int]:
    """When each of these entities last changed, as the open transaction sees it."""
    found = {row.id: row.t for row in unit.tx.entities(list(ids))}
    for draft in (unit.drafts[id] for id in ids if id in unit.drafts):
        if draft.doc is None:
            found.pop(draft.id, None)
        elif draft.is_changed():
            found[draft.id] = unit.tx.t
    return found
