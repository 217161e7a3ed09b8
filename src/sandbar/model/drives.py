"""Choosing the index that a query walks.

Only what must hold for every result can drive: the parts of a top-level conjunction. Equality
beats a range, a unique slot beats everything, and the class itself is the last resort.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sandbar.model.documents import Doc
from sandbar.model.filters import And, Compare, Node, Or, Through
from sandbar.model.properties import Property
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.keys import shortened
from sandbar.store import Between, Equals, Found

THROUGH_IDS_MAX = 1000
PREFIX_BYTES = 224  # index keys of long values are exact up to here

_REF = VALUE_TYPES["db.type/ref"]

FindIds = Callable[[Equals | Between, Node, int], list[int] | None]


class Drive(NamedTuple):
    """The chosen walk, and what else the index can check on the way."""

    main: Equals | Between
    property: Property | None
    equals: tuple[Equals, ...]
    ranges: dict[int, Between]
    is_unique: bool

    def ordered_by(self, order: Property) -> Between:
        """The walk along an ordering slot, within whatever range the filter gives for it."""
        return self.ranges.get(order.id, Between(order.id, None, None))

    def is_repeated(self, row: Found, doc: Doc) -> bool:
        """Whether a walk along a many-valued slot has met this entity under a lower key."""
        if self.property is None or not self.property.many or not isinstance(self.main, Between):
            return False
        low, high = self.main.low, self.main.high
        keys = self.property.index_keys(doc.get(self.property.key) or [])
        inside = [k for k in keys if (low is None or k >= low) and (high is None or k < high)]
        return bool(inside) and row.key != min(inside)


def choose_drive(
    node: Node, everything: Equals, ids: FindIds, is_small: Callable[[Equals], bool]
) -> Drive:
    """The best walk for a filter; `everything` walks all instances of the class."""
    parts = node.parts if isinstance(node, And) else (node,)
    ranges = _ranges(parts)
    candidates = [c for part in parts if (c := _equality(part, ids)) is not None]
    unique = [c for p, c in candidates if p is not None and p.unique]
    equals = tuple(c for _, c in candidates)
    if unique:
        return Drive(unique[0], None, equals, ranges, True)
    if equals:
        best = next((c for c in equals if is_small(c)), equals[0]) if len(equals) > 1 else equals[0]
        return Drive(best, None, equals, ranges, False)
    for part in parts:
        if isinstance(part, Compare) and part.property.id in ranges:
            return Drive(ranges[part.property.id], part.property, (), ranges, False)
    return Drive(everything, None, (), ranges, False)


def _equality(part: Node, ids: FindIds) -> tuple[Property | None, Equals] | None:
    """The keys that an index lookup can start from, if this part gives any."""
    if isinstance(part, Compare) and part.op in ("=", "in") and _has_index(part.property):
        return part.property, Equals(part.property.id, _index_keys(part.keys))
    if isinstance(part, Or):
        return _union(part)
    if isinstance(part, Through) and _has_index(part.property):
        return _through(part, ids)
    return None


def _union(part: Or) -> tuple[Property, Equals] | None:
    """Alternatives drive together if they are equalities of one slot."""
    first = part.parts[0] if part.parts else None
    if not isinstance(first, Compare) or not _has_index(first.property):
        return None
    keys: list[bytes] = []
    for each in part.parts:
        if not isinstance(each, Compare) or each.property is not first.property:
            return None
        if each.op not in ("=", "in"):
            return None
        keys += each.keys
    return first.property, Equals(first.property.id, _index_keys(tuple(keys)))


def _through(part: Through, ids: FindIds) -> tuple[Property, Equals] | None:
    """Follow a reference backwards: first the targets, then whoever refers to them."""
    inner = part.inner.parts if isinstance(part.inner, And) else (part.inner,)
    starts: list[Equals | Between] = [c for p in inner if (c := _start(p, ids)) is not None]
    starts += _ranges(inner).values()
    if not starts:
        return None
    found = ids(starts[0], part.inner, THROUGH_IDS_MAX)
    if found is None:
        return None
    return part.property, Equals(part.property.id, tuple(_REF.index_key(id) for id in found))


def _start(part: Node, ids: FindIds) -> Equals | None:
    found = _equality(part, ids)
    return None if found is None else found[1]


def _ranges(parts: tuple[Node, ...]) -> dict[int, Between]:
    """The key range that each compared slot must lie in (wide enough; the filter decides)."""
    ranges: dict[int, Between] = {}
    for part in parts:
        if not isinstance(part, Compare) or not _has_index(part.property):
            continue
        span = _span(part)
        if span is None:
            continue
        had = ranges.get(part.property.id)
        if had is None:
            ranges[part.property.id] = span
        elif not part.property.many:
            ranges[part.property.id] = _intersection(had, span)
    return ranges


def _span(part: Compare) -> Between | None:
    id = part.property.id
    if part.op == "starts-with":
        prefix = part.property.kind.order_key(part.text)[:PREFIX_BYTES]
        return Between(id, prefix, _successor(prefix))
    if part.op in (">", ">="):
        return Between(id, part.keys[0][:PREFIX_BYTES], None)
    if part.op in ("<", "<="):
        key = part.keys[0]
        return Between(
            id, None, key + b"\0" if len(key) <= PREFIX_BYTES else _successor(key[:PREFIX_BYTES])
        )
    return None


def _intersection(one: Between, other: Between) -> Between:
    lows = [low for low in (one.low, other.low) if low is not None]
    highs = [high for high in (one.high, other.high) if high is not None]
    return Between(one.property, max(lows, default=None), min(highs, default=None))


def _successor(prefix: bytes) -> bytes | None:
    """The first key after all that begin with the prefix."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _index_keys(order_keys: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(dict.fromkeys(shortened(key) for key in order_keys))


def _has_index(property: Property) -> bool:
    return property.indexed and not property.inverse_of
