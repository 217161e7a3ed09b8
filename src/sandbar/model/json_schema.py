"""Classes and properties as JSON Schema 2020-12: object roots, no references, no unions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sandbar.model import core
from sandbar.model.checks import COUNTED_IN_CHARACTERS
from sandbar.model.portable_patterns import portable_pattern
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.values.schemas import IDENT_SCHEMA

_BIGINT, _BIGDEC = "db.type/bigint", "db.type/bigdec"
_NUMBER_KINDS = {"db.type/long", "db.type/double", "db.type/float"}
_MAX_EXACT = 1 << 53


def class_schema(cls: Class) -> dict[str, Any]:
    """What creating an instance takes: its slots, by ident."""
    writable = [property for property in cls.slots.values() if not property.inverse_of]
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": cls.label or cls.ident,
        "properties": {property.ident: property_schema(property) for property in writable},
        "additionalProperties": False,
    }
    if cls.doc:
        schema["description"] = cls.doc
    required = sorted(p.ident for p in cls.required_slots if p.default is None)
    if required:
        schema["required"] = required
    return schema


def property_schema(property: Property) -> dict[str, Any]:
    """What one slot takes."""
    if property.id == core.IDENT:
        item = dict(IDENT_SCHEMA)
    else:
        item = _reference_schema() if property.is_ref else property.kind.json_schema()
    notes = _constrain(item, property)
    schema: dict[str, Any] = {"type": "array", "items": item} if property.many else item
    said = property.doc or schema.get("description")
    if said or notes:
        schema["description"] = " ".join([said, *notes] if said else notes)
    if property.default is not None:
        schema["default"] = property.default
    if property.secret:
        schema["writeOnly"] = True
    return schema


def _reference_schema() -> dict[str, Any]:
    return {"type": ["string", "integer", "object"], "description": "ident, id or {slot: value}"}


def _constrain(item: dict[str, Any], property: Property) -> list[str]:
    """Say what the property demands; returns what only words can say."""
    notes = []
    if property.one_of and property.kind.ident == _BIGDEC:
        # It keeps its scale: 1.50 is one of 1.5, and is stored as it came.
        notes.append(f"One of {', '.join(property.one_of)}.")
    elif property.one_of:
        item["enum"] = list(property.one_of)
    if property.pattern_text:
        pattern = portable_pattern(property.pattern_text)
        # There can be but one without combinators, and that of a type knows all spellings: the
        # property's is about the stored one.
        if pattern is not None and "pattern" not in item:
            item["pattern"] = pattern
        else:
            notes.append(f"Must match the RE2 pattern {property.pattern_text}")
    if property.has_bounds:
        notes += _bound(item, property)
    return notes


def _bound(item: dict[str, Any], property: Property) -> list[str]:
    kind, low, high = property.kind.ident, property.minimum, property.maximum
    if kind in COUNTED_IN_CHARACTERS:
        if high is not None:
            colon = 1 if kind == "db.type/keyword" else 0  # accepted on the way in, and not counted
            item["maxLength"] = min(high + colon, item["maxLength"])
        bounds = {"minLength": low}
    else:
        bounds = {"minimum": _as_number(kind, low), "maximum": _as_number(kind, high)}
    item.update({name: bound for name, bound in bounds.items() if bound is not None})
    if kind in _NUMBER_KINDS or kind in COUNTED_IN_CHARACTERS:
        return []
    words = (("At least", low), ("At most", high))
    return [f"{word} {bound}." for word, bound in words if bound is not None]


def _as_number(kind: str, bound: Any) -> int | float | None:
    """A bound as a number of JSON, if it is one to which rounding does no harm."""
    if bound is None or kind in _NUMBER_KINDS:
        number: int | float | None = bound
        return number
    if kind not in (_BIGINT, _BIGDEC) or abs(Decimal(bound)) > _MAX_EXACT:
        return None
    exact = Decimal(bound)
    return int(exact) if exact == exact.to_integral_value() else float(exact)
