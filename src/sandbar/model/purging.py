"""Purging an entity: every version of it is erased, and a mark of that stays in its history.

What the entity owns is purged with it. An entity that was deleted can be purged as well.
"""

from __future__ import annotations

from typing import Literal

from sandbar import clock
from sandbar.errors import Forbidden, Incorrect, NotFound
from sandbar.model import core
from sandbar.model.deletion import delete_entity
from sandbar.model.impact import conclude
from sandbar.model.perform import evolve
from sandbar.model.restoring import named_ever, purged, unknown
from sandbar.model.results import Receipt
from sandbar.model.unit import Unit
from sandbar.store.api import Store, Version

PurgeMode = Literal["refuse", "detach"]


class PurgedBefore(NotFound):
    """The entity was purged already; the receipt is that of then."""

    def __init__(self, id: int, mark: Version, epoch: int) -> None:
        problem = purged(id)
        super().__init__(problem.code, problem.message, hint=problem.hint)
        self.id = id
        self.receipt = Receipt(mark.t, clock.instant_text(mark.instant_us), epoch)


def check_mode(mode: object) -> None:
    """Others are never purged along, however they refer to the entity."""
    if mode not in ("refuse", "detach"):
        raise Incorrect("purge.mode", "mode is refuse or detach", hint='for example "refuse"')


def purge_entity(unit: Unit, given: object, mode: PurgeMode) -> list[int]:
    """Delete the entity if it is there, then let its past go; returns the ids that went."""
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
            raise PurgedBefore(id, end, unit.tx.epoch)
        _refuse_metamodel(unit, id, end.cls)
        gone = [id]
    conclude(unit)
    for id in gone:
        unit.tx.erase(id)
    return gone


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
