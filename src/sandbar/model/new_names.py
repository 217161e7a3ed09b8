"""What a new entity is known by: its name, or a number of its own or of our choice."""

from __future__ import annotations

from sandbar.errors import Conflict, Incorrect
from sandbar.keywords import parse_ident
from sandbar.model import core
from sandbar.model.operations import Create
from sandbar.model.unit import Unit
from sandbar.store import CHOSEN_ID_MAX


def given_ident(op: Create) -> str | None:
    """The name that a new entity is to have, if it is one."""
    given = op.slots.get("db/ident", op.slots.get(":db/ident"))
    try:
        return parse_ident(given) if isinstance(given, str) else None
    except Incorrect:
        return None  # it will be found wrong together with the other slots


def new_id(unit: Unit, op: Create, ident: str | None) -> int:
    """The next number; one without a name may ask for the one that it had elsewhere."""
    return unit.tx.new_id() if op.id is None or ident is not None else _chosen(unit, op.id)


def _chosen(unit: Unit, id: int) -> int:
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
