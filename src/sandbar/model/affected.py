"""Which classes a change of the metamodel concerns, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sandbar.findings import Finding
from sandbar.model import core
from sandbar.model.mentions import misnamed, validators_see_otherwise
from sandbar.model.properties import Property
from sandbar.model.schema import Class, Schema
from sandbar.model.unit import Unit


class Affected(NamedTuple):
    """A class whose instances must be looked at again, and why."""

    cls: Class
    recheck: list[Property]  # slots whose rules have changed
    removed: list[Property]  # slots that the class no longer has
    reindex: list[tuple[Property, Property]]  # the same slot before and after
    whole: bool  # required slots, abstractness, validators or what they see have changed
    misnamed: list[Finding]  # what the class itself still says of slots by their old names


def affected_by(unit: Unit) -> list[Affected]:
    """The classes whose instances may break by what the unit does to the metamodel."""
    found: dict[int, Affected] = {}
    for old in unit.earlier:
        for item in concerned(old, unit.schema):
            known = found.get(item.cls.id)
            found[item.cls.id] = item if known is None else _joined(known, item)
    return list(found.values())


def classes_left(unit: Unit) -> set[int]:
    """The classes that some other class no longer descends from, by what the unit does."""
    schemas = ((old, unit.schema) for old in unit.earlier)
    return {id for pair in schemas for id in _left(*pair, _kept_and_touched(*pair))}


def _joined(one: Affected, other: Affected) -> Affected:
    """Both reasons to look at the instances of a class."""
    recheck = list(dict.fromkeys(one.recheck + other.recheck))
    gone = {p.id for p in one.removed}
    removed = one.removed + [p for p in other.removed if p.id not in gone]
    misnamed = list(dict.fromkeys(one.misnamed + other.misnamed))
    return Affected(one.cls, recheck, removed, one.reindex, one.whole or other.whole, misnamed)


def concerned(old: Schema, new: Schema) -> Iterator[Affected]:
    """The classes whose instances may break by a change of one schema into another."""
    touched = _kept_and_touched(old, new)
    left = _left(old, new, touched)
    for id in old.class_ids if left else sorted(touched):
        if not new.has_class(id):
            continue
        before, after = old.class_by_id(id), new.class_by_id(id)
        narrowed = [p for p in after.slots.values() if p.target in left]
        if id not in touched and not narrowed:
            continue
        item = compare(before, after)
        known = set(item.recheck)
        item.recheck.extend(p for p in narrowed if p not in known)
        if any(item[1:]):
            yield item


def _kept_and_touched(old: Schema, new: Schema) -> set[int]:
    """The classes that stay and of which something has changed."""
    changed = {id for id in new.docs if old.docs.get(id) != new.docs[id]} | (
        old.docs.keys() - new.docs.keys()
    )
    touched = _touched(old, changed) | _touched(new, changed)
    return {id for id in touched if old.has_class(id) and new.has_class(id)}


def _touched(schema: Schema, changed: set[int]) -> set[int]:
    """The classes of which something has changed: they themselves, one above them, or a slot."""
    slots = str(core.SLOTS)
    holders = {
        id for id, (_, doc) in schema.docs.items() if not changed.isdisjoint(doc.get(slots) or ())
    }
    return schema.at_or_below(holders | changed)


def _left(old: Schema, new: Schema, touched: set[int]) -> set[int]:
    """The classes that some other class no longer descends from: references to it may be wrong."""
    lost: set[int] = set()
    for id in touched:
        lost |= old.class_by_id(id).lineage - new.class_by_id(id).lineage
    return lost


def compare(before: Class, after: Class) -> Affected:
    """What has changed for the instances of a class."""
    recheck, reindex = [], []
    for key, property in after.by_key.items():
        was = before.by_key.get(key)
        if was is None or was is property:
            continue
        if was.rules != property.rules:
            recheck.append(property)
        if was.indexed != property.indexed or was.kind is not property.kind:
            reindex.append((was, property))
    removed = [p for key, p in before.by_key.items() if key not in after.by_key]
    stricter = set(recheck)
    whole = (
        (after.abstract and not before.abstract)
        or any(p.key not in before.by_key or p in stricter for p in after.required_slots)
        or [text for _, text in after.validator_texts] != [t for _, t in before.validator_texts]
        or validators_see_otherwise(before, after)
    )
    return Affected(after, recheck, removed, reindex, whole, misnamed(before, after))


def turned_slots(before: Schema, item: Affected) -> list[Property]:
    """The slots whose cardinality has changed."""
    known = [p for p in item.recheck if p.id in before.docs]
    return [p for p in known if before.property_by_id(p.id).many != p.many]
