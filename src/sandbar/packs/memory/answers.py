"""What the verbs of memories take and answer, as far as they have it in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from sandbar.errors import Incorrect
from sandbar.model import Cursor as Place
from sandbar.model import Entity, Introspection, read_cursor, write_cursor
from sandbar.verbs import Context

MEMORY = "mm/Memory"
PAGE_DEFAULT = 50
PAGE_MAX = 500

MemoryName: TypeAlias = Annotated[
    int | str | dict[str, Any], Meta(description="id, ident or {unique slot: value}")
]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=PAGE_MAX, description=f"per page, 1 to {PAGE_MAX}")]
Cursor: TypeAlias = Annotated[str | None, Meta(description="of the last page")]

Stop = TypeVar("Stop")

_NAMES = ("memory/name", "tag/name", "section/title", "relation/type", "dt/label")


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """The base of what the verbs answer. What has no default is always there."""


def memory_named(context: Context, named: Any) -> Entity:
    """The memory that somebody names; other entities are refused."""
    found = context.db.get(context.named(named))
    schema = context.db.schema()
    if not is_memory(schema, found.class_):
        raise _no_memory(found)
    return found


def is_memory(schema: Introspection, class_: str) -> bool:
    """Whether instances of a class are memories."""
    return schema.is_kind(class_, MEMORY)


def name_of(entity: Entity) -> str | None:
    """What people call an entity, if it says so."""
    given = (entity.get(slot) for slot in _NAMES)
    others = (value for slot, value in entity.slots.items() if slot.endswith("/name"))
    return next((name for name in (*given, *others) if isinstance(name, str)), None)


def _no_memory(found: Entity) -> Incorrect:
    named = found.ident or str(found.entity_id)
    return Incorrect(
        "memory.no-memory",
        f"{named} is no memory but an instance of {found.class_}",
        hint="search.text with class mm/Memory finds memories",
    )


def write_stop(stop: Any, question: str) -> str:
    """Where a page ended, as a cursor of this question."""
    return write_cursor(Place(0, 0, question, 0, msgspec.json.encode(stop), 0))


def read_stop(word: str, kind: type[Stop], question: str) -> Stop:
    """Where the page ended that gave this cursor."""
    key = read_cursor(word, question, epoch=0).key
    try:
        return msgspec.json.decode(key, type=kind)
    except msgspec.MsgspecError as error:
        raise Incorrect(
            "cursor.malformed", "this is no cursor", hint="use the cursor of the last page as it is"
        ) from error
