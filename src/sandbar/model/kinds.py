"""What an entity is, and was at first: by that it is decided who may see its past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.model.naming import resolve_ever
from sandbar.model.schema import Schema
from sandbar.store import Snapshot


def kinds_ever(
    snapshot: Snapshot, schema: Schema, at: Callable[[int], Schema], entity: Any
) -> frozenset[str]:
    """Its class and all above it, now and at first, also if it is gone by now."""
    id = resolve_ever(snapshot, schema, entity)
    for first in snapshot.versions(id, after=0, limit=1):
        then = at(first.t)
        if not then.has_class(first.cls):
            break  # purged: nobody knows any more what it was
        now = schema if schema.has_class(first.cls) else then
        return now.class_by_id(first.cls).kinds | then.class_by_id(first.cls).kinds
    return frozenset()
