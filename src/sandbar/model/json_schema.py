"""Classes and properties as JSON Schema 2020-12: object roots, no references, no unions."""

from __future__ import annotations

from typing import Any

from sandbar.model import core
from sandbar.model.portable_patterns import portable_pattern
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.values.schemas import IDENT_SCHEMA

_TEXT_KINDS = {"db.type/string", "db.type/uri", "db.type/keyword", "db.type/symbol"}
_BIGDEC = "db.type/bigdec"
_NUMBER_KINDS = {"db.type/long", "db.type/double", "db.type/float"}


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
    kind = property.kind.ident
    low, high = property.minimum, property.maximum
    if kind in _TEXT_KINDS:
        bounds = (("minLength", low), ("maxLength", high))
    elif kind in _NUMBER_KINDS:
        bounds = (("minimum", low), ("maximum", high))
    else:
        return notes
    item.update({name: bound for name, bound in bounds if bound is not None})
    return notes
