"""Documents in verbs: what a source says, an entity as text, and names that are made up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from sandbar.codecs import Parsed, derived_ident, emit_one, parse_one, with_whole_names
from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.model import Create, Entity, Introspection, Written
from sandbar.verbs.context import Context

_IDENT = "db/ident"
_NUMBERED_MAX = 9

_encode = msgspec.json.Encoder(order="deterministic", decimal_format="string").encode


def parsed_source(context: Context, cls: str, source: str, format: str | None) -> Parsed:
    """What a document says; nothing is written."""
    schema = context.db.schema()
    codec = context.codecs.choose(schema, schema.ident(cls), format=format)
    return parse_one(codec, source, schema, schema.ident(cls))


def as_text(context: Context, entity: Entity, format: str, schema: Introspection) -> str:
    """An entity as a document."""
    codec = context.codecs.choose(schema, entity.class_, format=format)
    return emit_one(codec, entity, schema)


def stated_by(schema: Introspection, entity: Entity, parsed: Parsed) -> dict[str, Any]:
    """What to set so that an entity becomes what a document says."""
    if parsed.class_ != entity.class_:
        raise Incorrect(
            "document.other-class",
            f"the document is of a {parsed.class_}, and the entity is a {entity.class_}",
            hint="create another entity with it, or take its type out",
        )
    slots = dict(parsed.slots)
    if parsed.is_ident_derived:
        slots[_IDENT] = entity.ident  # a new name for people does not change what it is known by
    gone = [name for name in entity.slots if name not in slots and _is_stored(schema, name)]
    return slots | dict.fromkeys(gone)


def _is_stored(schema: Introspection, slot: str) -> bool:
    return "inverse-of" not in schema.describe_property(slot)


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
        # A key is for what is finally done: whether the name is free is asked without it.
        if key is not None and _is_another(context, operation, name):
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
    try:
        context.db.get(name)
    except NotFound:
        return False
    try:
        return bool(context.db.transact([operation]).outcomes[0].differs)
    except Conflict as problem:
        if problem.code != "ident.taken":
            raise
        return True
