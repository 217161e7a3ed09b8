"""Tuple and json: values with structure, which are stored but never ordered or indexed."""

from __future__ import annotations

import msgspec

from sandbar.model.values.door import MAX_BYTES, JsonValue, door_check
from sandbar.model.values.refusals import refused

MAX_ITEMS = 64


def decode_tuple(value: object) -> JsonValue:
    """An array of at most 64 scalars."""
    if not isinstance(value, list | tuple):
        raise refused("type", "an array of scalars", value, '["EU", 42, true]')
    if len(value) > MAX_ITEMS:
        raise refused("too-many", f"an array of at most {MAX_ITEMS} items", value, '["EU", 42]')
    for item in value:
        if isinstance(item, list | tuple | dict):
            raise refused("type", "a string, number, boolean or null", item, '["EU", 42, true]')
    return decode_json(list(value))


def decode_json(value: object) -> JsonValue:
    """Any JSON; the answer is a copy, so later changes to what came cannot reach the store."""
    door_check(value)
    encoded = msgspec.json.encode(value)
    if len(encoded) > MAX_BYTES:
        raise refused("too-large", "JSON of at most 1 MiB", value, "a smaller document")
    copy: JsonValue = msgspec.json.decode(encoded)
    return copy
