"""Restoring an entity: what it was once, as far as today's schema allows.

A deleted entity comes back under its old id, and what it owned comes back with it. A value of then
is read by the definition of then, and takes the form of now only where that of a living entity
would have. Secrets do not come back: nothing kept them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sandbar.errors import Conflict, Incorrect, NotFound, Problem
from sandbar.model import core
from sandbar.model.documents import Doc, read_doc
from sandbar.model.drafts import Draft, conflict_if_moved, core_is_immutable, ident_of
from sandbar.model.forms import arranged, require_fit
from sandbar.model.moments import Moment, moment_t
from sandbar.model.naming import FINDERS, as_keys
from sandbar.model.operations import Restore
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.store import Row, State, Transaction

Findings = list[tuple[Problem, str]]


class _Then(NamedTuple):
    """A state of the past, and when it held; None: until this very unit ended it."""

    row: Row
    t: int | None


def restores_metamodel(unit: Unit, op: Restore) -> bool:
    """Whether the entity is a class or a property; raises if there is nothing to restore."""
    return _state_of(unit, named_ever(unit, op.entity), op.to).row.cls in unit.schema.metaclasses


def restore_entity(unit: Unit, op: Restore, findings: Findings) -> Draft:
    """Give the entity back what it had; what today's schema refuses goes to the findings."""
    id = named_ever(unit, op.entity)
    if id < core.FIRST_FREE_ID:
        raise core_is_immutable(unit.schema.ident_of(id))
    living = unit.load(id)
    if living is not None:
        conflict_if_moved(living, op.expect, unit.tx.t)
        if op.to is None:
            name = ident_of(living)
            called = f", and is called {name}" if name not in (None, op.entity) else ""
            raise Incorrect(
                "restore.living",
                f"entity {id} is there{called}",
                hint="say with to (a t or an instant) which of its states to go back to",
            )
    then = _state_of(unit, id, op.to)
    draft = living or unit.begin_restore(_class_of(unit, then.row), id)
    _fill(unit, draft, then, findings)
    return draft


def named_ever(unit: Unit, given: Any) -> int:
    """The id of an entity that is there, or else was the last to have this name."""
    try:
        return unit.resolve(given)
    except NotFound:
        property, keys = as_keys(unit.schema, given, unit.resolve)
        _flush(unit.tx)
        past = unit.tx.hindsight()
        former = (id for key in keys if (id := past.former(property.id, key)) is not None)
        found = next(former, None)
        if found is None:
            raise
        return found


def _flush(tx: Transaction) -> None:
    """Let the database know what the batch has planned so far: it alone knows the past."""
    tx.require_alone()
    tx.flush()


def _state_of(unit: Unit, id: int, to: Moment | None) -> _Then:
    """What is to be restored: the state at a moment, or the last one that there was."""
    draft = unit.drafts.get(id)
    if to is None and draft is not None and draft.before is not None:
        return _Then(draft.before, None)
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
    return _Then(state, t)


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


def _fill(unit: Unit, draft: Draft, then: _Then, findings: Findings) -> None:
    """Set every slot to what it was, and clear the others."""
    doc, cls = read_doc(then.row.doc), unit.class_of(draft)
    slots = _slots_of(unit, then, doc)
    for key in doc:
        if key not in cls.by_key:
            slot = unit.schema.ident_of(int(key))
            problem = Conflict(
                "restore.no-slot",
                f"{cls.ident} no longer has this slot",
                hint="give the class the slot back, or create the entity anew",
            )
            findings.append((problem, slot))
    for key, property in cls.by_key.items():
        if key not in doc:
            unit.put(draft, property, None)
            continue
        was, values = slots[key], slots[key].values(doc[key])
        try:
            stored = arranged(values, property)
            require_fit(stored, property, unit.match)
        except Problem as problem:
            findings.append((problem, property.ident))
            continue
        unit.put(draft, property, stored)
        if was.is_ref and property.is_ref and (was.component or property.component):
            _restore_parts(unit, property, values, then.t, findings)
    unit.touched.add(draft.id)


def _slots_of(unit: Unit, then: _Then, doc: Doc) -> dict[str, Property]:
    """The slots of a document as they were defined when it held, by key."""
    now = unit.base_schema
    if then.t is None or now.basis(then.t) == now.t:
        schema = unit.stored_schema if then.t is None else now
        return {key: schema.property_by_id(int(key)) for key in doc}
    rows = unit.tx.hindsight().entities([int(key) for key in doc], then.t)
    return {str(row.id): now.property_of(row.id, read_doc(row.doc)) for row in rows}


def _restore_parts(
    unit: Unit, property: Property, ids: list[int], t: int | None, findings: Findings
) -> None:
    """What the entity owned ended with it, and comes back as it was at the same moment."""
    for id in ids:
        if unit.load(id) is not None:
            continue
        try:
            then = _state_of(unit, id, t)
            part = unit.begin_restore(_class_of(unit, then.row), id)
            _fill(unit, part, then, findings)
        except Problem as problem:
            findings.append((problem, property.ident))
