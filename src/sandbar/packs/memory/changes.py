"""`memory.changes`: which memories were made or changed since a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from sandbar.errors import NotFound
from sandbar.model import Entity, question_digest
from sandbar.packs.memory.answers import (
    PAGE_DEFAULT,
    Answer,
    Cursor,
    Limit,
    is_memory,
    name_of,
    read_stop,
    write_stop,
)
from sandbar.verbs import Arguments, Context

_ROOT = "dt/Resource"  # the class that there was from the beginning
_TRANSACTIONS_AT_ONCE = 100
_LOOKED_AT_MAX = 5_000  # entities for one page; then it is short and has a cursor


class ChangesArguments(Arguments, frozen=True, kw_only=True):
    """Since when."""

    since: Annotated[int | str, Meta(description="t or instant, e.g. 2026-11-09")]
    limit: Limit | None = None
    cursor: Cursor = None


class Change(Answer, frozen=True, kw_only=True):
    """A memory, at its last change."""

    entity_id: int
    ident: str | None
    name: str | None
    type: str | None = None
    scope: str | None = None
    is_new: bool = msgspec.field(name="new?")
    t: int
    instant: str
    principal: str


class Changes(Answer, frozen=True, kw_only=True):
    """A page of memories, the one that was changed last at the end."""

    changes: list[Change]
    cursor: str | None = None


class _Stop(NamedTuple):
    """The last transaction that was looked at, and how many of its entities."""

    t: int
    entities: int


class _Seen(NamedTuple):
    """An entity of a transaction."""

    stop: _Stop
    id: int
    t: int
    instant: str
    principal: str


def changes(context: Context, arguments: ChangesArguments) -> Changes:
    """A page of the memories that are not as they were at a moment."""
    since = _moment(context, arguments.since)
    question = question_digest("memory.changes", since)
    stop = (
        _Stop(since, 0)
        if arguments.cursor is None
        else read_stop(arguments.cursor, _Stop, question)
    )
    limit = arguments.limit or PAGE_DEFAULT
    found: list[Change] = []
    for looked_at, seen in enumerate(_seen_after(context, stop)):
        if len(found) == limit or looked_at == _LOOKED_AT_MAX:
            return Changes(changes=found, cursor=write_stop(stop, question))
        stop = seen.stop
        memory = _memory_at_last_change(context, seen)
        if memory is not None:
            found.append(_shown(context, memory, seen, since))
    return Changes(changes=found)


def _moment(context: Context, since: int | str) -> int:
    """The last transaction at or before a moment."""
    if isinstance(since, str) and since.isascii() and since.isdigit() and len(since) < 17:
        since = int(since)
    if isinstance(since, int):
        return since
    return context.db.query(_ROOT, limit=1, as_of=since).t


def _seen_after(context: Context, stop: _Stop) -> Iterator[_Seen]:
    """Every entity of every transaction, from where the last page ended."""
    t, entities = (stop.t, 0) if stop.entities == 0 else (stop.t - 1, stop.entities)
    while True:
        entries = context.db.changes(since=t, limit=_TRANSACTIONS_AT_ONCE)
        for entry in entries:
            for number, id in enumerate(entry.entity_ids[entities:], entities + 1):
                yield _Seen(_Stop(entry.t, number), id, entry.t, entry.instant, entry.principal)
            entities = 0
            t = entry.t
        if len(entries) < _TRANSACTIONS_AT_ONCE:
            return


def _memory_at_last_change(context: Context, seen: _Seen) -> Entity | None:
    try:
        entity = context.db.get(seen.id)
    except NotFound:
        return None  # it was deleted since
    is_last = entity.t == seen.t and is_memory(context.db.schema(), entity.class_)
    return entity if is_last else None


def _shown(context: Context, memory: Entity, seen: _Seen, since: int) -> Change:
    (first,) = context.db.history(memory.entity_id, limit=1)
    return Change(
        entity_id=memory.entity_id,
        ident=memory.ident,
        name=name_of(memory),
        type=memory.get("memory/type"),
        scope=memory.get("memory/scope"),
        is_new=first.t > since,
        t=seen.t,
        instant=seen.instant,
        principal=seen.principal,
    )
