"""The filter language once more, written from its description over plain entities.

Nothing here knows of indexes, documents or keys: values are compared as Python compares them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sandbar import Database
from sandbar.model import Entity

EXACT = 224  # so many bytes of a text decide its place in an ordering
ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Naive:
    """Answers filters over everything that a database holds at one moment."""

    def __init__(self, db: Database, cls: str, as_of: int | None = None) -> None:
        schema = db.schema if as_of is None else db.schema_as_of(as_of)
        self.schema = schema
        self.entities: dict[int, Entity] = {
            entity.entity_id: entity for entity in db.each("dt/Resource", as_of=as_of)
        }
        self.named = {e.ident: e.entity_id for e in self.entities.values() if e.ident}
        self.candidates = [e for e in self.entities.values() if schema.is_kind(e.class_, cls)]

    def answer(self, where: dict[str, Any], order_by: str | None = None) -> list[int]:
        """The ids of what satisfies the filter; by id, or in the order asked for."""
        good = [e for e in self.candidates if self.holds(where, e)]
        good.sort(key=lambda entity: entity.entity_id)
        if order_by is None:
            return [entity.entity_id for entity in good]
        slot, down = order_by.removeprefix("-"), order_by.startswith("-")
        has = [(self.comparable(slot, e[slot]), e.entity_id) for e in good if slot in e.slots]
        lacks = [e.entity_id for e in good if slot not in e.slots]
        return [id for _, id in sorted(has, reverse=down)] + lacks

    def ranks(self, order_by: str) -> dict[int, Any]:
        """What decides the place of each: of long texts that begin alike, only the beginning."""
        slot = order_by.removeprefix("-")
        return {
            e.entity_id: value[:EXACT] if isinstance(value, str) and len(value) > EXACT else e
            for e in self.candidates
            for value in [e.get(slot)]
        }

    def holds(self, where: dict[str, Any], entity: Entity) -> bool:
        """Whether all parts of a filter hold."""
        return all(self.part(key, value, entity) for key, value in where.items())

    def part(self, key: str, value: Any, entity: Entity) -> bool:
        """One part: a connective, a comparison, or a step through a reference."""
        if key == "and":
            return all(self.holds(part, entity) for part in value)
        if key == "or":
            return any(self.holds(part, entity) for part in value)
        if key == "not":
            return not self.holds(value, entity)
        values = self.values(key, entity)
        if not isinstance(value, dict):
            value = {"exists": False} if value is None else {"=": value}
        if any("/" in word or word in ("and", "or", "not") for word in value):
            return any(self.holds(value, self.entities[id]) for id in values)
        return all(self.compare(key, op, operand, values) for op, operand in value.items())

    def values(self, slot: str, entity: Entity) -> list[Any]:
        """The values of a slot in a form that can be compared; references as ids."""
        if slot not in entity.slots:
            return []
        raw = entity[slot]
        many = raw if self.schema.cardinality(slot) == "many" else [raw]
        return [self.comparable(slot, value) for value in many]

    def comparable(self, slot: str, value: Any) -> Any:
        """A value as something that Python orders rightly."""
        kind = self.schema.range(slot)
        if kind in ("db.type/bigdec", "db.type/bigint"):
            return Decimal(str(value))
        if kind.startswith("db.type/") and kind != "db.type/ref":
            return value
        return self.named[value] if isinstance(value, str) else value

    def compare(self, slot: str, op: str, operand: Any, values: list[Any]) -> bool:
        """One comparison: it holds if it holds for any value."""
        if op == "exists":
            return bool(values) is operand
        if op == "starts-with":
            return any(value.startswith(operand) for value in values)
        if op == "contains" and isinstance(operand, str) and values and isinstance(values[0], str):
            return any(operand in value for value in values)
        if op == "in":
            return any(value in [self.comparable(slot, o) for o in operand] for value in values)
        wanted = self.comparable(slot, operand)
        if op in ("=", "contains"):
            return wanted in values
        if op == "!=":
            return wanted not in values
        return any(ORDER[op](value, wanted) for value in values)
