"""`entity.create`, `update`, `delete`: changing one entity."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sandbar.errors import Problem
from sandbar.model import Create, Delete, DeleteMode, Receipt, Update
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Finding, invalid
from sandbar.verbs.base.codecs import slots_of_source
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.class_tools import slots_by_ident
from sandbar.verbs.context import Context
from sandbar.verbs.fields import ENTITY_ALIASES, SLOT_ALIASES, EntityName, Writing

_DELETED_SHOWN = 1000

Expect = Annotated[int | None, Meta(description="refuse if its t is another")]


class CreateArguments(Writing, frozen=True, kw_only=True):
    """A class, and slots or a document that states them."""

    # The surface fills in which classes there are.
    class_: Annotated[
        str, Meta(description="concrete class, e.g. zorp/Boot", extra={"fill": "classes"})
    ] = msgspec.field(name="class")
    attributes: Annotated[
        dict[str, Any] | None, Meta(description="values by slot; db/ident names it")
    ] = None
    source: Annotated[str | None, Meta(description="document, instead of attributes")] = None
    format: Annotated[str | None, Meta(description="of source: json")] = None


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


class UpdateArguments(Writing, frozen=True, kw_only=True):
    """An entity and what to change."""

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
    expect: Expect = None


class Updated(Answer, frozen=True, kw_only=True):
    """The entity, and whether anything changed."""

    entity_id: int
    ident: str | None
    changed: bool
    receipt: Receipt
    replayed: bool = False


class DeleteArguments(Writing, frozen=True, kw_only=True):
    """An entity, and what to do about those that refer to it."""

    entity: EntityName
    mode: Annotated[
        DeleteMode, Meta(description="when others refer to it: delete them, or cut the references")
    ] = "refuse"
    expect: Expect = None


class Deleted(Answer, frozen=True, kw_only=True):
    """The entities that were deleted (the first thousand of them), and how many."""

    entity_id: int
    deleted: list[int]
    deleted_count: int
    receipt: Receipt
    replayed: bool = False


def create(context: Context, arguments: CreateArguments) -> Created:
    """Make an entity."""
    slots = arguments.attributes
    if arguments.source is not None:
        if slots is not None:
            found = Finding(
                argument="source",
                code="argument.twice",
                message="source and attributes both state slots",
                hint="give attributes, or source and format",
            )
            raise invalid([found])
        slots = slots_of_source(arguments.source, arguments.format)
    return create_entity(
        context, arguments.class_, slots or {}, arguments.reason, arguments.idempotency_key
    )


def create_entity(
    context: Context, cls: str, slots: dict[str, Any], reason: str | None, key: str | None
) -> Created:
    """Make an entity, also on behalf of a class's own tool."""
    if not all("/" in str(key) for key in slots):
        slots = slots_by_ident(context.db.schema(), cls, slots)
    operation = Create(class_=cls, slots=slots)
    written = context.db.transact([operation], reason=reason, idempotency_key=key)
    outcome = written.outcomes[0]
    return Created(
        entity_id=outcome.entity_id,
        ident=outcome.ident,
        class_=cls.removeprefix(":"),
        created=outcome.created,
        changed=outcome.changed,
        differs=outcome.differs,
        receipt=written.receipt,
        replayed=written.replayed,
    )


def update(context: Context, arguments: UpdateArguments) -> Updated:
    """Change an entity."""
    entity = arguments.entity
    operation = Update(
        entity=entity,
        set=slots_of_entity(context, entity, arguments.attributes),
        add=slots_of_entity(context, entity, arguments.add),
        remove=slots_of_entity(context, entity, arguments.remove),
        expect=arguments.expect,
    )
    written = context.db.transact(
        [operation], reason=arguments.reason, idempotency_key=arguments.idempotency_key
    )
    outcome = written.outcomes[0]
    return Updated(
        entity_id=outcome.entity_id,
        ident=outcome.ident,
        changed=outcome.changed,
        receipt=written.receipt,
        replayed=written.replayed,
    )


def delete(context: Context, arguments: DeleteArguments) -> Deleted:
    """End an entity."""
    operation = Delete(entity=arguments.entity, mode=arguments.mode, expect=arguments.expect)
    written = context.db.transact(
        [operation], reason=arguments.reason, idempotency_key=arguments.idempotency_key
    )
    outcome = written.outcomes[0]
    return Deleted(
        entity_id=outcome.entity_id,
        deleted=outcome.deleted[:_DELETED_SHOWN],
        deleted_count=len(outcome.deleted),
        receipt=written.receipt,
        replayed=written.replayed,
    )


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
        description="Create an instance of a class. An existing db/ident changes nothing and is "
        "answered with created: false. To change one use entity.update; several at once: "
        "entity.transact.",
        access="write",
        arguments=CreateArguments,
        result=Created,
        run=create,
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
                    "source": '{"footwear/name": "Beach Comber"}',
                },
            ),
        ),
    ),
    Verb(
        name="entity.update",
        title="Update an entity",
        description="Set, clear (null), add to or remove from slots of an entity; other slots "
        "stay. With expect it is refused if somebody changed the entity since.",
        access="write",
        arguments=UpdateArguments,
        result=Updated,
        run=update,
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
    Verb(
        name="entity.delete",
        title="Delete an entity",
        description="Delete an entity; its history stays and entity.restore brings it back. "
        "Refused while others refer to it, unless mode is cascade or detach.",
        access="write",
        arguments=DeleteArguments,
        result=Deleted,
        run=delete,
        aliases=ENTITY_ALIASES,
        is_core=True,
        is_destructive=True,
        examples=(Example("A discontinued shoe", {"entity": "product/void-flop"}),),
    ),
)
