"""Finding out which entity a caller means, when reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Protocol

from sandbar.errors import Incorrect, NotFound
from sandbar.keywords import parse_ident, spellings
from sandbar.model import core
from sandbar.model.checks import decode_slot
from sandbar.model.findings import Suggestion
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.refusals import named, quoted
from sandbar.model.values.scalars import decode_ref

_KEYWORD = VALUE_TYPES["db.type/keyword"]

_DEPTH_MAX = 8

FINDERS = "entity.query and search.text find entities"
_FINDERS = {
    core.RANGE: "schema.datatypes lists the value types, schema.classes the classes",
    core.SLOTS: "define it under properties in the same schema.define; "
    "schema.properties lists those there are",
    core.SUBCLASS_OF: "define it under classes in the same schema.define; "
    "schema.classes lists those there are",
    core.DOMAIN: "schema.classes lists them",
    core.INVERSE_OF: "schema.properties lists them",
}


class Finder(Protocol):
    """Looks keys up in the index, now or as of the past."""

    def find(self, property: int, key: bytes) -> list[int]: ...
    def find_as_of(self, property: int, key: bytes, t: int) -> list[int]: ...


class Holders(Finder, Protocol):
    """Looks many keys up in one go."""

    def holders(
        self, property: int, keys: Sequence[bytes], limit: int, as_of: int | None = None
    ) -> dict[bytes, list[int]]: ...


def as_id(given: Any) -> int | None:
    """The id, if the caller gave one (a number, or its digits)."""
    if isinstance(given, int) and not isinstance(given, bool):
        return decode_ref(given)
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 17:
        return int(given)
    return None


def as_keys(
    schema: Schema, given: Any, find: Callable[[Any], int] | None = None
) -> tuple[Property, list[bytes]]:
    """The unique slot and the keys by which the caller names an entity: one for each spelling.

    The value of a slot that refers to another entity names that one, for somebody to `find`.
    """
    if isinstance(given, str):
        ident = schema.property_by_id(core.IDENT)
        parse_ident(given)
        return ident, [_KEYWORD.index_key(spelled) for spelled in spellings(given)]
    if isinstance(given, dict) and len(given) == 1:
        name, value = next(iter(given.items()))
        property = looked_up_by(schema, name, value)

        def target_of(target: Any, slot: Property) -> int:
            if find is None:
                raise Incorrect(
                    "reference.malformed",
                    "look up by a value, not by a reference",
                    hint="use the id",
                )
            return find(target)

        stored = decode_slot(property, value, target_of)
        return property, lookup_keys(property, value, stored)
    raise Incorrect(
        "reference.malformed",
        f"{quoted(given)} does not name an entity",
        hint="use an id, an ident such as zorp/Boot, or {slot: value} of a unique slot",
    )


def looked_up_by(schema: Schema, name: Any, value: Any) -> Property:
    """The unique slot of that name; refuses a value that names another, and so on without end."""
    property = schema.property_named(name)
    if property.unique is None:
        raise Incorrect(
            "reference.not-unique", f"{property.ident} is not unique", hint="use entity.query"
        )
    for _ in range(_DEPTH_MAX):
        if not isinstance(value, dict) or len(value) != 1:
            return property
        value = next(iter(value.values()))
    raise Incorrect(
        "reference.malformed", f"names have at most {_DEPTH_MAX} levels", hint="use the id"
    )


def lookup_keys(property: Property, given: Any, stored: Any) -> list[bytes]:
    """The keys of the one value that is looked up: of an ident, one for each spelling."""
    keys = property.index_keys(stored)
    if len(keys) != 1:
        raise Incorrect("reference.malformed", "look up by one value", hint="give a single value")
    if property.id != core.IDENT or not isinstance(given, str):
        return keys
    return [_KEYWORD.index_key(spelled) for spelled in spellings(given)]


def resolve(finder: Finder, schema: Schema, given: Any, as_of: int | None) -> int:
    """The id of the entity that the caller names."""
    id = as_id(given)
    if id is not None:
        return id
    property, keys = as_keys(schema, given, lambda other: resolve(finder, schema, other, as_of))
    for key in keys:
        if as_of is None:
            found = finder.find(property.id, key)
        else:
            found = finder.find_as_of(property.id, key, as_of)
        if found:
            return found[0]
    raise unknown_entity(schema, given)


class Naming(Protocol):
    """Knows whom the names in a question mean."""

    def expect(self, given: list[Any]) -> None:
        """Get ready for these: a database far away looks them up in one go."""

    def resolve(self, given: Any) -> int:
        """The id of the entity that the caller names."""


class Names:
    """Finds the entities that a reader names; those of a list in one go."""

    def __init__(self, finder: Holders, schema: Schema, as_of: int | None) -> None:
        self._finder = finder
        self._schema = schema
        self._as_of = as_of
        self._known: dict[Any, int] = {}

    def expect(self, given: list[Any]) -> None:
        """Look these up together, as far as they are idents."""
        keys = ident_keys(given)
        found = self._finder.holders(core.IDENT, list(keys), 1, self._as_of) if keys else {}
        self._known.update((keys[key], ids[0]) for key, ids in found.items() if ids)

    def resolve(self, given: Any) -> int:
        """The id of the entity that the caller names."""
        known = self._known.get(given) if isinstance(given, str) else None
        return resolve(self._finder, self._schema, given, self._as_of) if known is None else known


def ident_keys(given: list[Any]) -> dict[bytes, str]:
    """The keys of those names that are idents, with the names."""
    keys: dict[bytes, str] = {}
    for name in given:
        try:
            # What has several spellings is looked up by itself.
            if isinstance(name, str) and name.isascii() and as_id(name) is None:
                keys[_KEYWORD.index_key(parse_ident(name))] = name
        except Incorrect:
            pass  # whoever resolves it says what is wrong
    return keys


class Rememberer(Finder, Protocol):
    """Looks keys up that nobody holds any more, too."""

    def former(self, property: int, key: bytes) -> int | None: ...


def resolve_ever(finder: Rememberer, schema: Schema, given: Any) -> int:
    """The id of the entity that has this name, or else was the last to have it."""
    id = as_id(given)
    if id is not None:
        return id
    property, keys = as_keys(schema, given, lambda other: resolve_ever(finder, schema, other))
    living = (id for key in keys for id in finder.find(property.id, key))
    former = (id for key in keys if (id := finder.former(property.id, key)) is not None)
    found = next(chain(living, former), None)
    if found is None:
        raise unknown_entity(schema, given)
    return found


def unknown_entity(schema: Schema, given: Any, slot: Property | None = None) -> NotFound:
    """The error for a name that names nothing, be it the value of a slot."""
    looked_up = _looked_up(given)
    what = (
        f"there is no entity {named(given)}" if looked_up is None else f"no entity has {looked_up}"
    )
    return NotFound(
        "entity.unknown",
        what,
        hint=Suggestion(given, schema.idents, FINDERS if slot is None else finders_for(slot)),
        data={"entity": looked_up or named(given)},
    )


def _looked_up(given: Any, depth: int = 0) -> str | None:
    """The slot and value by which an entity was named, if it was."""
    if not isinstance(given, dict) or len(given) != 1 or depth == _DEPTH_MAX:
        return None
    name, value = next(iter(given.items()))
    inner = _looked_up(value, depth + 1)
    slot = named(name).removeprefix(":")
    return f"{slot} = {quoted(value) if inner is None else f'the one that has {inner}'}"


def ident_or_temp(name: str, temps: Iterable[str]) -> str:
    """The ident that a text is, if it is no temporary id, which it may have been meant to be."""
    try:
        return parse_ident(name)
    except Incorrect as problem:
        hint = f"{problem.hint}; or the temp of another operation of this transaction"
        near = Suggestion(name, temps, hint)
        raise Incorrect(problem.code, problem.message, hint=near) from None


def finders_for(slot: Property) -> str:
    """What a hint says when the value of a slot names nothing."""
    return _FINDERS.get(slot.id, FINDERS)
