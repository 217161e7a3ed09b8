"""`entity.create`, `update`, `delete`: changing one entity."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from sandbar.codecs import takes_bare_names
from sandbar.errors import Forbidden, NotFound, Problem
from sandbar.findings import Finding, Findings
from sandbar.model import (
    Create,
    Entity,
    Outcome,
    Receipt,
    Update,
    Written,
)
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import invalid
from sandbar.verbs.base.documents import (
    create_under,
    creations,
    made_up_ident,
    parsed_source,
    slots_to_create,
    stated_by,
    whole_slots,
)
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.class_tools import slots_by_ident
from sandbar.verbs.context import Context, Write
from sandbar.verbs.fields import ENTITY_ALIASES, SLOT_ALIASES, EntityName, Writing

_FIND = ("entity", "entity.find")

Source = Annotated[str | None, Meta(description="a document, instead of attributes")]
Format = Annotated[str | None, Meta(description="of source: markdown, json")]
Expect = Annotated[int | None, Meta(description="refuse if its t is another")]
Return = Annotated[Literal["entity"] | None, Meta(description="answer with its slots")]


class CreateArguments(Writing, frozen=True, kw_only=True):
    """A class, and slots or a document that states them."""

    # The surface fills in which classes there are.
    class_: Annotated[
        str, Meta(description="concrete class, e.g. zorp/Boot", extra={"fill": "classes"})
    ] = msgspec.field(name="class")
    attributes: Annotated[
        dict[str, Any] | None, Meta(description="values by slot; db/ident names it")
    ] = None
    source: Source = None
    format: Format = None
    return_: Return = msgspec.field(default=None, name="return")


class Warned(Answer, frozen=True, kw_only=True):
    """Something that was done otherwise than one may have meant it, and the next call."""

    code: str
    message: str
    hint: str
    existing: str


class Created(Answer, frozen=True, kw_only=True):
    """The entity; `created` is false if its ident existed, and `differs` names the slots."""

    entity_id: int
    ident: str | None
    class_: str = msgspec.field(name="class")
    created: bool
    changed: bool
    differs: list[str] = msgspec.field(default_factory=list)
    receipt: Receipt
    replayed: bool = False
    warnings: list[Warned] = msgspec.field(default_factory=list)
    entity: Entity | None = None  # as it was after this write


class UpdateArguments(Writing, frozen=True, kw_only=True):
    """An entity and what to change, or a document that it is to say."""

    entity: EntityName
    attributes: Annotated[dict[str, Any], Meta(description="slots to set; null clears")] = (
        msgspec.field(default_factory=dict)
    )
    add: Annotated[dict[str, Any], Meta(description="values to add to many-valued slots")] = (
        msgspec.field(default_factory=dict)
    )
    remove: Annotated[dict[str, Any], Meta(description="values to remove from them")] = (
        msgspec.field(default_factory=dict)
    )
    source: Annotated[
        str | None, Meta(description="the whole document; what it omits is cleared")
    ] = None
    format: Format = None
    expect: Expect = None
    return_: Return = msgspec.field(default=None, name="return")


class Updated(Answer, frozen=True, kw_only=True):
    """The entity, and whether anything changed."""

    entity_id: int
    ident: str | None
    changed: bool
    receipt: Receipt
    replayed: bool = False
    entity: Entity | None = None  # as it was after this write


_Done = TypeVar("_Done", Created, Updated)


def create(context: Context, arguments: CreateArguments) -> Created | Write:
    """Make an entity."""
    _refuse_showing(context, arguments.return_)
    cls, slots = arguments.class_, arguments.attributes or {}
    reason, key = arguments.reason, arguments.idempotency_key
    is_shown = arguments.return_ == "entity"
    if arguments.source is None:
        return create_entity(context, cls, slots, reason, key, is_shown=is_shown)
    _refuse_both(arguments.attributes is not None)
    context.take_time()
    parsed = parsed_source(context, cls, arguments.source, arguments.format)
    slots, made = slots_to_create(parsed), creations(parsed.made)
    return _create(context, parsed.class_, slots, made, reason, key, is_shown=is_shown)


def with_entity(context: Context, done: _Done) -> _Done:
    """The same with the entity as this write left it, if the caller may read entities."""
    if not _may_read(context):
        return done
    try:
        found = context.db.get(done.entity_id, as_of=done.receipt.t)
    except NotFound:
        return done  # it was purged since
    return msgspec.structs.replace(done, entity=found)


def _may_read(context: Context) -> bool:
    return context.db.caller.rights.may_call(*_FIND, "read")


def _refuse_showing(context: Context, wanted: str | None) -> None:
    """Refuse to show what the caller may not read, before anything is written."""
    if wanted != "entity":
        return
    context.take_time()  # what a repeated call is shown may take the schema of then
    if not _may_read(context):
        raise Forbidden(
            "verb.forbidden",
            "this key may not read entities, so none is returned",
            hint="leave `return` out, or sign in with a key that may call entity.find",
        )


def _refuse_both(is_given: bool) -> None:
    if is_given:
        found = Finding(
            argument="source",
            code="argument.twice",
            message="source and attributes both state slots",
            hint="give attributes, or source and format",
        )
        raise invalid(Findings.of(found))


def create_entity(
    context: Context,
    cls: str,
    slots: dict[str, Any],
    reason: str | None,
    key: str | None,
    *,
    is_shown: bool,
) -> Created | Write:
    """Make an entity, also on behalf of a class's own tool; and show it, if it is to be."""
    if not all("/" in str(key) for key in slots):
        slots = slots_by_ident(context.db.schema(), cls, slots)
    slots, made = whole_slots(context.db.schema_at_hand(), cls, slots)
    return _create(context, cls, slots, made, reason, key, is_shown=is_shown)


