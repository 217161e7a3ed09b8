"""Whether a file and an entity say the same: by meaning, not by bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from sandbar.codecs import Parsed
from sandbar.errors import Problem
from sandbar.keywords import parse_ident
from sandbar.model import Entity, Introspection

IDENT = "db/ident"
Name = str | int  # an ident, or the number of an entity that has none

_encode = msgspec.json.Encoder(order="deterministic").encode
_NOT_GIVEN: Any = object()


class Facts(msgspec.Struct, frozen=True):
    """What comparing needs to know of a class's slots."""

    refs: frozenset[str]
    required: frozenset[str]
    many: frozenset[str]
    computed: frozenset[str]
    secret: frozenset[str]
    defaults: dict[str, Any]
    unique: tuple[str, ...]  # slots by whose value an instance can be found


def facts_of(schema: Introspection, class_: str) -> Facts:
    """The same for every instance, so it is worked out once."""

    def make() -> Facts:
        slots = {name: schema.describe_property(name) for name in schema.slots(class_)}
        values = set(schema.datatypes()) - {"db.type/ref"}

        def having(key: str) -> frozenset[str]:
            return frozenset(name for name, slot in slots.items() if slot.get(key))

        unique = [n for n, s in slots.items() if s.get("unique") and n != IDENT]
        return Facts(
            refs=frozenset(n for n, s in slots.items() if s["range"] not in values),
            required=frozenset(schema.required_slots(class_)),
            many=frozenset(n for n, s in slots.items() if s["cardinality"] == "many"),
            computed=having("inverse-of"),
            secret=having("secret?"),
            defaults={n: s["default"] for n, s in slots.items() if s.get("default") is not None},
            unique=tuple(n for n in unique if slots[n]["range"] in values),
        )

    return schema.derived(("project.facts", class_), make)


def name_of(given: Any) -> Name | None:
    """Whom a reference names; None if it does so by a value."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, str):
        if given.isascii() and given.isdigit() and len(given) < 17:
            return int(given)
        try:
            return parse_ident(given)
        except Problem:
            return None
    return None


def references(facts: Facts, slots: dict[str, Any]) -> Iterator[tuple[str, Name]]:
    """Every name that these slots refer to, with its slot."""
    for slot in sorted(facts.refs.intersection(slots)):  # told in this order, every time
        for given in _listed(slots[slot]):
            name = name_of(given)
            if name is not None:
                yield slot, name


class Comparison:
    """Compares what files state with entities of one workspace."""

    def __init__(self, schema: Introspection, find: Callable[[Any], Entity | None]) -> None:
        self._schema = schema
        self._find = find

    def stated(self, parsed: Parsed, *, is_exact: bool) -> dict[str, Any]:
        """The slots that a file is about, None for those that it states to be empty.

        A file that an export wrote states all; in one that people wrote, slots with a default that
        it does not mention have the default.
        """
        facts = facts_of(self._schema, parsed.class_)
        empty = {slot: None for slot in parsed.lines if slot not in parsed.slots}
        filled = {} if is_exact else facts.defaults
        return {**filled, **empty, **parsed.slots}

    def differences(
        self, parsed: Parsed, entity: Entity, *, is_exact: bool, is_whole: bool
    ) -> dict[str, Any]:
        """What to set (None: clear), so that the entity is what the file states."""
        facts = facts_of(self._schema, parsed.class_)
        stated = self.stated(parsed, is_exact=is_exact or not is_whole)
        if is_whole:
            stated = {**dict.fromkeys(entity.slots), **stated}
        return {
            slot: given
            for slot, given in stated.items()
            if slot not in facts.computed
            and slot not in facts.secret
            and slot != "dt/type"
            and not self._is_same(facts, slot, given, entity.slots.get(slot))
        }

    def _is_same(self, facts: Facts, slot: str, given: Any, kept: Any) -> bool:
        if given is None or kept is None:
            return given is kept
        if slot in facts.refs:
            wanted = list(dict.fromkeys(map(self._named, _listed(given))))
            return wanted == _listed(kept) or [self._resolved(one) for one in wanted] == [
                self._resolved(one) for one in _listed(kept)
            ]
        if type(given) is type(kept) is str and given == kept:
            return True
        return _encode(self._schema.stored(slot, given)) == _encode(kept)

    def _named(self, given: Any) -> Any:
        name = name_of(given)
        if name is not None:
            return name
        found = self._find(given) if isinstance(given, dict) else None
        return str(given) if found is None else found.entity_id

    def _resolved(self, name: Any) -> Any:
        found = self._find(name)
        return name if found is None else found.entity_id


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
