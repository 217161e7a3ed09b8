"""Whose family it is and what belongs to it, derived anew from the caller on every call.

Only the family's own entries of the index are looked at: who calls leads to the family, the family
to its loved ones, each of them to its events. What is somebody else's is never looked for: nothing
can be told of it, neither by an answer nor by the time that it takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from sandbar.model import Entity
from sandbar.verbs import Context

LOVED_ONES_MAX = 100  # that are told of one family; `more` says that there are others
_AT_ONCE = 1000
_TOLD = ("care-event/at", "care-event/kind", "care-event/summary")
_LOOKS_MAX = 10  # an answer draws on the 10,000 events of a person that were recorded last, and
# on the first 10,000 people of a family


class LovedOnes(NamedTuple):
    """The people a family cares for, in the order in which they were entered."""

    entities: list[Entity]
    more: bool


def own_family(context: Context) -> Entity | None:
    """The family of whoever the key belongs to; None if there is none."""
    account = context.db.caller.account_id
    if account is None:
        return None
    found = context.db.query("care/Family", {"family/members": account}, limit=1).items
    return found[0] if found else None


def loved_ones(context: Context, family: Entity) -> LovedOnes:
    """Whom a family cares for."""
    page = context.db.query("care/LovedOne", _of(family), limit=LOVED_ONES_MAX)
    return LovedOnes(page.items, page.cursor is not None)


def loved_one(context: Context, family: Entity, id: int | str) -> Entity | None:
    """The one with this id or ident; None for whatever is not this family's.

    All of its people are gone through, and nothing else: how long it takes to find nobody says how
    many there are in the own family.
    """
    given = str(id).removeprefix(":")
    cursor = None
    for _ in range(_LOOKS_MAX):
        page = context.db.query(
            "care/LovedOne",
            _of(family),
            fields=("loved-one/name",),
            limit=_AT_ONCE,
            cursor=cursor,
        )
        for one in page.items:
            if given in (str(one.entity_id), one.ident):
                return one
        cursor = page.cursor
        if cursor is None:
            break
    return None


def _of(family: Entity) -> dict[str, int]:
    return {"loved-one/family": family.entity_id}


def newest_events(context: Context, loved_one: Entity, limit: int) -> list[Entity]:
    """What happened to somebody, newest first."""
    return heapq.nlargest(limit, _events(context, loved_one.entity_id), key=happened)


def happened(event: Entity) -> tuple[datetime, int]:
    """What puts events in order: when they happened, then when they were recorded."""
    return datetime.fromisoformat(event["care-event/at"]), event.entity_id


def _events(context: Context, loved_one: int) -> Iterator[Entity]:
    """A person's events, those that were recorded last first.

    The index of references is walked backwards, between a person and that person: in order of time
    the walk would pass by the events of all families.
    """
    where = {"care-event/loved-one": {">=": loved_one, "<=": loved_one}}
    cursor = None
    for _ in range(_LOOKS_MAX):
        page = context.db.query(
            "care/Event",
            where,
            order_by="-care-event/loved-one",
            fields=_TOLD,
            limit=_AT_ONCE,
            cursor=cursor,
        )
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
