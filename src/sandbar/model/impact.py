"""What a change of the metamodel means for the entities that exist already.

The change is refused, with a report, if any instance would no longer be valid once the whole
transaction has run; so the same transaction may carry the repair (a `migrate` operation). Index
rows follow the new rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.findings import Finding, data_of, finding_of
from sandbar.model import core
from sandbar.model.affected import Affected, affected_by, classes_left, concerned, turned_slots
from sandbar.model.checking import check_target
from sandbar.model.checks import check_required, check_validators
from sandbar.model.defaults import strayed_defaults
from sandbar.model.documents import Doc, read_doc
from sandbar.model.forms import (
    SHOWN_MAX,
    changed_forms,
    refuse_unformed,
    removed,
    require_fit,
    unformed,
    would_break,
)
from sandbar.model.lost_secrets import forget_lost_secrets
from sandbar.model.operations import OPERATIONS_MAX
from sandbar.model.patterns import SpentMatching
from sandbar.model.properties import Property
from sandbar.model.repairs import filling
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.model.words import entity_words
from sandbar.patience import check as check_patience
from sandbar.store import Equals, Position, Row, Scan

PAGE = 1000


class Checked(NamedTuple):
    """Classes whose instances up to `t` are known to satisfy the new rules."""

    generation: int
    t: int
    classes: frozenset[int]


NOTHING_CHECKED = Checked(0, 0, frozenset())


def conclude(
    unit: Unit, checked: Checked = NOTHING_CHECKED, *, is_kept: bool = True
) -> frozenset[int]:
    """Hand the unit's changes over; a changed metamodel is checked against all data first.

    The index follows only if anything of this is kept. Answers which classes were checked.
    """
    if unit.schema is unit.base_schema:
        if is_kept:
            unit.finish()
        return frozenset()
    unit.ask_guard()  # first: the rest tells of what exists
    _refuse_demotion(unit)
    _bring_up_to_date(unit, is_indexed=is_kept)
    known = checked.classes if checked.generation == unit.base_schema.generation else frozenset()
    since = unit.tx.changed_since(checked.t) if known else []

    def to_check(item: Affected) -> Iterable[Row]:
        if item.cls.id not in known:
            return instances(unit, item.cls)
        return [row for row in unit.tx.entities(since) if row.cls == item.cls.id]

    affected = affected_by(unit)
    report_on(unit, affected, to_check)
    return frozenset(item.cls.id for item in affected)


def settle(unit: Unit) -> None:
    """Write what there is so far, so that an index walk sees it, and begin anew.

    Whether everything is valid is asked at the end only: the rest may repair it.
    """
    if unit.touched:  # written while their class is none: nobody can say whether they are valid
        shown = [{"entity-id": id} for id in sorted(unit.touched)[:SHOWN_MAX]]
        raise would_break(len(unit.touched), shown)
    for item in _bring_up_to_date(unit):
        _refuse_unformed_rows(unit, item)
    unit.begin_anew()


def _refuse_unformed_rows(unit: Unit, item: Affected) -> None:
    """Nobody can read what has no form by the rules of now."""
    forms = changed_forms(unit.stored_schema.class_of_id(item.cls.id), item.cls)
    report = [
        {"entity-id": row.id, "findings": data_of(found)}
        for row in (instances(unit, item.cls) if forms else ())
        if (found := unformed(read_doc(row.doc), forms, item.cls.ident))
    ]
    if report:
        raise would_break(len(report), report)


def _bring_up_to_date(unit: Unit, *, is_indexed: bool = True) -> list[Affected]:
    """Hand the changes over, and let all other instances follow the rules in form and index."""
    is_same = unit.stored_schema is unit.schema
    stale = [] if is_same else list(concerned(unit.stored_schema, unit.schema))
    for item in stale:
        _rewrap(unit, item)
    _refuse_misfits(unit, stale)
    written = {draft.id for draft in unit.finish()}
    if is_indexed:
        _index(unit, stale, written)
    return stale


def _index(unit: Unit, stale: list[Affected], written: set[int]) -> None:
    """Let the index, and the hashes of secrets, follow the rules of those classes."""
    ended: dict[int, list[int]] = {}
    for draft in unit.drafts.values() if stale else ():
        if draft.doc is None:
            ended.setdefault(draft.class_id, []).append(draft.id)
    for item in stale:
        forget_lost_secrets(unit, item.cls, ended.get(item.cls.id, ()), instances)
        for row in instances(unit, item.cls) if item.reindex else ():
            if row.id not in written:
                _reindex(unit, item, row)


def _refuse_demotion(unit: Unit) -> None:
    """Classes and properties would no longer be any if the class that makes them so were lost."""
    lost = unit.base_schema.metaclasses - unit.schema.metaclasses
    orphans = sorted(id for id, (cls, _) in unit.schema.docs.items() if cls in lost)
    shown = [{"entity-id": id} for id in orphans[:SHOWN_MAX]]
    if orphans:
        raise Conflict(
            "schema.would-break",
            f"{len(orphans)} classes or properties would no longer be any",
            hint="delete them first",
            data={"broken": len(orphans), "entities": shown},
        )


def report_on(
    unit: Unit, affected: list[Affected], to_check: Callable[[Affected], Iterable[Row]]
) -> None:
    """Check the instances; raises a report of what would break."""
    _refuse_misnamed(affected)
    report: list[dict[str, Any]] = []
    broken = 0
    for item in affected:
        for row in to_check(item):
            check_patience()
            findings = _findings(unit, item, row, read_doc(row.doc))
            broken += bool(findings)
            if findings:
                _tell(unit, report, row.id, findings)
    broken += _check_new_uniques(unit, affected, report)
    broken += _check_defaults(unit, report)
    if broken:
        raise would_break(broken, report)


def _tell(unit: Unit, report: list[dict[str, Any]], id: int, findings: list[Finding]) -> None:
    """Report an instance, if there is room and the caller may be told of it."""
    if len(report) < SHOWN_MAX and unit.shows(id):
        report.append({"entity-id": id, "findings": data_of(findings)})


def _refuse_misnamed(affected: list[Affected]) -> None:
    """What classes say of slots that have another name must be changed, too."""
    liars = [item for item in affected if item.misnamed]
    if liars:
        first = liars[0].misnamed[0]
        shown = [
            {"entity-id": item.cls.id, "findings": data_of(item.misnamed)}
            for item in liars[:SHOWN_MAX]
        ]
        raise Conflict(
            "schema.would-break",
            first.message,
            hint=first.hint,
            data={"broken": len(liars), "entities": shown},
        )


def instances(unit: Unit, cls: Class) -> Iterator[Row]:
    """Every direct instance, as the transaction has left it so far."""
    after: Position | None = None
    while True:
        drive = Equals(core.TYPE, (cls.type_key,))
        page = unit.tx.scan(Scan(drive, PAGE, after=after))
        for found in page:
            yield Row(found.id, found.cls, found.t, found.doc)
        if len(page) < PAGE:
            return
        after = Position(page[-1].key, page[-1].id)


def too_many(hint: str) -> Incorrect:
    """The refusal to change more instances than one transaction may."""
    return Incorrect(
        "migrate.too-many", f"more than {OPERATIONS_MAX} instances would change", hint=hint
    )


def _rewrap(unit: Unit, item: Affected) -> None:
    """Whatever holds a slot that now takes many values, or only one, is written anew."""
    turned = {property.key for property in turned_slots(unit.stored_schema, item)}
    rows = instances(unit, item.cls) if turned else iter(())
    holders = (row.id for row in rows if not turned.isdisjoint(read_doc(row.doc)))
    for count, id in enumerate(holders, 1):
        if count > OPERATIONS_MAX:
            raise too_many("make another property, and move the values in several transactions")
        unit.load(id)


def _refuse_misfits(unit: Unit, stale: list[Affected]) -> None:
    """What was written by rules that have changed since has no place in the index."""
    refuse_unformed(unit.drafts.values(), unit.schema)
    slots = {item.cls.id: turned for item in stale if (turned := _turned_or_other(unit, item))}
    report: list[dict[str, Any]] = []
    for draft in unit.drafts.values() if slots else ():
        turned = slots.get(draft.class_id, []) if draft.doc is not None else []
        if misfits := _misfits(unit, turned, draft.doc or {}):
            report.append({"entity-id": draft.id, "findings": data_of(misfits)})
    if report:
        raise would_break(len(report), report)


def _turned_or_other(unit: Unit, item: Affected) -> list[Property]:
    """The slots whose cardinality or kind has changed."""
    turned = turned_slots(unit.stored_schema, item)
    other = [now for was, now in item.reindex if was.kind is not now.kind]
    return list(dict.fromkeys(turned + other))


def _misfits(unit: Unit, slots: list[Property], doc: Doc) -> list[Finding]:
    return [found for p in slots if p.key in doc for found in _recheck(unit, p, doc[p.key])]


def _findings(unit: Unit, item: Affected, row: Row, doc: Doc) -> list[Finding]:
    cls = item.cls
    findings = [removed(cls.ident, p) for p in item.removed if p.key in doc]
    for property in item.recheck:
        if property.key in doc:
            findings += _recheck(unit, property, doc[property.key])
    if item.whole:
        if cls.abstract:
            findings.append(Finding(code="class.abstract", message=f"{cls.ident} is abstract now"))
        findings += _lacking(unit, cls, row.id, doc)
        findings += check_validators(cls, doc)
    return findings


def _lacking(unit: Unit, cls: Class, id: int, doc: Doc) -> list[Finding]:
    """The required slots that an instance lacks, each with what gives it to all of them."""

    def has(property: Property) -> bool:
        return (
            unit.tx.secret(id, property.id) is not None
            if property.secret
            else (property.key in doc)
        )

    lacking = check_required(cls, has)
    fills = ((one, filling(cls.ident, cls.slots[str(one.slot)])) for one in lacking)
    return [
        msgspec.structs.replace(one, hint=f"{fill} gives one to all") if fill else one
        for one, fill in fills
    ]


def _recheck(unit: Unit, property: Property, stored: Any) -> list[Finding]:
    try:
        require_fit(stored, property, unit.match)
    except SpentMatching:
        raise  # says nothing of the value
    except Problem as problem:
        return [finding_of(problem, slot=property.ident)]
    targets = property.values(stored) if property.is_ref else ()
    return [found for id in targets if (found := check_target(unit, property, id)) is not None]


def _reindex(unit: Unit, item: Affected, row: Row) -> None:
    doc = read_doc(row.doc)
    if _misfits(unit, _turned_or_other(unit, item), doc):
        return  # what has no place in the new index; the report will refuse the change
    if any(was.is_text != now.is_text for was, now in item.reindex):
        unit.tx.index_words(row.id, entity_words(item.cls, doc))
    for was, now in item.reindex:
        stored = doc.get(now.key)
        if stored is None:
            continue
        ended = dict.fromkeys(was.index_keys(stored)) if was.indexed else {}
        begun = dict.fromkeys(now.index_keys(stored)) if now.indexed else {}
        unit.tx.reindex(
            row.id,
            [(now.id, key) for key in begun if key not in ended],
            [(was.id, key) for key in ended if key not in begun],
        )


def _check_new_uniques(unit: Unit, affected: list[Affected], report: list[dict[str, Any]]) -> int:
    broken = 0
    fresh = {p.key: p for item in affected for p in item.recheck if p.unique and p.indexed}
    fresh = {key: p for key, p in fresh.items() if _is_newly_unique(unit, p)}
    holders: dict[tuple[str, bytes], int] = {}
    for item in affected:
        has_any = not fresh.keys().isdisjoint(item.cls.by_key)
        for row in instances(unit, item.cls) if has_any else ():
            doc = read_doc(row.doc)
            for property in [fresh[slot] for slot in doc if slot in fresh]:
                for key in _new_keys(unit, property, doc):
                    first = holders.setdefault((property.key, key), row.id)
                    if first == row.id:
                        continue
                    broken += 1
                    other = f"entity {first}" if unit.shows(first) else "another entity"
                    message = f"shares its value with {other}"
                    found = Finding(code="slot.not-unique", message=message, slot=property.ident)
                    _tell(unit, report, row.id, [found])
    return broken


def _is_newly_unique(unit: Unit, property: Property) -> bool:
    """Whether it holds of a slot only now: else whoever holds a value was checked in writing it."""
    known = (old for old in unit.earlier if property.id in old.docs)
    before = (old.property_by_id(property.id) for old in known)
    return not all(was.unique and was.kind is property.kind for was in before)


def _check_defaults(unit: Unit, report: list[dict[str, Any]]) -> int:
    """What a default refers to must stay in the range, as what an instance refers to."""
    if not unit.schema.referring_defaults:
        return 0
    strayed = strayed_defaults(unit, classes_left(unit))
    for id, found in strayed[: max(SHOWN_MAX - len(report), 0)]:
        report.append({"entity-id": id, "findings": data_of([found])})
    return len(strayed)


def _new_keys(unit: Unit, property: Property, doc: Doc) -> list[bytes]:
    """The keys of a slot by its new rules; values that break those have none."""
    if property.key not in doc or _recheck(unit, property, doc[property.key]):
        return []
    return property.index_keys(doc[property.key])
