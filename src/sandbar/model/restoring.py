"""Restoring an entity: what it was once, as far as today's schema allows.

A deleted entity comes back under its old id, and what it owned comes back with it. Secrets do not
come back: nothing kept them.
"""

from __future__ import annotations

from typing import Any

from sandbar.errors import Conflict, Incorrect, NotFound, Problem
from sandbar.model import core
from sandbar.model.checks import decode_slot
from sandbar.model.documents import read_doc
from sandbar.model.drafts import Draft, conflict_if_moved, core_is_immutable
from sandbar.model.moments import Moment, moment_t
from sandbar.model.naming import FINDERS, as_key
from sandbar.model.operations import Restore
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.store.plan import Transaction
from sandbar.store.rows import Row, State

Findings = list[tuple[Problem, str]]


def restores_metamodel(unit: Unit, op: Restore) -> bool:
    """Whether the entity is a class or a property; raises if there is nothing to restore."""
    return _state_of(unit, named_ever(unit, op.entity), op.to).cls in unit.schema.metaclasses


def restore_entity(unit: Unit, op: Restore, findings: Findings) -> Draft:
    """Give the entity back what it had; what today's schema refuses goes to the findings."""
    id = named_ever(unit, op.entity)
    if id < core.FIRST_FREE_ID:
        raise core_is_immutable(unit.schema.ident_of(id))
    living = unit.load(id)
    if living is not None:
        conflict_if_moved(living, op.expect, unit.tx.t)
        if op.to is None:
            raise Incorrect(
                "restore.living",
                f"entity {id} is there",
                hint="say with to (a t or an instant) which of its states to go back to",
            )
    state = _state_of(unit, id, op.to)
    draft = living or unit.begin_restore(_class_of(unit, state), id)
    _fill(unit, draft, state, findings)
    return draft


def named_ever(unit: Unit, given: Any) -> int:
    """The id of an entity that is there, or else was the last to have this name."""
    try:
        return unit.resolve(given)
    except NotFound:
        property, key = as_key(unit.schema, given, unit.resolve)
        _flush(unit.tx)
        former = unit.tx.hindsight().former(property.id, key)
        if former is None:
            raise
        return former


def _flush(tx: Transaction) -> None:
    """Let the database know what the batch has planned so far: it alone knows the past."""
    tx.require_alone()
    tx.flush()


def _state_of(unit: Unit, id: int, to: Moment | None) -> Row:
    """What is to be restored: the state at a moment, or the last one that there was."""
    draft = unit.drafts.get(id)
    if to is None and draft is not None and draft.before is not None:
        return draft.before  # this very unit has deleted it
    _flush(unit.tx)
    past, last_t = unit.tx.hindsight(), unit.tx.t - 1
    end = past.last_version(id)
    is_known = end is not None or past.entity_as_of(id, last_t) is not None
    if not is_known:
        raise unknown(id)
    if end is not None and end.is_purge:
        raise purged(id)
    if to is not None:
        t = moment_t(to, last_t, _Ledger(unit.tx))
    else:
        t = last_t if end is None or end.doc is not None else end.t - 1
    state = past.entity_as_of(id, t)
    if state is None:
        raise NotFound(
            "restore.not-there",
            f"there was no entity {id} at t={t}",
            hint="entity.history lists its states; leave to out for the last one",
        )
    return state


def unknown(id: int) -> NotFound:
    """The error for an id that nothing ever had."""
    return NotFound("entity.unknown", f"there never was an entity {id}", hint=FINDERS)


def purged(id: int) -> NotFound:
    """The error for an entity of which only a mark is left."""
    return NotFound(
        "entity.purged", f"entity {id} was purged: nothing of it was kept", hint="create it anew"
    )


class _Ledger:
    """Turns instants into transaction numbers."""

    def __init__(self, tx: Transaction) -> None:
        self.state = State(tx.t - 1, tx.generation, tx.epoch, tx.next_id, tx.instant_us)
        self.transaction_at = tx.hindsight().transaction_at


def _class_of(unit: Unit, state: Row) -> Class:
    if not unit.schema.has_class(state.cls):
        raise Conflict(
            "restore.no-class",
            f"the class of entity {state.id} is gone",
            hint=f"restore the class first: entity {state.cls}",
        )
    cls = unit.schema.class_by_id(state.cls)
    cls.require_concrete()
    return cls


def _fill(unit: Unit, draft: Draft, state: Row, findings: Findings) -> None:
    """Set every slot to what it was, and clear the others."""
    doc, cls = read_doc(state.doc), unit.class_of(draft)
    for key in doc:
        if key not in cls.by_key:
            slot = unit.schema.ident_of(int(key))
            problem = Conflict(
                "restore.no-slot",
                f"{cls.ident} no longer has this slot",
                hint="give the class the slot back, or create the entity anew",
            )
            findings.append((problem, slot))
    for property in cls.slots.values():
        if property.secret or property.inverse_of:
            continue
        try:
            unit.put(draft, property, _stored(unit, property, doc.get(property.key)))
        except Problem as problem:
            findings.append((problem, property.ident))
            continue
        if property.component:
            _restore_parts(unit, property, doc.get(property.key), findings)
    unit.touched.add(draft.id)


def _stored(unit: Unit, property: Property, was: Any) -> Any:
    """A value of then in the form of now: one that stood alone may have to be a list by now."""
    if was is None:
        return None
    if property.many and not isinstance(was, list):
        was = [was]
    elif not property.many and isinstance(was, list) and property.kind.indexable:
        if len(was) != 1:
            raise Incorrect("slot.single", "the slot now takes one value", hint="update it instead")
        was = was[0]
    return decode_slot(property, was, unit.resolve, unit.match)


def _restore_parts(unit: Unit, property: Property, stored: Any, findings: Findings) -> None:
    """What the entity owned ended with it."""
    ids = stored if isinstance(stored, list) else [] if stored is None else [stored]
    for id in ids:
        if unit.load(id) is not None:
            continue
        try:
            state = _state_of(unit, id, None)
            part = unit.begin_restore(_class_of(unit, state), id)
            _fill(unit, part, state, findings)
        except Problem as problem:
            findings.append((problem, property.ident))
