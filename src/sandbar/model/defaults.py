"""Defaults that are references: an entity that new ones refer to is referred to already.

`dt/default` is a value of type json, so no index tells whom defaults refer to; the schema does.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from sandbar.findings import Finding
from sandbar.model import core
from sandbar.model.checking import check_target
from sandbar.model.properties import Property
from sandbar.model.unit import Unit

_DEFAULT = str(core.DEFAULT)


def default_referrers(
    unit: Unit, targets: Collection[int], doomed: Collection[int]
) -> list[tuple[Property, int]]:
    """(`dt/default`, id) of the properties that stay and whose default refers to a target."""
    slot = unit.schema.property_by_id(core.DEFAULT)
    return [
        (slot, property.id)
        for target in targets
        for property in unit.schema.referring_defaults.get(target, ())
        if property.id not in doomed and _still_refers(unit, property, target)
    ]


def _still_refers(unit: Unit, property: Property, target: int) -> bool:
    """The unit may have changed the property since its schema was made."""
    draft = unit.drafts.get(property.id)
    if draft is None:
        return True
    stored = (draft.doc or {}).get(_DEFAULT)
    return stored == target or (isinstance(stored, list) and target in stored)


def clear_defaults(unit: Unit, doomed: Collection[int]) -> None:
    """Take whoever goes out of the defaults of properties that stay."""
    for slot, id in default_referrers(unit, doomed, doomed):
        draft = unit.load(id)
        assert draft is not None and draft.doc is not None
        stored = draft.doc.get(_DEFAULT)
        left = [value for value in stored if value not in doomed] if type(stored) is list else []
        unit.put(draft, slot, left or None)


def strayed_defaults(unit: Unit, narrowed: Collection[int]) -> list[tuple[int, Finding]]:
    """Properties whose default is no instance of the range any more, if that is one of these."""
    defaults = unit.schema.referring_defaults
    wrong = [
        (property.id, found)
        for target, properties in defaults.items()
        for property in properties
        if property.target in narrowed and (found := check_target(unit, property, target))
    ]
    return [(id, msgspec.structs.replace(found, slot="dt/default")) for id, found in wrong]
