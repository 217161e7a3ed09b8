"""`memory.backlinks`: who refers to a memory or another entity, by any slot of any class.

A slot that is added tomorrow is looked at tomorrow: the metamodel says which slots could refer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from sandbar.errors import Forbidden, NotFound
from sandbar.model import Entity, Introspection, question_digest
from sandbar.packs.memory.answers import (
    PAGE_DEFAULT,
    Answer,
    Cursor,
    Limit,
    MemoryName,
    name_of,
    read_stop,
    write_stop,
)
from sandbar.verbs import Arguments, Context

_ROOT = "dt/Resource"
_RELATION = "mm/Relation"
_OTHER_END = {"relation/from": "relation/to", "relation/to": "relation/from"}


class BacklinksArguments(Arguments, frozen=True, kw_only=True):
    """Of which memory, or other entity."""

    memory: MemoryName
    limit: Limit | None = None
    cursor: Cursor = None


class Backlink(Answer, frozen=True, kw_only=True):
    """Something that refers to the memory, and by which slot.

    Of a relation, it is the memory (or name) at the other end, with the relation's own type.
    """

    slot: str
    entity_id: int | None
    ident: str | None
    class_: str = msgspec.field(name="class")
    name: str | None
    relation: str | None = None  # its type
    relation_id: int | None = None


class Backlinks(Answer, frozen=True, kw_only=True):
    """A page of them as of `t`, by slot."""

    backlinks: list[Backlink]
    t: int
    cursor: str | None = None


class _Stop(NamedTuple):
    """Where a page ended: in the walk of which slot, and where in it."""

    t: int
    slot: str
    inner: str | None  # the cursor of that walk; None: at its beginning


def backlinks(context: Context, arguments: BacklinksArguments) -> Backlinks:
    """A page of what refers to a memory."""
    memory = context.db.get(context.named(arguments.memory))
    question = question_digest("memory.backlinks", memory.entity_id)
    schema = context.db.schema()
    holders = schema.derived(
        ("memory.referring", memory.class_), lambda: _referring(schema, memory)
    )
    slots = sorted(slot for slot, classes in holders.items() if _is_shown(context, classes))
    stop = None if arguments.cursor is None else read_stop(arguments.cursor, _Stop, question)
    left = arguments.limit or PAGE_DEFAULT
    found: list[Backlink] = []
    t = None if stop is None else stop.t
    for slot in slots:
        if stop is not None and slot < stop.slot:
            continue
        inner = stop.inner if stop is not None and slot == stop.slot else None
        if left == 0:
            assert t is not None
            return Backlinks(
                backlinks=found, t=t, cursor=write_stop(_Stop(t, slot, None), question)
            )
        page = context.db.query(
            _ROOT,
            {slot: memory.entity_id},
            limit=left,
            cursor=inner,
            as_of=t if inner is None else None,
        )
        t = page.t
        found += [_shown(context, slot, one, t) for one in page.items]
        left -= len(page.items)
        if page.cursor is not None:
            cursor = write_stop(_Stop(t, slot, page.cursor), question)
            return Backlinks(backlinks=found, t=t, cursor=cursor)
    return Backlinks(backlinks=found, t=memory.t if t is None else t)


def _referring(schema: Introspection, memory: Entity) -> dict[str, list[str]]:
    """The slots that could refer to such an entity, each with the classes that have it."""
    holders: dict[str, list[str]] = {}
    for class_ in schema.classes():
        for slot in schema.direct_slots(class_):
            holders.setdefault(slot, []).append(class_)
    return {slot: holders[slot] for slot in _references(schema, memory.class_) if slot in holders}


def _references(schema: Introspection, class_: str) -> Iterator[str]:
    values = set(schema.datatypes())
    for slot in schema.properties():
        facts = schema.describe_property(slot)
        range_ = facts["range"]
        if "inverse-of" in facts:
            continue  # the forward slot tells the same
        if range_ == "db.type/ref" or (range_ not in values and schema.is_kind(class_, range_)):
            yield slot


def _is_shown(context: Context, classes: list[str]) -> bool:
    return any(context.db.shows_any(class_) for class_ in classes)


def _seen(context: Context, target: int | str, t: int) -> Entity | None:
    try:
        return context.db.get(target, as_of=t)
    except (NotFound, Forbidden):  # not for this caller
        return None


def _shown(context: Context, slot: str, one: Entity, t: int) -> Backlink:
    other_end = _OTHER_END.get(slot)
    if one.class_ != _RELATION or other_end is None:
        return Backlink(
            slot=slot,
            entity_id=one.entity_id,
            ident=one.ident,
            class_=one.class_,
            name=name_of(one),
        )
    target = one.get(other_end)
    other = None if target is None else _seen(context, target, t)
    return Backlink(
        slot=slot,
        entity_id=None if other is None else other.entity_id,
        ident=None if other is None else other.ident,
        class_=_RELATION if other is None else other.class_,
        name=one.get(f"{other_end}-name") if other is None else name_of(other),
        relation=one["relation/type"],
        relation_id=one.entity_id,
    )
