"""`memory.sections`: the headings of a memory as a tree; on request, stored as entities.

The body is what counts. Stored sections are a copy, for search and links, and follow the body only
when they are stored again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import Meta

from sandbar.codecs import Section, sections_of
from sandbar.model import Create, Delete, Entity, Operation, Update
from sandbar.packs.memory.answers import Answer, MemoryName, memory_named
from sandbar.verbs import Arguments, Context

_SECTION = "mm/Section"
_STORED = "memory/sections"


class SectionsArguments(Arguments, frozen=True, kw_only=True):
    """Of which memory, and whether they are to be stored."""

    memory: MemoryName
    store: Annotated[bool, Meta(description="write them as mm/Section of the memory")] = False


class Heading(Answer, frozen=True, kw_only=True):
    """A section: its heading, where it is, and what is nested in it."""

    title: str
    level: int
    anchor: str
    line: int
    characters: int  # of its own text, without what is nested in it
    children: list[Heading]


class Sections(Answer, frozen=True, kw_only=True):
    """The tree; after storing, whether anything was different."""

    entity_id: int
    ident: str | None
    sections: list[Heading]
    stored: bool
    changed: bool = False
    t: int


def sections(context: Context, arguments: SectionsArguments) -> Sections:
    """The sections of a memory."""
    memory = memory_named(context, arguments.memory)
    found = [one for one in sections_of(memory.get("memory/body", "")) if one.level > 0]
    operations = _storing(context, memory, found) if arguments.store else []
    t = memory.t
    if operations:
        t = context.db.transact(operations, reason="the sections of its body").t
    return Sections(
        entity_id=memory.entity_id,
        ident=memory.ident,
        sections=[_heading(section) for section in found],
        stored=arguments.store,
        changed=bool(operations),
        t=t,
    )


def _heading(section: Section) -> Heading:
    return Heading(
        title=section.title,
        level=section.level,
        anchor=section.anchor,
        line=section.line,
        characters=len(section.text),
        children=[_heading(child) for child in section.children],
    )


def _storing(context: Context, memory: Entity, found: Sequence[Section]) -> list[Operation]:
    """What makes the stored sections those of the body; nothing, if they are.

    A section that keeps its anchor stays the entity that it is: its past and what refers to it.
    """
    stored = [context.db.get(named) for named in memory.get(_STORED, [])]
    before = {one["section/anchor"]: one for one in stored}
    operations: list[Operation] = []
    order: list[Any] = []
    for number, section in enumerate(_in_order(found)):
        slots = _slots(section)
        old = before.pop(section.anchor, None)
        if old is None:
            temp = f"section-{number}"
            order.append(temp)
            operations.append(Create(class_=_SECTION, slots=slots, temp=temp))
            continue
        order.append(old.entity_id)
        changed = {slot: value for slot, value in slots.items() if old.get(slot) != value}
        if changed:
            operations.append(Update(entity=old.entity_id, set=changed, expect=old.t))
    if not operations and order == [one.entity_id for one in stored]:
        return []
    # With `expect`, whoever changes the body meanwhile does not get the sections of the old one.
    owner = Update(entity=memory.entity_id, set={_STORED: order}, expect=memory.t)
    gone = [Delete(entity=one.entity_id, mode="detach") for one in before.values()]
    return [*operations, owner, *gone]


def _in_order(sections: Sequence[Section]) -> Iterator[Section]:
    for section in sections:
        yield section
        yield from _in_order(section.children)


def _slots(section: Section) -> dict[str, Any]:
    return {
        "section/title": section.title,
        "section/level": section.level,
        "section/anchor": section.anchor,
        "section/line": section.line,
        "section/text": section.text,
    }
