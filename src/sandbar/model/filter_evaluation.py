"""Deciding which entities satisfy a filter, with what is known of their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.model.documents import Doc
from sandbar.model.filters import And, Compare, Exists, Node, Not, Or, Through, is_local
from sandbar.model.neighbours import Neighbours
from sandbar.model.properties import Property


class Evaluator:
    """Decides whether an entity satisfies a filter, which may ask about its neighbours."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        self._known: dict[tuple[int, int], bool] = {}

    def look_ahead(self, node: Node, rows: list[tuple[int, Doc]]) -> None:
        """Fetch in one go what the filter will ask about the neighbours of these."""
        if not rows or is_local(node):
            return
        if isinstance(node, And):
            here = [part for part in node.parts if is_local(part)]
            rows = [row for row in rows if all(self.holds(part, *row) for part in here)]
        if isinstance(node, And | Or):
            for part in node.parts:
                self.look_ahead(part, rows)
        elif isinstance(node, Not):
            self.look_ahead(node.part, rows)
        else:
            self._fetch(node, rows)

    def _fetch(self, node: Compare | Exists | Through, rows: list[tuple[int, Doc]]) -> None:
        if node.property.inverse_of:
            self._neighbours.fetch_referring(node.property, [id for id, _ in rows])
        if isinstance(node, Through):
            inner = id(node.inner)
            named = (target for row in rows for target in self._values(node.property, *row))
            targets = {target for target in named if (inner, target) not in self._known}
            self._neighbours.fetch(targets)
            docs = ((target, self._neighbours.doc(target)) for target in sorted(targets))
            self.look_ahead(node.inner, [(one, doc) for one, doc in docs if doc is not None])

    def satisfying(self, node: Node, rows: list[tuple[int, Doc]]) -> list[int]:
        """Those that satisfy a filter; of each it is kept whether it does."""
        self.look_ahead(node, rows)
        verdicts = {number: self.holds(node, number, doc) for number, doc in rows}
        self._known.update(((id(node), number), holds) for number, holds in verdicts.items())
        return [number for number, holds in verdicts.items() if holds]

    def holds(self, node: Node, id: int, doc: Doc) -> bool:
        """Whether the entity with this document satisfies the filter."""
        if isinstance(node, Compare):
            return self._compares(node, id, doc)
        if isinstance(node, And):
            return all(self.holds(part, id, doc) for part in node.parts)
        if isinstance(node, Or):
            return any(self.holds(part, id, doc) for part in node.parts)
        if isinstance(node, Not):
            return not self.holds(node.part, id, doc)
        if isinstance(node, Exists):
            return bool(self._values(node.property, id, doc)) == node.wanted
        return any(
            self._holds_there(node.inner, target) for target in self._values(node.property, id, doc)
        )

    def _holds_there(self, node: Node, target: int) -> bool:
        """Many refer to the same few: each is looked at once."""
        place = (id(node), target)
        known = self._known.get(place)
        if known is None:
            doc = self._neighbours.doc(target)
            known = self._known[place] = doc is not None and self.holds(node, target, doc)
        return known

    def _values(self, property: Property, id: int, doc: Doc) -> list[Any]:
        if property.inverse_of:
            return self._neighbours.referring(property, id)
        return property.values(doc.get(property.key))

    def _compares(self, node: Compare, id: int, doc: Doc) -> bool:
        values = self._values(node.property, id, doc)
        op = node.op
        if op == "contains" and not node.keys:
            return any(node.text in value for value in values)
        if op == "starts-with":
            return any(value.startswith(node.text) for value in values)
        order_key = node.property.kind.order_key
        keys = [order_key(value) for value in values]
        if op in ("=", "in", "contains"):
            return not node.among.isdisjoint(keys)
        if op == "!=":
            return node.among.isdisjoint(keys)
        bound = node.keys[0]
        return any(_ORDER[op](key, bound) for key in keys)


_ORDER: dict[str, Callable[[bytes, bytes], bool]] = {
    "<": lambda key, bound: key < bound,
    "<=": lambda key, bound: key <= bound,
    ">": lambda key, bound: key > bound,
    ">=": lambda key, bound: key >= bound,
}
