"""In which form a document holds its values while a transaction changes the metamodel.

The document of a draft always has the form that the metamodel of the moment asks for: a slot that
takes many values by now holds a list. What has no such form is set aside: its slot is gone, or of
another type, or takes one value where there are several. Operations may replace or clear it; if
none does, the transaction is refused.

What comes back from the past takes the form of now in the same way (`arranged`, `require_fit`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.findings import Finding, data_of, finding_of
from sandbar.model.checks import Match, decode_slot
from sandbar.model.documents import Doc, exact
from sandbar.model.drafts import Draft, Misfit
from sandbar.model.properties import Property
from sandbar.model.repairs import clearing
from sandbar.model.schema import Class, Schema

SHOWN_MAX = 20
_REPAIRS_TOLD = 3

Forms = dict[str, tuple[Property, Property | None]]  # slots of another form: before and now


def changed_forms(before: Class | None, after: Class | None) -> Forms:
    """The slots of a class that now hold their values otherwise, or not at all."""
    if before is None or after is None or before is after:
        return {}
    pairs = ((key, was, after.by_key.get(key)) for key, was in before.by_key.items())
    return {key: (was, now) for key, was, now in pairs if _differs(was, now)}


def _differs(was: Property, now: Property | None) -> bool:
    if now is None:
        return True
    turned = was.many is not now.many or was.kind is not now.kind
    return turned or was.secret is not now.secret or was.inverse_of != now.inverse_of


def reform(draft: Draft, forms: Forms) -> None:
    """Give the document its new form; what has none is set aside, or comes back from there."""
    doc = draft.doc
    if doc is None:
        return
    misfits = dict(draft.misfits or {})
    for key, (was, now) in forms.items():
        aside = misfits.pop(key, None)
        if key in doc:
            aside = Misfit(doc.pop(key), was, now)
        if aside is None:
            continue
        values = aside.was.values(aside.stored)
        if now is None or _unfit(values, now):
            misfits[key] = aside._replace(now=now)
        else:
            doc[key] = arranged(values, now)
    draft.misfits = misfits or None


def unformed(doc: Doc, forms: Forms, cls: str) -> list[Finding]:
    """What a stored document of a class holds that has no form by now."""
    held = (
        (now, (now or was).values(doc[key]), was) for key, (was, now) in forms.items() if key in doc
    )
    return [found for now, values, was in held if (found := _why(values, was, now, cls))]


def set_aside(draft: Draft, cls: str) -> list[Finding]:
    """What is still set aside of a draft that lives: nobody has replaced or cleared it."""
    doc = draft.doc
    if not draft.misfits or doc is None:
        return []
    rest = (misfit for key, misfit in draft.misfits.items() if key not in doc)
    held = ((was.values(stored), was, now) for stored, was, now in rest)
    return [found for one in held if (found := _why(*one, cls))]


def _why(values: list[Any], was: Property, now: Property | None, cls: str) -> Finding | None:
    return removed(cls, was) if now is None else _unfit(values, now)


def removed(cls: str, slot: Property) -> Finding:
    """The finding about a value whose slot is gone."""
    return Finding(
        code="slot.removed",
        message="the class no longer has this slot",
        slot=slot.ident,
        hint=f"{clearing(cls, slot.ident)} clears it",
    )


def _unfit(values: list[Any], now: Property) -> Finding | None:
    """Why the slot could not hold these values, whatever else it demands of them."""
    try:
        arranged(values, now)
        for value in values:
            _require_form(now.kind.decode(value), value)
    except Problem as problem:
        return finding_of(problem, slot=now.ident)
    return None


def arranged(values: list[Any], now: Property) -> Any:
    """The values as the slot holds them now, in a list or one alone; raises if it cannot."""
    _require_stored(now)
    if len(values) > 1 and not now.many:
        raise _several()
    return values if now.many else values[0]


def require_fit(stored: Any, now: Property, match: Match) -> None:
    """Refuse what the slot, by its rules of now, would not keep just as it is stored."""
    _require_stored(now)
    if now.has_several(stored):
        raise _several()
    _require_form(decode_slot(now, stored, _stored_id, match), stored)


def _require_stored(now: Property) -> None:
    if now.secret or now.inverse_of:
        what = "secret" if now.secret else "derived"
        raise Incorrect(
            f"slot.{what}",
            f"the slot became {what}, but has a stored value",
            hint=f"give what it held to a slot that is not {what}",
        )


def _several() -> Incorrect:
    return Incorrect(
        "slot.single",
        "the slot holds several values, but now takes one",
        hint="let the slot take many values, or leave one of them",
    )


def _require_form(decoded: Any, stored: Any) -> None:
    if exact(decoded) != exact(stored):
        raise _other_form()


def _other_form() -> Incorrect:
    return Incorrect(
        "value.form",
        "the value would have to be stored in another form",
        hint="leave the slot its type, or set the value anew",
    )


def _stored_id(stored: Any, property: Property) -> int:
    """A stored reference is a number; a text that would name an entity is none."""
    if type(stored) is not int:
        raise _other_form()
    id: Any = property.kind.decode(stored)
    return int(id)


def require_formed(draft: Draft, property: Property, schema: Schema) -> None:
    """Refuse to go by the values of a slot that are set aside."""
    if draft.misfits and property.key in draft.misfits:
        refuse_unformed([draft], schema)


def held(draft: Draft, key: str, now: Property | None) -> list[Any]:
    """The values of a slot of a living draft, set aside or not."""
    assert draft.doc is not None
    stored = draft.doc.get(key)
    if stored is not None and now is not None:
        return now.values(stored)
    aside = (draft.misfits or {}).get(key)
    return [] if aside is None else aside.was.values(aside.stored)


def drop(draft: Draft, key: str) -> None:
    """Clear a slot of a living draft, also of what is set aside."""
    assert draft.doc is not None
    draft.doc.pop(key, None)
    if draft.misfits:
        draft.misfits.pop(key, None)


def refuse_unformed(drafts: Iterable[Draft], schema: Schema) -> None:
    """Refuse drafts of which something is still set aside."""
    report = [
        {"entity-id": draft.id, "findings": data_of(found)}
        for draft in drafts
        if draft.misfits and (found := set_aside(draft, schema.ident_of(draft.class_id)))
    ]
    if report:
        raise would_break(len(report), report)


def would_break(broken: int, report: list[dict[str, Any]]) -> Conflict:
    """The refusal of a metamodel that existing entities do not satisfy."""
    found = (one for entity in report for one in entity.get("findings", ()))
    repairs = dict.fromkeys(one["hint"] for one in found if '"migrate"' in one.get("hint", ""))
    how = (
        f": {'; '.join(list(repairs)[:_REPAIRS_TOLD])}" if repairs else " with a migrate operation"
    )
    count = "1 existing entity" if broken == 1 else f"{broken} existing entities"
    return Conflict(
        "schema.would-break",
        f"{count} would no longer be valid",
        hint=f"repair them first, or in the same entity.transact{how}",
        data={"broken": broken, "entities": report[:SHOWN_MAX]},
    )
