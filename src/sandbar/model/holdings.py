"""What the drafts of a unit hold: who has a key of a unique slot or a reference, and the values of
slots that hold many.

What no longer holds a key is left where it is until somebody comes across it: so both noting and
asking cost little, however many hold the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

from sandbar.model import core
from sandbar.model.documents import Doc
from sandbar.model.drafts import Draft
from sandbar.model.properties import Property
from sandbar.model.schema import Class
from sandbar.model.slot_values import SlotValues

_NO_VALUES: list[Any] = []


class Holdings:
    """Notes of who has come to hold a key, lowest ids first; whether it still does is looked up."""

    def __init__(self, drafts: dict[int, Draft]) -> None:
        self._drafts = drafts
        self._heaps: dict[bytes, dict[int, list[int]]] = {}  # by key and property
        self._values: dict[tuple[int, str], SlotValues] = {}

    def note(self, property: Property, stored: Any, id: int) -> None:
        """A draft has these values from now on."""
        if property.unique is None and not property.is_ref:
            return
        for key in property.index_keys(stored):
            here = self._heaps.get(key)
            if here is None:
                self._heaps[key] = {property.id: [id]}
            elif property.id in here:
                heappush(here[property.id], id)
            else:
                here[property.id] = [id]

    def note_all(self, draft: Draft, cls: Class | None) -> None:
        """The same of all slots of a draft that has become another on some other way."""
        for key, stored in (draft.doc or {}).items() if cls is not None else ():
            property = None if cls is None else cls.by_key.get(key)
            if property is not None:
                self.note(property, stored, draft.id)

    def first(self, property: Property, key: bytes, most: int) -> list[int]:
        """The lowest ids of drafts that hold this key."""
        here = self._heaps.get(key)
        heap = None if here is None else here.get(property.id)
        found: list[int] = []
        if not heap:
            return found
        while heap and len(found) < most:
            id = heappop(heap)
            if id not in found and id in self._drafts and self.still_holds(id, property, key):
                found.append(id)
        for id in found:
            heappush(heap, id)
        return found

    def among(self, key: bytes, properties: Mapping[int, object]) -> list[tuple[int, int]]:
        """(property, id) of the drafts that have come to hold this key in one of these."""
        here = self._heaps.get(key, {}).items()
        pairs = ((number, id) for number, ids in here if number in properties for id in ids)
        return [(number, id) for number, id in pairs if id in self._drafts]

    def still_holds(self, id: int, property: Property, key: bytes) -> bool:
        """Whether who held a key when it was stored or noted holds it as the unit sees it."""
        draft = self._drafts.get(id)
        if draft is None:
            return True
        if property.id == core.TYPE:
            return draft.doc is not None
        if draft.doc is None or property.key not in draft.doc:
            return False
        if property.many:
            return self.values_of(draft, property).holds(key)
        return key == property.kind.index_key(draft.doc[property.key])

    def values_of(self, draft: Draft, property: Property) -> SlotValues:
        """The values of a many-valued slot, to be asked for or changed one by one."""
        assert draft.doc is not None
        place, stored = (draft.id, property.key), draft.doc.get(property.key) or _NO_VALUES
        known = self._values.get(place)
        if known is None or not known.is_of(property, stored):
            known = self._values[place] = SlotValues(property, stored)
        return known

    def differs(self, draft: Draft, was: Doc | None) -> bool:
        """Whether a draft differs from a document, as quickly as that can be told."""

        def at_once(key: str, value: Any, before: Any) -> bool | None:
            known = self._values.get((draft.id, key))
            return None if known is None else known.differs(value, before)

        return draft.differs_from(was, at_once)

    def forget_values(self) -> None:
        """Change no list any more that is in a document by now: that may be what to go back to."""
        self._values.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._heaps.clear()
        self._values.clear()
