"""The past of one entity, as it is asked for: its history, and what differs between two moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.model.history import Names, changes_between, history_of
from sandbar.model.moments import Moment, moment_t
from sandbar.model.naming import resolve_ever, unknown_entity
from sandbar.model.results import HistoryEntry, SlotChange
from sandbar.model.schema import Schema
from sandbar.store import Snapshot, Version

SchemaAt = Callable[[int], Schema]


def entity_history(
    snapshot: Snapshot, schema: Schema, at: SchemaAt, entity: Any, after: int, limit: int
) -> list[HistoryEntry]:
    """What happened to an entity after some t, oldest first."""
    id = resolve_ever(snapshot, schema, entity)
    versions = snapshot.versions(id, after=after, limit=limit)
    previous = _version_at(snapshot, id, after) if after else None
    if not versions and previous is None:
        raise unknown_entity(schema, entity)
    return history_of(versions, previous, at, Names(snapshot, schema))


def difference(
    snapshot: Snapshot,
    schema: Schema,
    at: SchemaAt,
    entity: Any,
    before: Moment,
    after: Moment | None,
) -> list[SlotChange]:
    """The slots in which an entity differs between two moments (the second: now)."""
    id = resolve_ever(snapshot, schema, entity)
    now = snapshot.state.t
    old = _version_at(snapshot, id, moment_t(before, now, snapshot))
    last = now if after is None else moment_t(after, now, snapshot)
    new = _version_at(snapshot, id, last)
    if old is None and new is None and not snapshot.versions(id, after=0, limit=1):
        raise unknown_entity(schema, entity)
    return changes_between(old, new, at, Names(snapshot, schema))


def _version_at(snapshot: Snapshot, id: int, t: int) -> Version | None:
    row = snapshot.entity_as_of(id, t)
    return None if row is None else Version(row.t, row.cls, row.doc, 0, "", None)
