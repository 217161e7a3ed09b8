"""Checking drafts against the rules of their classes, with all that they refer to at hand."""

from __future__ import annotations

from collections.abc import Iterable

from sandbar.findings import Finding
from sandbar.model.checks import (
    check_required,
    check_validators,
    dangling,
    given_twice,
    not_unique,
    out_of_range,
)
from sandbar.model.documents import Doc
from sandbar.model.drafts import Draft
from sandbar.model.forms import set_aside
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.patience import check as check_patience
from sandbar.store import Pair

Takers = dict[Pair, list[int]]  # the first two who hold a key of a unique slot


def check_touched(unit: Unit) -> list[tuple[int, Finding]]:
    """Everything that is wrong with the drafts touched since the last check."""
    touched, unit.touched = unit.touched, set()
    return check_drafts(unit, touched)


def check_drafts(unit: Unit, ids: Iterable[int]) -> list[tuple[int, Finding]]:
    """Everything that is wrong with these drafts, each with the draft's id."""
    findings: list[tuple[int, Finding]] = []
    drafts, class_of_id = unit.drafts, unit.schema.class_of_id
    definitions = () if unit.guard is None else unit.schema.property_kinds
    takers: Takers = {}
    for id in sorted(ids):
        check_patience()
        draft = drafts[id]
        cls = class_of_id(draft.class_id)
        if draft.doc is not None and cls is not None:
            if draft.class_id in definitions:
                _admit_default(unit, draft)
            wrong = _check(unit, draft, cls, draft.doc, takers)
            if wrong:
                findings += [(id, found) for found in wrong]
        elif draft.doc is not None:
            unit.touched.add(id)  # to be checked as soon as its class is one again
    return findings


def _check(unit: Unit, draft: Draft, cls: Class, doc: Doc, takers: Takers) -> list[Finding]:
    findings: list[Finding] = []
    if not cls.required_keys <= doc.keys():
        findings += check_required(cls, lambda p: _has(unit, draft, p))
    for property in cls.unique_slots:
        key = property.key
        if key in doc and (draft.old is None or doc[key] != draft.old.get(key)):
            findings += _check_unique(unit, draft, property, takers)
    if not cls.ref_keys.isdisjoint(doc):
        for key in cls.ref_keys.intersection(doc):
            findings += _check_references(unit, draft, cls.by_key[key])
    if findings or not cls.validators or set_aside(draft, cls.ident):  # which is refused in the end
        return findings
    return check_validators(cls, doc)


def _has(unit: Unit, draft: Draft, property: Property) -> bool:
    if property.secret:
        return unit.tx.secret(draft.id, property.id) is not None
    if draft.misfits and property.key in draft.misfits:
        return True  # which is refused in the end, if it stays
    return draft.doc is not None and property.key in draft.doc


def _check_unique(unit: Unit, draft: Draft, property: Property, takers: Takers) -> list[Finding]:
    assert draft.doc is not None
    findings, stored = [], draft.doc[property.key]
    for value, key in zip(property.values(stored), property.index_keys(stored), strict=True):
        pair = (property.id, key)
        if pair not in takers:
            takers[pair] = unit.holders(property, key, 2)
        others = [id for id in takers[pair] if id != draft.id]
        if others:
            taker = others[0] if unit.shows(others[0]) else None
            is_new = unit.begins_here(others[0])  # it will not be there if this is refused
            findings.append(
                given_twice(property, value) if is_new else not_unique(property, value, taker)
            )
    return findings


def _check_references(unit: Unit, draft: Draft, property: Property) -> Iterable[Finding]:
    assert draft.doc is not None
    stored = draft.doc[property.key]
    was = None if draft.old is None else draft.old.get(property.key)
    values = property.values(stored)
    if was == stored and unit.drafts.keys().isdisjoint(values):
        return  # whoever deletes a target looks after its referrers, unless they are gone as well
    before = _referred_before(unit, draft, property)
    for id in values:
        if id in before and id not in unit.drafts:
            continue
        found = check_target(unit, property, id)
        if found is not None:
            yield found


def check_target(unit: Unit, property: Property, id: int) -> Finding | None:
    """What is wrong with a reference to this entity, if anything is."""
    class_id = unit.class_id_of(id)
    if class_id is None:
        return dangling(property, id)
    unit.admit_reference(property, class_id)
    if property.target is None:
        return None
    cls = unit.schema.class_by_id(class_id)
    if property.target in cls.lineage:
        return None
    target = unit.schema.ident_of(property.target)
    return out_of_range(property, id, cls.ident if unit.shows(id) else None, target)


def _admit_default(unit: Unit, draft: Draft) -> None:
    """A default refers to an entity as a slot does."""
    property = unit.schema.property_by_id(draft.id)
    for target in property.default_targets:
        class_id = unit.class_id_of(target) if type(target) is int else None
        if class_id is not None:
            unit.admit_reference(property, class_id)


def _referred_before(unit: Unit, draft: Draft, property: Property) -> frozenset[int]:
    """What a slot referred to, by the rules of then."""
    cls = unit.stored_schema.class_of_id(draft.class_id)
    was = None if cls is None else cls.by_key.get(property.key)
    if was is None or not was.is_ref or draft.old is None:
        return frozenset()
    return frozenset(was.values(draft.old.get(property.key)))
