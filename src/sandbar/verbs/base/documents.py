"""Documents in verbs: what a source says, an entity as text, and names that are made up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sandbar.codecs import Parsed, derived_ident, emit_one, parse_one, with_whole_names
from sandbar.errors import Conflict, Incorrect, NotFound, Problem
from sandbar.model import Create, Entity, Introspection, Written
from sandbar.projects import Comparison
from sandbar.verbs.context import Context

_IDENT = "db/ident"
_NUMBERED_MAX = 9

_encode = msgspec.json.Encoder(order="deterministic", decimal_format="string").encode


def parsed_source(context: Context, cls: str, source: str, format: str | None) -> Parsed:
    """What a document says; nothing is written."""
    schema = context.db.schema()
    codec = context.services.codecs.choose(schema, schema.ident(cls), format=format)
    return parse_one(codec, source, schema, schema.ident(cls))


def as_text(context: Context, entity: Entity, format: str, schema: Introspection) -> str:
    """An entity as a document."""
    codec = context.services.codecs.choose(schema, entity.class_, format=format)
    return emit_one(codec, entity, schema)


def stated_by(context: Context, entity: Entity, parsed: Parsed) -> dict[str, Any]:
    """What to set so that an entity becomes what a document says."""
    if parsed.class_ != entity.class_:
        raise Incorrect(
            "document.other-class",
            f"the document is of a {parsed.class_}, and the entity is a {entity.class_}",
            hint="create another entity with it, or take its type out",
        )
    refuse_number(parsed, entity.entity_id)
    if parsed.is_ident_derived or not _states_ident(parsed):
        # A new name for people does not change what it is known by.
        slots = {**parsed.slots, _IDENT: entity.ident}
        parsed = msgspec.structs.replace(parsed, slots=slots)
    return _comparison(context).differences(parsed, entity, is_exact=True, is_whole=True)


def refuse_number(parsed: Parsed, id: int | None) -> None:
    """A document that is about another entity, or wants to choose a number, is refused."""
    if parsed.id is not None and parsed.id != id:
        raise Incorrect(
            "document.other-entity",
            f"the document is about the entity {parsed.id}",
            hint="leave `_id` out: numbers are given by the database",
        )


def _states_ident(parsed: Parsed) -> bool:
    return _IDENT in parsed.slots or _IDENT in parsed.lines


def slots_to_create(parsed: Parsed) -> dict[str, Any]:
    """The slots of a new entity: a name that was made up is made up again, and numbered."""
    refuse_number(parsed, None)
    slots = dict(parsed.slots)
    if parsed.is_ident_derived:
        del slots[_IDENT]
    elif _states_ident(parsed):
        slots.setdefault(_IDENT, None)  # it is to have none
    return slots


def _comparison(context: Context) -> Comparison:
    def find(named: Any) -> Entity | None:
        try:
            return context.db.get(named)
        except Problem:
            return None  # the write will say what is wrong

    return Comparison(context.db.schema(), find)


def creations(made: Iterable[Parsed]) -> list[Create]:
    """What makes the targets of references that may not be there yet."""
    return [Create(class_=one.class_, slots=one.slots) for one in made]


def whole_slots(
    schema: Introspection, cls: str, slots: dict[str, Any]
) -> tuple[dict[str, Any], list[Create]]:
    """Slots with whole names for bare ones, and what makes those that are not there."""
    try:
        whole, made = with_whole_names(schema, schema.ident(cls), slots)
    except NotFound:
        return slots, []  # there is no such class, and the write will say so
    return whole, creations(made)


# --- names that are made up ---------------------------------------------------------------------


def made_up_ident(schema: Introspection, cls: str, slots: dict[str, Any]) -> str | None:
    """The name that an entity gets if whoever makes it gives none."""
    if _IDENT in slots or f":{_IDENT}" in slots:
        return None
    try:
        return derived_ident(schema, schema.ident(cls), slots)
    except NotFound:
        return None  # there is no such class, and the write will say so


def create_under(
    context: Context,
    cls: str,
    slots: dict[str, Any],
    made: list[Create],
    ident: str,
    reason: str | None,
    key: str | None,
) -> Written:
    """Make an entity under a made-up name; if something else has it, under the next.

    The same again is a retry: it changes nothing, and is answered as such.
    """
    for name in _numbered(ident, slots):
        operation = Create(class_=cls, slots={**slots, _IDENT: name})
        # A key is for what is finally done, so whether the name is free is asked before; and who
        # has many namesakes is not written as many times.
        if (key is not None or name != ident) and _is_another(context, operation, name):
            continue
        try:
            written = context.db.transact([*made, operation], reason=reason, idempotency_key=key)
        except Conflict as problem:
            if problem.code != "ident.taken":
                raise
            continue
        if not written.outcomes[-1].differs:
            return written
    raise Conflict(
        "ident.taken",
        f"{ident} and the names after it belong to others",
        hint="give it a db/ident of its own",
    )


def _numbered(ident: str, slots: dict[str, Any]) -> Iterator[str]:
    yield ident
    for number in range(2, _NUMBERED_MAX + 1):
        yield f"{ident}-{number}"
    yield f"{ident}-{hashlib.sha256(_encode(slots)).hexdigest()[:12]}"


def _is_another(context: Context, operation: Create, name: str) -> bool:
    """Whether a name belongs to something that says otherwise; nothing is written."""
    try:
        found = context.db.get(name)
    except NotFound:
        return False
    parsed = Parsed(class_=context.db.schema().ident(operation.class_), slots=operation.slots)
    if found.class_ != parsed.class_:
        return True
    return bool(_comparison(context).differences(parsed, found, is_exact=True, is_whole=False))
