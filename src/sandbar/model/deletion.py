"""Deleting an entity: what refers to it decides, unless told to cascade or to detach.

What an entity owns (through component slots) goes with it in every mode. A default that refers to
it counts as a reference, but no property goes because of its default: cascading only clears that.
"""

from __future__ import annotations

from sandbar.errors import Conflict, Incorrect
from sandbar.model import core
from sandbar.model.defaults import clear_defaults, default_referrers
from sandbar.model.drafts import Draft, core_is_immutable
from sandbar.model.forms import require_formed
from sandbar.model.operations import OPERATIONS_MAX, DeleteMode
from sandbar.model.properties import Property
from sandbar.model.unit import REF, Unit

_REFERRERS_SHOWN = 20


def delete_entity(unit: Unit, draft: Draft, mode: DeleteMode) -> list[int]:
    """Delete the entity and all that must go with it; returns the ids that went."""
    doomed = _owned(unit, draft)
    frontier = list(doomed)
    while frontier:
        outside = _referrers(unit, frontier, doomed)
        if mode == "refuse":
            outside += default_referrers(unit, frontier, doomed)
        frontier = []
        if not outside:
            break
        if mode == "refuse":
            raise _still_referenced(unit, draft, outside)
        if len(outside) > OPERATIONS_MAX:
            raise _too_many()
        if mode == "detach":
            _detach(unit, outside, doomed)
            break
        for _, id in outside:
            referrer = unit.load(id)
            if referrer is not None and id not in doomed:
                more = _owned(unit, referrer)
                frontier += [new for new in more if new not in doomed]
                doomed.update(more)
        if len(doomed) > OPERATIONS_MAX:
            raise _too_many()
    clear_defaults(unit, doomed)
    for gone in doomed.values():
        _end(unit, gone)
    return sorted(doomed)


def _too_many() -> Incorrect:
    return Incorrect(
        "delete.too-many",
        f"this would change more than {OPERATIONS_MAX} entities",
        hint="delete or change those that refer to it first, in several transactions",
    )


def _end(unit: Unit, draft: Draft) -> None:
    if draft.id < core.FIRST_FREE_ID:
        raise core_is_immutable(f"what would be deleted ({unit.schema.ident_of(draft.id)})")
    draft.doc = None
    unit.touched.discard(draft.id)
    for property in unit.class_of(draft).slots.values():
        if property.secret:
            unit.tx.keep_secret(draft.id, property.id, None)


def _owned(unit: Unit, draft: Draft) -> dict[int, Draft]:
    """The entity and everything that it owns, directly or through what it owns."""
    found = {draft.id: draft}
    queue = [draft]
    while queue:
        owner = queue.pop()
        for id in _parts(unit, owner):
            part = unit.load(id)
            if part is not None and id not in found:
                found[id] = part
                queue.append(part)
    return found


def _parts(unit: Unit, owner: Draft) -> list[int]:
    """What an entity owns; also by slots that a change of the metamodel has set aside."""
    parts: list[int] = []
    doc = owner.doc or {}
    for key, property in unit.class_of(owner).by_key.items():
        if property.component:
            parts += property.values(doc.get(key))
    for misfit in (owner.misfits or {}).values():
        if misfit.was.component:
            parts += misfit.was.values(misfit.stored)
    return parts


def _referrers(
    unit: Unit, targets: list[int], doomed: dict[int, Draft]
) -> list[tuple[Property, int]]:
    """(property, id) of the living entities that refer to a target and are not going themselves."""
    properties = unit.schema.ref_properties
    outside = []
    for target in targets:
        key = REF.index_key(target)
        found = unit.referrers(key, properties, OPERATIONS_MAX + 1)
        outside += [(property, id) for property, id in found if id not in doomed]
        if len(outside) > OPERATIONS_MAX:
            break  # more than anybody may change at once, or wants to read
    return outside


def _detach(unit: Unit, outside: list[tuple[Property, int]], doomed: dict[int, Draft]) -> None:
    for property, id in outside:
        referrer = unit.load(id)
        if referrer is None or referrer.doc is None:
            continue
        if property.id == core.TYPE:
            raise Conflict(
                "class.has-instances",
                "a class cannot be detached from its instances",
                hint="delete its instances first, or delete it with mode cascade",
            )
        require_formed(referrer, property, unit.schema)
        if not property.many:
            unit.put(referrer, property, None)
            continue
        held = unit.held.values_of(referrer, property)
        some = doomed if len(doomed) < len(held.values) else [v for v in held.values if v in doomed]
        unit.put(referrer, property, held.values, held.remove(some))


def _count(outside: list[tuple[Property, int]]) -> str:
    return str(len(outside)) if len(outside) <= OPERATIONS_MAX else f"over {OPERATIONS_MAX}"


def _still_referenced(unit: Unit, draft: Draft, outside: list[tuple[Property, int]]) -> Conflict:
    first = outside[:_REFERRERS_SHOWN]
    shown = [{"entity-id": id, "slot": p.ident} for p, id in first if unit.shows(id)]
    return Conflict(
        "entity.referenced",
        f"entity {draft.id} is referred to {_count(outside)} times",
        hint="delete with mode cascade to delete those too, or detach to remove the references",
        data={"referrers": shown, "count": len(outside)},
    )
