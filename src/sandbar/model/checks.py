"""Checking what is given for a slot: decode, then compare with what the property demands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.findings import Finding, finding_of
from sandbar.model.expressions import binding
from sandbar.model.patterns import Pattern, SpentMatching
from sandbar.model.properties import Property
from sandbar.model.repairs import clearing
from sandbar.model.schema import Class
from sandbar.model.synonyms import slot_meant
from sandbar.model.values.refusals import suggestion, typed

VALUES_MAX = 10_000
_SET = "use attributes (in an operation of entity.transact: set)"
_WRONG_VALUES_TOLD = 10  # of one slot

Resolve = Callable[[Any, Property], int]  # turns whatever names an entity into its id
Match = Callable[[Pattern, str], bool]  # a transaction's refuses when all of them take too long

COUNTED_IN_CHARACTERS = {"db.type/string", "db.type/uri", "db.type/keyword", "db.type/symbol"}


def decode_slot(
    property: Property, given: Any, resolve: Resolve, match: Match = Pattern.matches
) -> Any:
    """The stored form of what was given for a slot; raises the first thing that is wrong."""
    if property.is_plain:
        return property.kind.decode(given)
    if not property.many:
        return _decode_one(property, given, resolve, match)
    items = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    if len(items) > VALUES_MAX:
        raise too_many_values()
    rest = iter(items)
    try:
        return distinct(property, [_decode_one(property, item, resolve, match) for item in rest])
    except SpentMatching:
        raise  # the others were not even looked at
    except Problem as first:
        others = list(_problems(property, rest, resolve, match))
        if not others:
            raise
        hint = first.late_hint or first.hint
        several = _SeveralWrong(first.code, first.message, hint=hint, data=first.data)
        several.problems = [first, *others]
        raise several from None


class _SeveralWrong(Incorrect):
    """More than one value of a slot is wrong; it reads like the first of them."""

    problems: list[Problem]


def problems_of(problem: Problem) -> list[Problem]:
    """Each thing that is wrong, if a slot had several values."""
    return problem.problems if isinstance(problem, _SeveralWrong) else [problem]


def _problems(
    property: Property, rest: Iterator[Any], resolve: Resolve, match: Match
) -> Iterator[Problem]:
    """What is wrong with the other values: enough of it to see what they have in common."""
    told = 1
    for item in rest:
        if told == _WRONG_VALUES_TOLD:
            return
        try:
            _decode_one(property, item, resolve, match)
        except Problem as problem:
            told += 1
            yield problem


def too_many_values() -> Incorrect:
    """The refusal of a slot that grows too large."""
    return Incorrect(
        "slot.too-many-values",
        f"a slot holds at most {VALUES_MAX} values",
        hint="make them entities that refer to this one",
    )


def takes_one() -> Incorrect:
    """The refusal to add values to a slot that takes one."""
    return Incorrect("slot.single", "only a many-valued slot can be added to", hint=_SET)


def derived(forward: str) -> Incorrect:
    """The refusal to write a slot that is computed from `forward`."""
    return Incorrect(
        "slot.derived", "this slot is computed", hint=f"set {forward} on the other entity"
    )


def unknown_slot(cls: Class, name: str, given: Any = None) -> Incorrect:
    """The refusal of a slot that the class does not have."""
    call, meant = f"class.slots {cls.ident} lists its slots", slot_meant(cls.kinds, name, given)
    return Incorrect(
        "slot.unknown",
        f"{cls.ident} has no slot {name[:80]}",
        hint=suggestion(name, cls.slots, call, meant),
    )


def slot_in_change(cls: Class, was: Property) -> Incorrect:
    """The refusal of a slot that another operation of the transaction takes away or renames."""
    now = cls.by_key.get(was.key)
    if now is not None:
        message, hint = f"renames {was.ident}", f"use {now.ident}, which it is called then"
    else:
        message = f"takes {was.ident} from {cls.ident}"
        hint = f"to clear its values give {clearing(cls.ident, was.ident)} in place of this"
    return Incorrect("slot.unknown", f"another operation {message}", hint=hint)


def fixed_class(cls: Class) -> Incorrect:
    """The refusal to make an entity one of another class."""
    return Incorrect(
        "slot.immutable",
        f"the class is {cls.ident} and cannot be changed",
        hint="create an entity of the other class",
    )


def contradicted(what: str) -> Incorrect:
    """The refusal to make something while another operation of the transaction ends it."""
    return Incorrect(
        "operations.contradict",
        f"another operation deletes {what}",
        hint="leave one of the two out",
    )


def ident_taken(ident: str | None, other: Class) -> Conflict:
    """The refusal to make an entity of a name that one of another class has."""
    return Conflict(
        "ident.taken",
        f"{ident} exists already, as a {other.ident}",
        hint="choose another db/ident; or, if that one is meant, entity.update changes it",
    )


def refuse_twice(property: Property, slots: dict[str, Any]) -> None:
    """A slot that was named with a colon must not be named without one, too."""
    if property.ident in slots:
        raise Incorrect(
            "slot.twice",
            f"{property.ident} is named twice, with and without a colon",
            hint="give it once",
        )


def given_twice(property: Property, value: Any) -> Finding:
    """The finding about a value that two entities are to have, one of which is not there yet."""
    return Finding(
        code="slot.not-unique",
        message=f"{str(value)[:80]!r} is given to two entities",
        slot=property.ident,
        hint="choose another value for one of them",
    )


def not_unique(property: Property, value: Any, taker: int | None) -> Finding:
    """The finding about a value that another entity has; which one, if that may be told."""
    named = None if taker is None else f"entity {taker}"
    return Finding(
        code="slot.not-unique",
        message=f"{str(value)[:80]!r} is taken" + (f" by {named}" if named else ""),
        slot=property.ident,
        hint="choose another value" + (f", or update {named}" if named else ""),
    )


def dangling(property: Property, id: int) -> Finding:
    """The finding about a reference to nothing."""
    return Finding(
        code="reference.dangling",
        message=f"there is no entity {id}",
        slot=property.ident,
        hint="entity.create makes one, also in the same entity.transact; "
        "entity.restore brings back one that was deleted",
    )


def out_of_range(property: Property, id: int, kind: str | None, target: str) -> Finding:
    """The finding about a reference to what is of another class; which one, if it may be told."""
    return Finding(
        code="reference.range",
        message=f"entity {id} is " + (f"a {kind}, not a {target}" if kind else f"no {target}"),
        slot=property.ident,
        hint=f"refer to a {target}: entity.query {typed({'class': target})} lists them",
    )


def distinct(property: Property, values: list[Any]) -> list[Any]:
    """The values without repetition, in the order in which they came."""
    found: dict[bytes, Any] = {}
    for value in values:
        found.setdefault(property.value_key(value), value)
    return list(found.values())


def _decode_one(property: Property, given: Any, resolve: Resolve, match: Match) -> Any:
    if property.is_ref:
        return resolve(given, property)
    try:
        stored = property.kind.decode(given)
    except Incorrect as problem:
        if not property.one_of:
            raise
        hint = f"use {_allowed(property)}"
        raise Incorrect(problem.code, problem.message, hint=hint) from None
    if property.one_of and property.value_key(stored) not in property.allowed_keys:
        raise Incorrect(
            "value.not-allowed",
            f"{str(stored)[:80]!r} is not one of the values",
            hint=f"use {_allowed(property)}",
        )
    if property.pattern is not None and not match(property.pattern, str(stored)):
        raise Incorrect(
            "value.pattern",
            f"{str(stored)[:80]!r} does not match the pattern",
            hint=f"it must match {property.pattern_text}",
        )
    if property.has_bounds:
        _check_bounds(property, stored)
    return stored


def _allowed(property: Property) -> str:
    return ", ".join(str(value) for value in property.one_of[:12])


def _check_bounds(property: Property, stored: Any) -> None:
    low, high = property.minimum, property.maximum
    if property.kind.ident in COUNTED_IN_CHARACTERS:
        size, what = len(stored), " characters"
        too_low = low is not None and size < low
        too_high = high is not None and size > high
    else:
        kind, what = property.kind, ""
        key = kind.order_key(stored)
        too_low = low is not None and key < kind.order_key(kind.decode(low))
        too_high = high is not None and key > kind.order_key(kind.decode(high))
    if too_low or too_high:
        bounds = " and ".join(
            f"{word} {bound}{what}"
            for word, bound in (("at least", low), ("at most", high))
            if bound is not None
        )
        raise Incorrect(
            "value.out-of-bounds", f"{str(stored)[:80]!r} is out of bounds", hint=bounds
        )


def check_required(cls: Class, has: Callable[[Property], bool]) -> list[Finding]:
    """A finding for each required slot that is missing."""
    return [
        Finding(
            code="slot.required",
            message=f"Missing required slot {property.ident}",
            slot=property.ident,
            hint=f"give a {property.kind.ident.partition('/')[2]} for {property.ident}",
        )
        for property in cls.required_slots
        if not has(property)
    ]


def check_validators(cls: Class, doc: dict[str, Any]) -> list[Finding]:
    """A finding for each validator of the class or its ancestors that does not hold."""
    if not cls.validators:
        return []
    this = {
        property.ident: [binding(property.kind.ident, value) for value in property.values(stored)]
        if property.many
        else binding(property.kind.ident, stored)
        for key, stored in doc.items()
        if (property := cls.by_key.get(key)) is not None
    }
    findings = []
    for owner, expression in cls.validators:
        try:
            if not expression.holds({"this": this}):
                findings.append(
                    Finding(
                        code="class.validator",
                        message=f"the validator of {owner} does not hold",
                        hint=f"it demands: {expression.text}",
                    )
                )
        except Problem as problem:
            findings.append(finding_of(problem))
    return findings
