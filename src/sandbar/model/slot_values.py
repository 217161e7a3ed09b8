"""The values of a many-valued slot, with their keys at hand.

A transaction may change one slot ten thousand times, or ask as often who is in it: each of these
costs what it is about, not what the slot holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any

from sandbar.model.checks import VALUES_MAX, too_many_values
from sandbar.model.documents import exact
from sandbar.model.properties import Property


class SlotValues:
    """A list of its own, which may go into a document, and what is needed to change it quickly."""

    def __init__(self, property: Property, stored: list[Any]) -> None:
        self.values = list(stored)
        self._property = property
        self._source = stored
        self._keys = [property.value_key(value) for value in stored]  # of the source
        self._numbers = list(range(len(stored)))  # of the values, in their order: ever greater
        self._number_of = dict(zip(self._keys, self._numbers, strict=True))
        self._next = len(stored)
        self._held: Counter[bytes] | None = None
        self._places = dict(self._number_of)  # of the keys in the source
        self._missing = self._extra = 0  # how many of the source are not here, and vice versa
        self._first_gone = len(stored)  # the lowest place in the source that something has left
        self._other = len(stored)  # a place where something else stood when it was last compared

    def is_of(self, property: Property, stored: Any) -> bool:
        """Whether it tells of what is stored there."""
        return property is self._property and (stored is self.values or stored is self._source)

    def holds(self, key: bytes) -> bool:
        """Whether a value has this key of the index."""
        if self._held is None:
            self._held = Counter(self._property.index_keys(self.values))
        return self._held[key] > 0

    def add(self, given: Iterable[Any]) -> list[Any]:
        """Put these behind the others, unless they are there; returns those that were not."""
        key_of = self._property.value_key
        fresh = {key: one for one in given if (key := key_of(one)) not in self._number_of}
        if len(self.values) + len(fresh) > VALUES_MAX:
            raise too_many_values()
        for key, value in fresh.items():
            self._number_of[key] = self._next
            self._numbers.append(self._next)
            self.values.append(value)
            self._next += 1
            self._count(key, value, 1)
        return list(fresh.values())

    def remove(self, given: Iterable[Any]) -> list[Any]:
        """Take these out, if they are there; none is new by that."""
        for one in given:
            key = self._property.value_key(one)
            number = self._number_of.pop(key, None)
            if number is None:
                continue
            at = bisect_left(self._numbers, number)
            self._count(key, self.values[at], -1)
            self._first_gone = min(self._first_gone, self._places.get(key, self._first_gone))
            del self._numbers[at], self.values[at]
        return []

    def _count(self, key: bytes, value: Any, change: int) -> None:
        if key in self._places:
            self._missing -= change
        else:
            self._extra += change
        if self._held is not None:
            for one in self._property.index_keys([value]):
                self._held[one] += change

    def differs(self, value: Any, before: Any) -> bool | None:
        """Whether the one is another than the other; None if it cannot be told quickly.

        What was taken out and put back stands at the end: if that is all, only what has been behind
        it has to be compared.
        """
        if value is not self.values or before is not self._source:
            return None
        if self._missing or self._extra or self._is_other(self._other):
            return True
        behind = range(self._first_gone, len(self._keys))
        self._other = next(filter(self._is_other, behind), len(self._keys))
        tail = slice(self._first_gone, None)
        if self._is_other(self._other) or exact(self.values[tail]) != exact(before[tail]):
            return True
        self._first_gone = len(self._keys)
        return False

    def _is_other(self, place: int) -> bool:
        """Whether another value stands at a place than in the source."""
        if place == len(self._keys):
            return False
        return self._numbers[place] != self._number_of[self._keys[place]]
