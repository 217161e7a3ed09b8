"""Guessing what a write will read, so that a remote store can fetch it for a whole batch at once.

A wrong guess costs a round trip, never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbar.errors import Problem
from sandbar.keywords import looks_like_ident
from sandbar.model import core
from sandbar.model.operations import Create, Delete, Operation, Update
from sandbar.model.schema import Property, Schema
from sandbar.model.unit import KEYWORD, Hashed
from sandbar.model.values.door import MAX_LONG
from sandbar.store.api import Wanted


def wanted_by(
    schema: Schema, operations: list[Operation], records: tuple[tuple[str, str], ...]
) -> Wanted:
    """Ids and keys that these operations will probably look up, and the receipts of retries."""
    ids: dict[int, None] = {}
    keys: dict[tuple[int, bytes], None] = {}
    for op in operations:
        if isinstance(op, Update | Delete):
            _name(op.entity, ids, keys)
        for name, given in _slots(op):
            number = schema.id_named(name.removeprefix(":"))
            if number is not None and number in schema.docs:
                _slot(schema, number, given, ids, keys)
    return Wanted(tuple(ids), tuple(keys), records)


def _slots(op: Operation) -> Iterator[tuple[str, Any]]:
    if isinstance(op, Create):
        yield from op.slots.items()
    elif isinstance(op, Update):
        yield from op.set.items()
        yield from op.add.items()


def _slot(
    schema: Schema,
    number: int,
    given: Any,
    ids: dict[int, None],
    keys: dict[tuple[int, bytes], None],
) -> None:
    if schema.has_class(number) or isinstance(given, Hashed):
        return
    property = schema.property_by_id(number)
    for value in given if isinstance(given, list | tuple) else [given]:
        if property.is_ref:
            _name(value, ids, keys)
        elif property.unique is not None:
            _unique(property, value, keys)


def _name(given: Any, ids: dict[int, None], keys: dict[tuple[int, bytes], None]) -> None:
    if isinstance(given, int):
        if 0 < given <= MAX_LONG:
            ids[given] = None
    elif isinstance(given, str):
        if given.isascii() and given.isdigit() and len(given) < 17:
            ids[int(given)] = None
        elif looks_like_ident(given):
            keys[core.IDENT, KEYWORD.index_key(given.removeprefix(":"))] = None


def _unique(property: Property, value: Any, keys: dict[tuple[int, bytes], None]) -> None:
    try:
        keys[property.id, property.kind.index_key(property.kind.decode(value))] = None
    except Problem:
        return  # the write itself will say what is wrong with it
