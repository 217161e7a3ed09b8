"""Purging an entity: every version of it is erased, and a mark of that stays in its history.

What the entity owns is purged with it. An entity that was deleted can be purged as well.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sandbar.errors import Forbidden, Incorrect
from sandbar.model import core
from sandbar.model.deletion import delete_entity
from sandbar.model.impact import conclude
from sandbar.model.perform import evolve
from sandbar.model.restoring import named_ever, unknown
from sandbar.model.unit import Unit
from sandbar.store import Store, Version

PurgeMode = Literal["refuse", "detach"]


class Gone(NamedTuple):
    """The entities that are gone for good, and the mark of one that was so already."""

    ids: list[int]
    mark: Version | None = None


def check_mode(mode: object) -> None:
    """Others are never purged along, however they refer to the entity."""
    if mode not in ("refuse", "detach"):
        raise Incorrect("purge.mode", "mode is refuse or detach", hint='for example "refuse"')


def purge_entity(unit: Unit, given: object, mode: PurgeMode) -> Gone:
    """Delete the entity if it is there, then let its past go."""
    unit.tx.require_alone()
    id = named_ever(unit, given)
    draft = unit.load(id)
    if draft is not None:
        _refuse_metamodel(unit, id, draft.class_id)
        gone = delete_entity(unit, draft, mode)
        evolve(unit)  # what it was detached from can be the metamodel
    else:
        end = unit.tx.hindsight().last_version(id)
        if end is None:
            raise unknown(id)
        if end.is_purge:
            return Gone([id], end)
        _refuse_metamodel(unit, id, end.cls)
        gone = [id]
    conclude(unit)
    for id in gone:
        unit.tx.erase(id)
    return Gone(gone)


def owes_scrub(store: Store, ws: int) -> bool:
    """Whether bytes of what was purged may still linger."""
    return any(duty.ws == ws and duty.is_scrub for duty in store.owed.duties())


def _refuse_metamodel(unit: Unit, id: int, class_id: int) -> None:
    if id < core.FIRST_FREE_ID or class_id in unit.schema.metaclasses:
        raise Forbidden(
            "purge.metamodel",
            "a class or property cannot be purged: the past could not be read without it",
            hint="delete it; its history stays",
        )
