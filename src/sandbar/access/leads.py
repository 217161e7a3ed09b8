"""What a refusal can add once it is known who asks: what a thing is called now, and who was meant.

The model says what is wrong. Whether what it has come across may be told depends on the caller, so
that is looked up here, through what the caller is shown. Only the first few names of a request are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sandbar.access.guarded import Guarded
from sandbar.errors import Problem
from sandbar.model import Entity, Former, Introspection, typed
from sandbar.suggestions import SUGGESTIONS_MAX, Suggestion, called_now

_NAMED_MAX = 100  # characters of a name that is looked up
_CANDIDATES_MAX = 3
_SEARCHED_MAX = 10
_ANY = "db.type/ref"
_BY_VALUE = "keyword.malformed"  # a text that is no ident: it may be what the entity says
# What must have had a name, by the code that it is unknown with.
_KINDS = {
    "entity.unknown": (),
    "class.unknown": ("dt/Class",),
    "property.unknown": ("dt/Property",),
    "slot.unknown": ("dt/Property",),
    "workflow.unknown": ("workflow/Definition",),
    "prompt.unknown": ("prompt/Prompt",),
    "role.unknown": ("auth/Role",),
}


def give_leads(db: Guarded, problem: Problem) -> None:
    """Let the hints of a problem name what was probably meant, as far as the caller is shown it."""
    found = problem.data.get("findings")
    if isinstance(found, list):
        before = _joined(found)
        if add_leads(db, found):
            rest = (problem.hint or "").removeprefix(before)  # what is said besides of the whole
            problem.advise(_joined(found) + rest)
        return
    late = problem.late_hint
    name = late.unknown if isinstance(late, Suggestion) else None
    told = None if name is None else _lead(db, problem.code, name, None)
    if told is not None:
        problem.advise(told)


def _joined(findings: list[dict[str, Any]]) -> str:
    """The hints of findings, as the hint of a refusal has them."""
    return "; ".join(dict.fromkeys(one["hint"] for one in findings if one.get("hint")))


def add_leads(db: Guarded, findings: list[dict[str, Any]]) -> bool:
    """Give findings better hints, where there are any; returns whether there were."""
    known: dict[tuple[str, str, str | None], str | None] = {}
    for one in findings:
        name, code, slot = one.get("unknown"), one.get("code", ""), one.get("slot")
        if name is None or (code not in _KINDS and code != _BY_VALUE):
            continue
        about = code, name, slot
        if about not in known:
            if len(known) == SUGGESTIONS_MAX:
                continue
            known[about] = _lead(db, code, name, slot)
        if (lead := known[about]) is not None:
            one["hint"] = lead
    return any(known.values())


def _lead(db: Guarded, code: str, name: str, slot: str | None) -> str | None:
    if len(name) > _NAMED_MAX or db.is_inside:
        return None
    try:
        if code == _BY_VALUE:  # whom a call is about is not searched for: its hint names the search
            return None if slot is None else _by_value(db, name, slot)
        return _renamed(db, name, _KINDS[code]) if code in _KINDS else None
    except Problem:
        return None  # the refusal stands as it is


# --- names that something has lost -------------------------------------------------------------


def _renamed(db: Guarded, name: str, kinds: tuple[str, ...]) -> str | None:
    given = json.loads(name) if name.startswith("{") else name.removeprefix(":")
    former = db.former(given)
    if former is None or not former.kinds.issuperset(kinds):
        return None
    return lead_to(db, given, former)


def lead_to(db: Guarded, given: Any, former: Former) -> str:
    """How whatever has lost a name (an ident, or {slot: value}) is reached today."""
    name = given if isinstance(given, str) else typed(given)
    now = former.id if former.ident is None else former.ident
    if former.is_living:
        is_ident = isinstance(given, str)
        return called_now(name, now) if is_ident else f"{now} had {name} before: use {now}"
    tells = f"entity.history {typed({'entity': former.id})} tells what it was"
    if former.ident not in (None, given) and db.has(former.ident):
        return f"{name} was deleted, and its last name, {now}, belongs to another by now; {tells}"
    last = "" if former.ident in (None, given) else f" (it was called {now} by then)"
    restores = f"entity.restore {typed({'entity': former.id})} brings it back"
    return f"{name} was deleted{last}: {restores}; {tells}"


# --- texts that may be what an entity says -----------------------------------------------------


def _by_value(db: Guarded, text: str, slot: str) -> str | None:
    """The entities that say exactly this, found by the index of words."""
    schema = db.schema()
    target = schema.range(slot)
    if _is_metamodel(schema, target):
        return None
    hits = db.search(text, class_=None if target == _ANY else target, limit=_SEARCHED_MAX)
    found = [(hit.entity, said) for hit in hits.items if (said := _saying(hit.entity, text))]
    told = list(_told(schema, found[:_CANDIDATES_MAX]))
    if len(found) > 1:
        return f"did you mean one of these: {'; '.join(told)}? use the id of the right one"
    return f"did you mean {told[0]}?" if told else None


def _is_metamodel(schema: Introspection, cls: str) -> bool:
    return any(schema.is_kind(cls, root) for root in ("dt/Class", "dt/Property"))


def _saying(entity: Entity, text: str) -> str | None:
    """The slot that says a text, whatever its case."""
    wanted = text.strip().casefold()
    for slot, value in entity.slots.items():
        if isinstance(value, str) and value.strip().casefold() == wanted:
            return slot
    return None


def _told(schema: Introspection, found: list[tuple[Entity, str]]) -> Iterator[str]:
    for entity, slot in found:
        ways = str(entity.entity_id if entity.ident is None else entity.ident)
        if "unique" in schema.describe_property(slot):
            ways += f" or {typed({slot: entity[slot]})}"
        yield f"{ways} (the {entity.class_} whose {slot} is {typed(entity[slot])})"
