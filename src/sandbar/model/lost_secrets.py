"""Secrets whose slot is taken from a class, or becomes public, end with it.

No document holds them, so no report of what is in use could name them, and nothing would ever
clear them: they would count again as soon as somebody gave the class that slot back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.unit import Unit
from sandbar.store import Row


def forget_lost_secrets(
    unit: Unit,
    cls: Class,
    ended: Iterable[int],
    instances: Callable[[Unit, Class], Iterable[Row]],
) -> None:
    """Drop the hashes of all instances in slots that the class, as it is now, has no secrets in.

    `ended` are those that the unit has deleted.
    """
    lost = _lost_slots(unit.stored_schema.class_by_id(cls.id), cls)
    if not lost:
        return
    for id in ended:
        _forget(unit, id, lost)  # it was deleted when its class had the slot no longer
    for row in instances(unit, cls):
        _forget(unit, row.id, lost)


def _lost_slots(before: Class, after: Class) -> list[Property]:
    kept = {property.id for property in after.slots.values() if property.secret}
    return [p for p in before.slots.values() if p.secret and p.id not in kept]


def _forget(unit: Unit, id: int, lost: list[Property]) -> None:
    for property in lost:
        unit.tx.forget_secret(id, property.id)
