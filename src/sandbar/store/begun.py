"""The values that a batch indexes: who holds them, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sandbar.store.pieces import Pair
from sandbar.store.scan import Key


class Begun:
    """Rows of the index of current values, still in memory.

    They are sorted by value only when somebody asks for one: most batches are never asked.
    """

    def __init__(self) -> None:
        self._fresh: list[tuple[int, int, Sequence[Pair]]] = []
        self._holders: dict[Pair, dict[int, int]] = {}  # id to since when

    def begin(self, pairs: Sequence[Pair], id: int, t: int) -> None:
        """Index values of an entity, which has none of them yet, from `t` on."""
        self._fresh.append((id, t, pairs))

    def take_back(self, pair: Pair, id: int) -> int | None:
        """Forget a value; returns since when it was held, if it is one of these."""
        self._sort()
        return self._holders.get(pair, {}).pop(id, None)

    def holders(self, pair: Pair) -> Iterable[int]:
        """The entities that hold a value."""
        self._sort()
        return self._holders.get(pair, ())

    def rows(self, ws: int) -> list[tuple[int, int, Key, int, int]]:
        """The rows as the table has them: workspace, property, key, id, and since when."""
        asked = [
            (ws, property, key, id, t)
            for (property, key), ids in self._holders.items()
            for id, t in ids.items()
        ]
        return asked + [
            (ws, property, key, id, t) for id, t, pairs in self._fresh for property, key in pairs
        ]

    def _sort(self) -> None:
        for id, t, pairs in self._fresh:
            for pair in pairs:
                self._holders.setdefault(pair, {})[id] = t
        self._fresh.clear()
