"""Operations that make entities fit a changed metamodel, written out as they are typed."""

from __future__ import annotations

from typing import Any

from sandbar.model.properties import Property
from sandbar.model.values.refusals import typed

_SAMPLES: dict[str, Any] = {
    "db.type/string": "unknown",
    "db.type/keyword": "unknown",
    "db.type/symbol": "unknown",
    "db.type/boolean": False,
    "db.type/long": 0,
    "db.type/double": 0.0,
    "db.type/float": 0.0,
    "db.type/bigint": "0",
    "db.type/bigdec": "0",
    "db.type/instant": "2026-01-01T00:00:00Z",
    "db.type/json": {},
}


def clearing(cls: str, slot: str) -> str:
    """The operation that takes all values out of a slot."""
    return typed({"op": "migrate", "class": cls, "clear": [slot]})


def filling(cls: str, property: Property) -> str | None:
    """The operation that gives a slot to those who lack it, if one value is right for all."""
    sample = property.default
    if sample is None and property.one_of:
        sample = property.one_of[0]
    if sample is None and not (property.has_bounds or property.pattern_text):
        sample = _SAMPLES.get(property.kind.ident)
    if sample is None or property.unique or property.secret or property.is_ref:
        return None
    return typed({"op": "migrate", "class": cls, "fill": {property.ident: sample}})
