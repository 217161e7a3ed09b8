"""What a query looks at beside the rows of its walk: whom they refer to, and who refers to them.

Each is read once, and those of many rows together: a database far away takes as long for one as
for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from sandbar.model.documents import Doc, read_doc
from sandbar.model.properties import Property
from sandbar.model.rendering import Source
from sandbar.model.values import VALUE_TYPES
from sandbar.store import Equals, Found, Key, Position, Scan

_REF = VALUE_TYPES["db.type/ref"]
_PAGE = 2_000
_TOGETHER_MAX = 100  # of each; whoever has more referrers is asked about alone


class Surroundings(Source, Protocol):
    """Where a query looks."""

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""


class Neighbours:
    """Entities at a moment and who refers to them, without those of hidden classes."""

    def __init__(self, source: Surroundings, as_of: int | None, hidden: Collection[int]) -> None:
        self._source = source
        self._as_of = as_of
        self._hidden = hidden
        self._docs: dict[int, Doc | None] = {}
        self._referring: dict[tuple[int, int], list[int]] = {}

    def doc(self, id: int) -> Doc | None:
        """The document of an entity; None, if there is none to be seen."""
        if id not in self._docs:
            self.fetch((id,))
        return self._docs[id]

    def fetch(self, ids: Iterable[int]) -> None:
        """Have the documents of these at hand."""
        missing = sorted({id for id in ids if id not in self._docs})
        if not missing:
            return
        self._docs.update(dict.fromkeys(missing))
        for row in self._source.entities(missing, self._as_of):
            if row.cls not in self._hidden:
                self._docs[row.id] = read_doc(row.doc)

    def referring(self, property: Property, id: int) -> list[int]:
        """The ids in a derived slot: of those who refer to the entity by the slot it inverts."""
        if (property.id, id) not in self._referring:
            self.fetch_referring(property, (id,))
        return self._referring[property.id, id]

    def fetch_referring(self, property: Property, ids: Iterable[int]) -> None:
        """Have the values of a derived slot at hand, for all of these."""
        missing = {id for id in ids if (property.id, id) not in self._referring}
        if not missing:
            return
        assert property.inverse_of is not None
        keys = {_REF.index_key(id): id for id in missing}
        some = self._source.holders(property.inverse_of, list(keys), _TOGETHER_MAX, self._as_of)
        for key, id in keys.items():
            is_all = len(some[key]) < _TOGETHER_MAX
            found = some[key] if is_all else self._everybody(property.inverse_of, key)
            self._referring[property.id, id] = found
        if self._hidden:
            self._forget_hidden(property, missing)

    def _everybody(self, property: int, key: Key) -> list[int]:
        ids: list[int] = []
        after: Position | None = None
        while True:
            scan = Scan(Equals(property, (key,)), _PAGE, after=after, as_of=self._as_of)
            page = self._source.scan(scan)
            ids += [row.id for row in page]
            if len(page) < _PAGE:
                return ids
            after = Position(page[-1].key, page[-1].id)

    def _forget_hidden(self, property: Property, ids: Iterable[int]) -> None:
        places = [(property.id, id) for id in ids]
        self.fetch(other for place in places for other in self._referring[place])
        for place in places:
            found = self._referring[place]
            self._referring[place] = [id for id in found if self._docs[id] is not None]