def _create(
    context: Context,
    cls: str,
    slots: dict[str, Any],
    made: list[Create],
    reason: str | None,
    key: str | None,
    *,
    is_shown: bool,
) -> Created | Write:
    ident = made_up_ident(context.db.schema_at_hand(), cls, slots)
    answer = partial(_created, context, cls, ident, is_shown=is_shown)
    if ident is None:
        return Write([*made, Create(class_=cls, slots=slots)], reason, key, answer)
    context.take_time()
    return answer(create_under(context, cls, slots, made, ident, reason, key))


def _created(
    context: Context, cls: str, ident: str | None, written: Written, *, is_shown: bool
) -> Created:
    outcome = written.outcomes[-1]
    created = Created(
        entity_id=outcome.entity_id,
        ident=outcome.ident,
        class_=cls.removeprefix(":"),
        created=outcome.created,
        changed=outcome.changed,
        differs=outcome.differs,
        receipt=written.receipt,
        replayed=written.replayed,
        warnings=_namesake(ident, outcome),
    )
    return with_entity(context, created) if is_shown else created


def _namesake(wanted: str | None, outcome: Outcome) -> list[Warned]:
    """That the name made for it belonged to another, so that it was given a number."""
    if wanted is None or outcome.ident in (None, wanted) or not outcome.created:
        return []
    told = Warned(
        code="ident.numbered",
        message=f"{wanted} was there and says something else, so this is {outcome.ident}",
        hint=f"if both are one: entity.update {wanted} and entity.delete {outcome.ident}; "
        "else leave it",
        existing=wanted,
    )
    return [told]


def update(context: Context, arguments: UpdateArguments) -> Write:
    """Change an entity."""
    _refuse_showing(context, arguments.return_)
    operations = _update_of(context, arguments)

    def answer(written: Written) -> Updated:
        outcome = written.outcomes[-1]
        updated = Updated(
            entity_id=outcome.entity_id,
            ident=outcome.ident,
            changed=outcome.changed,
            receipt=written.receipt,
            replayed=written.replayed,
        )
        return with_entity(context, updated) if arguments.return_ == "entity" else updated

    return Write(operations, arguments.reason, arguments.idempotency_key, answer)


def _update_of(context: Context, arguments: UpdateArguments) -> list[Create | Update]:
    """The update, after the creation of what it refers to by bare names."""
    entity, source = arguments.entity, arguments.source
    if source is None:
        given = (arguments.attributes, arguments.add, arguments.remove)
        parts = [slots_of_entity(context, entity, slots) for slots in given]
        made: list[Create] = []
        named = [slot for slots in parts for slot in slots]
        if takes_bare_names(context.db.schema_at_hand(), named):
            parts, made = _with_whole_names(context, entity, parts)
        change = Update(
            entity=entity, set=parts[0], add=parts[1], remove=parts[2], expect=arguments.expect
        )
        return [*made, change]
    _refuse_both(bool(arguments.attributes or arguments.add or arguments.remove))
    context.take_time()
    found = context.db.get(entity)
    parsed = parsed_source(context, found.class_, source, arguments.format)
    # What was cleared is what was there just now: if somebody writes in between, look again.
    expect = found.t if arguments.expect is None else arguments.expect
    stated = stated_by(context, found, parsed)
    return [*creations(parsed.made), Update(entity=found.entity_id, set=stated, expect=expect)]


def _with_whole_names(
    context: Context, entity: Any, parts: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[Create]]:
    try:
        cls = context.db.get(entity).class_
    except Problem:
        return parts, []  # the write will say what is wrong
    schema = context.db.schema_at_hand()
    whole = [whole_slots(schema, cls, slots) for slots in parts]
    return [slots for slots, _ in whole], [one for _, made in whole[:2] for one in made]


def slots_of_entity(context: Context, entity: Any, slots: dict[str, Any]) -> dict[str, Any]:
    """The slots of an entity under their idents; its class is looked up if that is needed."""
    if all("/" in str(key) for key in slots):
        return slots
    try:
        cls = context.db.get(entity).class_
    except Problem:
        return slots  # the write will say what is wrong
    return slots_by_ident(context.db.schema(), cls, slots)


VERBS = (
    Verb(
        name="entity.create",
        title="Create an entity",
        description="Create an instance of a class. An existing db/ident changes nothing: created "
        "is false. To change one: entity.update; several at once: entity.transact.",
        access="write",
        arguments=CreateArguments,
        result=Created,
        run=create,
        is_point_write=True,
        aliases=SLOT_ALIASES,
        is_core=True,
        examples=(
            Example(
                "A space boot",
                {
                    "class": "zorp/SpaceBoot",
                    "attributes": {
                        "db/ident": "product/star-strider",
                        "footwear/name": "Star Strider",
                        "footwear/price": "349.00",
                        "boot/vacuum-rated?": True,
                    },
                    "reason": "new in the catalogue",
                },
            ),
            Example(
                "From a document",
                {
                    "class": "zorp/Sandal",
                    "format": "json",
                    "source": '{"name": "Beach Comber"}',
                },
            ),
        ),
    ),
    Verb(
        name="entity.update",
        title="Update an entity",
        description="Set, clear (null), add to or remove from slots of an entity; others stay. "
        "With expect it is refused if it has changed since.",
        access="write",
        arguments=UpdateArguments,
        result=Updated,
        run=update,
        is_point_write=True,
        aliases=ENTITY_ALIASES | SLOT_ALIASES | {"set": "attributes"},
        is_core=True,
        is_destructive=True,
        is_idempotent=True,
        examples=(
            Example(
                "A new price",
                {"entity": "product/mud-lord", "attributes": {"footwear/price": "79.90"}},
            ),
        ),
    ),
)
