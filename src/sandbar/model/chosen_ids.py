"""Numbers that are chosen: an entity without a name keeps its own when it is imported."""

from __future__ import annotations

from sandbar.errors import Conflict, Incorrect
from sandbar.model import core
from sandbar.model.unit import Unit
from sandbar.store.plan import CHOSEN_ID_MAX


def chosen_id(unit: Unit, id: int) -> int:
    """The number that a new entity asks for, if nobody ever had it."""
    if not core.FIRST_FREE_ID <= id <= CHOSEN_ID_MAX:
        raise Incorrect(
            "entity.id-range",
            f"{id} cannot be the number of an entity",
            hint=f"numbers are from {core.FIRST_FREE_ID} to {CHOSEN_ID_MAX}",
        )
    if id in unit.drafts or unit.tx.was_used(id):
        raise Conflict(
            "entity.id-taken",
            f"{id} is or was the number of another entity of this workspace",
            hint="give the entity a db/ident, by which it is known everywhere",
        )
    unit.tx.reserve_ids(id)
    return id
