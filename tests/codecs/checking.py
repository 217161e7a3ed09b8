"""The check that all round trips share."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.codecs import Codec, emit_one, parse_one
from sandbar.errors import Incorrect
from sandbar.model import Entity, Introspection

FORMATS = ("markdown", "json", "jsonl", "csv")


def kept(schema: Introspection, slot: str, raw: Any) -> Any:
    """A value as an entity would show it, or None if the model refuses it or keeps nothing."""
    if slot.partition("/")[2] in ("ref", "any"):
        return list(dict.fromkeys(raw)) if isinstance(raw, list) else raw
    try:
        return schema.stored(slot, raw)
    except Incorrect:
        return None


def entity(class_: str, slots: dict[str, Any], number: int = 4711) -> Entity:
    """An entity as a read would answer it."""
    shown = {
        name: value
        for name, value in slots.items()
        if value is not None and not (value == [] and name.startswith("many/"))
    }
    return Entity(number, shown.get("db/ident"), class_, 1, shown)


def exact(slots: dict[str, Any]) -> bytes:
    """Slots as bytes that differ when 1 is not 1.0 and not true."""
    return msgspec.json.encode(slots, order="sorted")


def check(codec: Codec, schema: Introspection, one: Entity) -> None:
    """Both ways, with and without the class in the text."""
    for with_class in (True, False):
        text = emit_one(codec, one, schema, with_class=with_class)
        wanted = None if with_class or codec.format == "jsonl" else one.class_
        parsed = parse_one(codec, text, schema, wanted)
        assert parsed.class_ == one.class_, text
        assert exact(parsed.slots) == exact(one.slots), text
        again = entity(parsed.class_, parsed.slots, parsed.id or one.entity_id)
        assert emit_one(codec, again, schema, with_class=with_class) == text
