"""`entity.delete`: ending an entity."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sandbar.model import Delete, DeleteMode, Receipt, Written
from sandbar.verbs.answers import Answer
from sandbar.verbs.base.writing import Expect
from sandbar.verbs.catalogue import Example, Verb
from sandbar.verbs.context import Context, Write
from sandbar.verbs.fields import ENTITY_ALIASES, EntityName, Writing

_DELETED_SHOWN = 1000


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


def delete(context: Context, arguments: DeleteArguments) -> Write:
    """End an entity."""
    del context
    operation = Delete(entity=arguments.entity, mode=arguments.mode, expect=arguments.expect)
    return Write([operation], arguments.reason, arguments.idempotency_key, _deleted)


def _deleted(written: Written) -> Deleted:
    outcome = written.outcomes[0]
    return Deleted(
        entity_id=outcome.entity_id,
        deleted=outcome.deleted[:_DELETED_SHOWN],
        deleted_count=len(outcome.deleted),
        receipt=written.receipt,
        replayed=written.replayed,
    )


VERBS = (
    Verb(
        name="entity.delete",
        title="Delete an entity",
        description="Delete an entity; its history stays and entity.restore brings it back. "
        "Refused while others refer to it, unless mode is cascade or detach.",
        access="write",
        arguments=DeleteArguments,
        result=Deleted,
        run=delete,
        is_point_write=True,
        aliases=ENTITY_ALIASES,
        is_core=True,
        is_destructive=True,
        examples=(Example("A discontinued shoe", {"entity": "product/void-flop"}),),
    ),
)
