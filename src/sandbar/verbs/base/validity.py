"""Asking whether entities are valid, without writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.model import Entity, Introspection, Update
from sandbar.verbs.context import Context

# The core cannot be written at all, and whoever has gone meanwhile is nobody's concern.
_BESIDE_THE_POINT = {"core.immutable", "entity.unknown"}


def findings_of_instances(
    context: Context, entities: Sequence[Entity]
) -> list[tuple[Entity, list[dict[str, Any]]]]:
    """The entities that could not be written today as they are, each with what is wrong."""
    if not entities:
        return []
    derived = _derived_slots(context.db.schema())
    operations = [
        Update(
            entity=one.entity_id,
            set={slot: value for slot, value in one.slots.items() if slot not in derived},
        )
        for one in entities
    ]
    found: dict[int, list[dict[str, Any]]] = {}
    for finding in context.db.trial(operations):
        if finding.get("slot") is None and finding["code"] in _BESIDE_THE_POINT:
            continue
        plain = {key: value for key, value in finding.items() if key != "at"}
        found.setdefault(finding.get("at") or 0, []).append(plain)
    return [(entities[at], errors) for at, errors in sorted(found.items())]


def _derived_slots(schema: Introspection) -> frozenset[str]:
    """The slots that are computed from the other direction and cannot be written."""
    return schema.derived(
        "inverse slots",
        lambda: frozenset(
            name for name in schema.properties() if "inverse-of" in schema.describe_property(name)
        ),
    )
