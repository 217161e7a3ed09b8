"""Counting entities by a value that they hold, from the index alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.errors import Incorrect
from sandbar.model.schema import Schema
from sandbar.store import Reads

Resolve = Callable[[Any], int]


def count_holders(reads: Reads, schema: Schema, slot: str, value: Any, resolve: Resolve) -> int:
    """How many entities hold this value in this slot; no document is looked at."""
    property = schema.property_named(slot)
    if property.secret or property.inverse_of or not property.indexed:
        raise Incorrect(
            "count.not-indexed",
            f"{property.ident} has no index to count by",
            hint="count by a slot that is indexed, or read the entities with entity.query",
        )
    stored = resolve(value) if property.is_ref else property.kind.decode(value)
    return reads.count(property.id, property.kind.index_key(stored))
