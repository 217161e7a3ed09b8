"""The `migrate` operation: renames, clears and fills slots in every instance of a class.

What it is to do is checked once, before any instance is looked at: values go through the same door
as those of a create. No value is lost without a word: a slot that holds another one is not
overwritten, and what does not fit is reported with the entity that has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.findings import Finding, data_of, finding_of
from sandbar.model.checks import derived
from sandbar.model.documents import exact, read_doc
from sandbar.model.drafts import Draft
from sandbar.model.forms import SHOWN_MAX, drop, held
from sandbar.model.impact import instances, too_many
from sandbar.model.operations import OPERATIONS_MAX, Migrate
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.store import Row


class _Steps(NamedTuple):
    """What happens to each instance."""

    moves: list[tuple[Property, Property]]  # from a slot as it was to one as it is now
    clear: list[Property]
    secrets: list[Property]  # those of `clear` whose values are in no document
    fill: list[tuple[Property, Any]]


def migrate_instances(unit: Unit, op: Migrate) -> int:
    """Rename, clear and fill slots in every instance of a class and its subclasses."""
    root = unit.schema.class_named(op.class_)
    if not unit.schema.metaclasses.isdisjoint(unit.schema.descendants(root.id)):
        raise Incorrect(
            "migrate.metamodel",
            f"{root.ident} has classes or properties among its instances",
            hint="change definitions one by one, with update",
        )
    steps = _steps(unit, root, op)
    broken = 0
    report: list[dict[str, Any]] = []
    ids = _concerned(unit, steps, root)
    for id in ids:
        draft = unit.load(id)
        findings = [] if draft is None else _migrate_one(unit, steps, draft)
        broken += bool(findings)
        if findings and len(report) < SHOWN_MAX:
            report.append({"entity-id": id, "findings": data_of(findings)})
    if broken:
        raise _unfit(broken, report)
    return len(ids)


def _concerned(unit: Unit, steps: _Steps, root: Class) -> list[int]:
    """Whom the steps change. All are found before any is changed: a scan writes what there is."""
    ids: list[int] = []
    looked_up = 0
    for class_id in unit.schema.descendants(root.id):
        cls = unit.schema.class_by_id(class_id)
        for at, row in enumerate(instances(unit, cls)):
            if at == 0 and unit.guard is not None:
                unit.guard.admit(cls.kinds)  # who may not change them learns nothing of their slots
            looked_up += bool(steps.secrets)  # each on a way of its own
            if _changes(unit, steps, row):
                ids.append(row.id)
            if max(len(ids), looked_up) > OPERATIONS_MAX:
                raise too_many("repair them in several transactions first")
    return ids


def _changes(unit: Unit, steps: _Steps, row: Row) -> bool:
    """Whether there is anything to take out or to put in."""
    draft, stored = unit.drafts.get(row.id), read_doc(row.doc)
    doc = stored if draft is None else draft.doc
    if doc is None:
        return False
    taken = (*(was for was, _ in steps.moves), *steps.clear)
    return (
        any(was.key in stored or was.key in doc for was in taken)
        or any(property.key not in doc for property, _ in steps.fill)
        or any(unit.tx.secret(row.id, secret.id) is not None for secret in steps.secrets)
    )


def _steps(unit: Unit, root: Class, op: Migrate) -> _Steps:
    known = unit.base_schema.property_named
    moves = [(known(old), _open_slot(unit, root, new)) for old, new in op.rename.items()]
    for was, _ in moves:
        if was.secret:
            raise _is_secret(was, "renamed")
    clear = [known(name) for name in op.clear]
    secrets = [slot for was in clear for slot in (was, _by_now(unit, was)) if slot.secret]
    fill = [(_open_slot(unit, root, name), given) for name, given in op.fill.items()]
    return _Steps(moves, clear, secrets, fill)


def _by_now(unit: Unit, was: Property) -> Property:
    return unit.schema.property_by_id(was.id) if was.id in unit.schema.docs else was


def _open_slot(unit: Unit, root: Class, name: str) -> Property:
    """The slot of that name, if the same value may go into many entities there."""
    property = unit.slot_of(root, name)
    if property.inverse_of:
        raise derived(unit.schema.ident_of(property.inverse_of))
    if property.secret:
        raise _is_secret(property, "filled")
    return property


def _is_secret(property: Property, done: str) -> Incorrect:
    return Incorrect(
        "slot.secret",
        f"{property.ident} is secret and cannot be {done}",
        hint="update each entity",
    )


def _migrate_one(unit: Unit, steps: _Steps, draft: Draft) -> list[Finding]:
    """Take out all old values, then put in what is new; returns what does not fit."""
    assert draft.doc is not None
    unit.touched.add(draft.id)
    by_key = unit.class_of(draft).by_key
    moved = [(now, held(draft, was.key, by_key.get(was.key))) for was, now in steps.moves]
    for gone in (*(was for was, _ in steps.moves), *steps.clear):
        drop(draft, gone.key)
    for secret in steps.secrets:
        if unit.tx.secret(draft.id, secret.id) is not None:
            unit.decode(draft, secret, None)
    findings = _put_moved(unit, draft, moved)
    for property, given in steps.fill:
        if not held(draft, property.key, property):
            unit.put(draft, property, unit.decode(draft, property, given))
    return findings


def _put_moved(unit: Unit, draft: Draft, moved: list[tuple[Property, list[Any]]]) -> list[Finding]:
    findings = []
    here = {now.key: held(draft, now.key, now) for now, _ in moved}
    for property, values in moved:
        if not values:
            continue
        try:
            stored = unit.decode(draft, property, _given(property, values))
        except Problem as problem:
            findings.append(finding_of(problem, slot=property.ident))
            continue
        fresh = property.values(stored)
        if here[property.key] and exact(here[property.key]) != exact(fresh):
            findings.append(_occupied(property))
            continue
        here[property.key] = fresh
        unit.put(draft, property, stored)
    return findings


def _given(property: Property, values: list[Any]) -> Any:
    if property.many:
        return values
    if len(values) > 1:  # json and tuple would take them for one
        raise Incorrect(
            "slot.single",
            "there are several values, but the slot takes one",
            hint="leave one of them first, or let the slot take many",
        )
    return values[0]


def _occupied(property: Property) -> Finding:
    return Finding(
        code="slot.occupied",
        message="the slot holds another value already",
        slot=property.ident,
        hint=f"clear {property.ident} in the same migrate, or rename it too",
    )


def _unfit(broken: int, report: list[dict[str, Any]]) -> Conflict:
    first = report[0]["findings"][0]
    found = f"entity {report[0]['entity-id']}: {first['slot']}: {first['message']}"
    more = f" (and {broken - 1} more)" if broken > 1 else ""
    return Conflict(
        "migrate.unfit",
        f"{found}{more}",
        hint=first.get("hint") or "repair these entities first",
        data={"broken": broken, "entities": report},
    )
