"""Many definitions in parts, each of which a transaction takes.

Definitions refer to each other in circles. So new classes come first, with nothing but the classes
above them; then new properties; then all that was left out. Few definitions are one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from sandbar.model.introspection import Introspection
from sandbar.model.operations import BYTES_MAX, Create, Operation, Update

_BYTES_AT_ONCE = BYTES_MAX // 2  # other operations may come with them

# The operations of a part, each with the number of the one that it is a piece of.
Part = list[tuple[int, Operation]]

_IDENT, _ABOVE, _RANGE = "db/ident", "dt/subclass-of", "dt/range"
_LATE = {"dt/inverse-of", "dt/domain"}  # of a property
_BUILT_UPON = (_ABOVE, _RANGE, "dt/slots", *sorted(_LATE))


def definition_parts(schema: Introspection, operations: Sequence[Operation]) -> list[Part]:
    """The parts, to be written one after the other inside of one `run`."""
    most = schema.bounds.definitions_at_once
    sizes = [_size(op) for op in operations]
    if len(operations) <= most and sum(sizes) <= _BYTES_AT_ONCE:
        return [list(enumerate(operations))]
    parts: list[Part] = [[]]
    filled = 0
    for at, op in _pieces(operations):
        filled += sizes[at]
        if len(parts[-1]) >= most or filled > _BYTES_AT_ONCE:
            parts.append([])
            filled = sizes[at]
        parts[-1].append((at, op))
    return [part for part in parts if part]


def _pieces(operations: Sequence[Operation]) -> Iterator[tuple[int, Operation]]:
    """All of them in an order in which each refers to what is there, or comes with it."""
    made = {
        _bare(op.slots[_IDENT]): at
        for at, op in enumerate(operations)
        if isinstance(op, Create) and isinstance(op.slots.get(_IDENT), str)
    }

    def upon(at: int, slots: Iterable[str]) -> list[int]:
        """The numbers of the new ones that one is built upon: its class, and what slots name."""
        op = operations[at]
        given = op.slots if isinstance(op, Create) else op.set if isinstance(op, Update) else {}
        names = [op.class_] if isinstance(op, Create) else []
        for slot in slots:
            value = given.get(slot)
            names += value if isinstance(value, list) else [value]
        return [made[bare] for name in names if (bare := _bare(name)) in made]

    # A class of new classes, and what is of it, come last and whole: a piece would not do.
    kinds = {_kind(op) for op in operations}
    rest = dict(enumerate(operations))
    early = set[int]()
    for kind, slot in (("dt/Class", _ABOVE), ("dt/Property", _RANGE)):
        new = {
            at for name, at in made.items() if _kind(operations[at]) == kind and name not in kinds
        }
        above = {at: upon(at, [slot]) for at in new}
        for at in _ordered(above):
            if early.issuperset(above[at]):
                early.add(at)
                now, later = _split(operations[at], kind)
                yield at, now
                if later is None:
                    del rest[at]
                else:
                    rest[at] = later
    for at in _ordered({at: upon(at, _BUILT_UPON) for at in rest}):
        yield at, rest[at]


def _size(op: Operation) -> int:
    try:
        return len(msgspec.json.encode(op, enc_hook=str))
    except (TypeError, ValueError, RecursionError):
        return 0  # writing it will say what is wrong


def _split(op: Operation, kind: str) -> tuple[Operation, Operation | None]:
    """What comes early of a new class or property, and what is left."""
    assert isinstance(op, Create)
    if kind == "dt/Class":
        now = {slot: op.slots[slot] for slot in (_IDENT, _ABOVE) if slot in op.slots}
    else:
        now = {slot: value for slot, value in op.slots.items() if slot not in _LATE}
    later = {slot: value for slot, value in op.slots.items() if slot not in now}
    create = msgspec.structs.replace(op, slots=now)
    return create, Update(entity=op.slots[_IDENT], set=later) if later else None


def _ordered(above: dict[int, list[int]]) -> list[int]:
    """Each behind those that it is built upon, unless they are in a circle; chains can be long."""
    order: list[int] = []
    met = set[int]()
    for root in above:
        way = [(root, iter(above[root]))] if root not in met else []
        met.add(root)
        while way:
            here, others = way[-1]
            ahead = next((one for one in others if one in above and one not in met), None)
            if ahead is None:
                order.append(here)
                way.pop()
            else:
                met.add(ahead)
                way.append((ahead, iter(above[ahead])))
    return order


def _kind(op: Operation) -> str:
    return _bare(op.class_) if isinstance(op, Create) else ""


def _bare(name: Any) -> str:
    return str(name).removeprefix(":")
