"""Guessing what a write will read, so that a remote store can fetch it for a whole batch at once.

A wrong guess costs a round trip, never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.errors import Problem
from sandbar.keywords import looks_like_ident, spellings
from sandbar.model import core
from sandbar.model.drafts import Hashed
from sandbar.model.operations import Create, Delete, Operation, Update
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.model.unit import KEYWORD
from sandbar.model.values.door import MAX_LONG
from sandbar.store import Wanted


def wanted_by(
    schema: Schema, operations: Sequence[Operation], records: tuple[tuple[str, str], ...]
) -> Wanted:
    """Ids and keys that these operations will probably look up, and the receipts of retries."""
    ids: dict[int, None] = {}
    keys: dict[tuple[int, bytes], None] = {}
    looked_up = schema.looked_up
    for op in operations:
        if isinstance(op, Update | Delete):
            _name(op.entity, ids, keys)
        for slots in _slots(op):
            for name, given in slots.items():
                property = looked_up.get(name)
                if property is not None and not isinstance(given, Hashed):
                    _slot(property, given, ids, keys)
    return Wanted(tuple(ids), tuple(keys), records)


def wanted_names(names: Sequence[int | str]) -> Wanted:
    """What is behind these ids and idents."""
    ids: dict[int, None] = {}
    keys: dict[tuple[int, bytes], None] = {}
    for name in names:
        _name(name, ids, keys)
    return Wanted(tuple(ids), tuple(keys))


def _slots(op: Operation) -> tuple[dict[str, Any], ...]:
    if isinstance(op, Create):
        return (op.slots,)
    return (op.set, op.add) if isinstance(op, Update) else ()


def _slot(
    property: Property, given: Any, ids: dict[int, None], keys: dict[tuple[int, bytes], None]
) -> None:
    for value in given if isinstance(given, list | tuple) else [given]:
        if property.is_ref:
            _name(value, ids, keys)
        else:
            _unique(property, value, keys)


def _name(given: Any, ids: dict[int, None], keys: dict[tuple[int, bytes], None]) -> None:
    if isinstance(given, int):
        if 0 < given <= MAX_LONG:
            ids[int.__int__(given)] = None
    elif isinstance(given, str):
        if given.isascii() and given.isdigit() and len(given) < 17:
            ids[int(given)] = None
        elif looks_like_ident(given):
            for spelled in spellings(given):
                keys[core.IDENT, KEYWORD.index_key(spelled)] = None


def _unique(property: Property, value: Any, keys: dict[tuple[int, bytes], None]) -> None:
    try:
        keys[property.id, property.kind.index_key(property.kind.decode(value))] = None
    except Problem:
        return  # the write itself will say what is wrong with it
