"""References to what only the workspace knows: made where it is there, told of where it is not."""

from __future__ import annotations

import msgspec

from sandbar.access import protected_classes
from sandbar.codecs import Parsed
from sandbar.errors import Forbidden
from sandbar.model import Introspection
from sandbar.projects.names import Names
from sandbar.projects.sources import Item


def linked(item: Item, schema: Introspection, names: Names) -> Item:
    """The item with those of its links that lead to something, and notes of the others."""
    assert item.parsed is not None, "what states nothing links to nothing"
    slots, notes = dict(item.parsed.slots), list(item.notes)
    for link in item.links:
        if _leads(link.ident, link.slot, schema, names):
            there = slots.get(link.slot) or []
            slots[link.slot] = [*there, *([] if link.ident in there else [link.ident])]
        else:
            notes.append(link.missing)
    parsed: Parsed = msgspec.structs.replace(item.parsed, slots=slots)
    return msgspec.structs.replace(item, parsed=parsed, notes=tuple(notes), links=())


def _leads(ident: str, slot: str, schema: Introspection, names: Names) -> bool:
    """Whether the slot takes what has this ident, and the caller may see it."""
    try:
        found = names.find(ident)
    except Forbidden:
        return False
    if found is None or found.class_ in protected_classes(schema):
        return False
    return schema.is_kind(found.class_, schema.range(slot))
