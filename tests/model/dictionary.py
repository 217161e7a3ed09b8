"""A workspace as a dictionary: a second, much simpler reading of the rules, without indexes."""

from __future__ import annotations

import copy
from typing import Any

NAMES = ["", "a", "b", "x" * 300]
TAGS = ["t1", "t2", "t3"]
UNIQUE = ["u1", "u2"]

PROPERTIES: dict[str, dict[str, Any]] = {
    "m/name": {"dt/range": "db.type/string", "dt/required?": True, "dt/indexed?": True},
    "m/tags": {"dt/range": "db.type/keyword", "db/cardinality": "many", "dt/indexed?": True},
    "m/code": {"dt/range": "db.type/string", "db/unique": "identity"},
    "m/count": {"dt/range": "db.type/long", "dt/min": 0, "dt/default": 0},
    "m/to": {"dt/range": "m/Node"},
    "m/all": {"dt/range": "m/Node", "db/cardinality": "many"},
    "m/part": {"dt/range": "m/Node", "db/cardinality": "many", "dt/component?": True},
}
REFERENCES = ["m/to", "m/all", "m/part"]
MANY = ["m/tags", "m/all", "m/part"]


class Wrong(Exception):
    """The dictionary refuses."""

    def __init__(self, *codes: str) -> None:
        self.codes = set(codes)


class Dictionary:
    """Entities as plain dictionaries; every state of the past is kept whole."""

    def __init__(self) -> None:
        self.now: dict[int, dict[str, Any]] = {}
        self.past: dict[int, dict[int, dict[str, Any]]] = {}
        self.required = {"m/name"}
        self.extra: set[str] = set()

    def put(self, id: int, slots: dict[str, Any]) -> None:
        """Set slots; None and the empty list clear."""
        wrong: set[str] = set()
        for slot, value in slots.items():
            if slot not in PROPERTIES and slot not in self.extra:
                wrong.add("slot.unknown")
            elif value is None or value == []:
                self.now[id].pop(slot, None)
            elif slot == "m/name" and not isinstance(value, str):
                wrong.add("value.type")
            elif slot == "m/count" and value < 0:
                wrong.add("value.out-of-bounds")
            else:
                self.now[id][slot] = value
        self.check(id, wrong)

    def check(self, id: int, wrong: set[str]) -> None:
        """Required slots and unique values."""
        entity = self.now[id]
        if any(slot not in entity for slot in self.required):
            wrong.add("slot.required")
        code = entity.get("m/code")
        if code is not None and any(
            e.get("m/code") == code for n, e in self.now.items() if n != id
        ):
            wrong.add("slot.not-unique")
        for slot in REFERENCES:
            if any(target not in self.now for target in listed(entity.get(slot))):
                wrong.add("reference.dangling")
        if wrong:
            raise Wrong(*wrong)

    def delete(self, id: int, mode: str) -> list[int]:
        """End an entity and its parts, and whatever the mode says."""
        if id not in self.now:
            raise Wrong("entity.unknown")
        doomed = self.with_parts({id})
        while True:
            outside = {
                n
                for n, entity in self.now.items()
                if n not in doomed
                for slot in REFERENCES
                if doomed & set(listed(entity.get(slot)))
            }
            if not outside or mode == "detach":
                break
            if mode == "refuse":
                raise Wrong("entity.referenced")
            doomed = self.with_parts(doomed | outside)
        for n in outside:
            for slot in REFERENCES:
                left = [v for v in listed(self.now[n].get(slot)) if v not in doomed]
                self.now[n].pop(slot, None)
                if left:
                    self.now[n][slot] = left if slot in MANY else left[0]
        for n in doomed:
            del self.now[n]
        return sorted(doomed)

    def restore(self, id: int) -> None:
        """Bring an entity back as it was last, and the parts that it had."""
        if id in self.now:
            raise Wrong("restore.living")
        back, queue = set[int](), [id]
        wrong: set[str] = set()
        while queue:
            one = queue.pop()
            if one in self.now:
                continue
            states = [self.past[t][one] for t in sorted(self.past) if one in self.past[t]]
            if not states:
                wrong |= {"entity.unknown", "entity.purged"}
                continue
            self.now[one] = copy.deepcopy(states[-1])
            back.add(one)
            queue += states[-1].get("m/part", [])
        for one in back:
            try:
                self.check(one, set())
            except Wrong as problem:
                wrong |= problem.codes
        if wrong:
            raise Wrong(*wrong)

    def purge(self, id: int, mode: str) -> list[int]:
        """Forget an entity for good, and all that it owns."""
        if id in self.now:
            gone = self.delete(id, mode)
        elif any(id in state for state in self.past.values()):
            gone = [id]
        else:
            raise Wrong("entity.unknown", "entity.purged")
        for state in self.past.values():
            for one in gone:
                state.pop(one, None)
        return gone

    def with_parts(self, ids: set[int]) -> set[int]:
        """These and all that they own."""
        found, queue = set(ids), list(ids)
        while queue:
            for part in self.now[queue.pop()].get("m/part", []):
                if part in self.now and part not in found:
                    found.add(part)
                    queue.append(part)
        return found


def listed(value: Any) -> list[Any]:
    """One value or several, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
