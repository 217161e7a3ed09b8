"""Finding out which entity a caller means, when reading."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

from sandbar.errors import Incorrect, NotFound
from sandbar.keywords import parse_ident, spellings
from sandbar.model import core
from sandbar.model.checks import decode_slot
from sandbar.model.properties import Property
from sandbar.model.schema import Class, Schema
from sandbar.model.synonyms import range_meant
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.refusals import MAX_ECHO, named, quoted, suggestion, typed
from sandbar.model.values.scalars import decode_ref
from sandbar.suggestions import Suggestion

_KEYWORD = VALUE_TYPES["db.type/keyword"]

_DEPTH_MAX = 8
_UNKNOWN = object()
_KINDS = {
    core.RANGE: "is no value type and no class",
    core.SLOTS: "is no property",
    core.INVERSE_OF: "is no property",
    core.SUBCLASS_OF: "is no class",
    core.DOMAIN: "is no class",
}  # what a text is not, by the slot that it was given for
_NAMES_OF_NAMES = ("name", "title", "label", "full-name", "subject")

_ID_WORDS = ("id", "entity-id", "entity_id", "db/id", "_id")

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
        by, ident = schema.property_by_id(core.IDENT), named_ident(schema, given)
        return by, [_KEYWORD.index_key(ident)] if given.isascii() else _keys_of(given)
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
    raise names_nothing(given)


def names_nothing(given: Any, slot: Property | None = None) -> Incorrect:
    """The error for what cannot name an entity, be it the value of a slot."""
    hint = "use an id, an ident such as zorp/Boot, or {slot: value} of a unique slot"
    if isinstance(given, list) and slot is not None and not slot.many:
        hint = f"the slot takes one value, not a list: {hint}"
    elif isinstance(given, dict) and slot is not None:
        hint += "; entity.create makes a new one, also in the same entity.transact"
    return Incorrect("reference.malformed", f"{quoted(given)} does not name an entity", hint=hint)


def looked_up_by(schema: Schema, name: Any, value: Any, slot: Property | None = None) -> Property:
    """The unique slot of that name; refuses a value that names another, and so on without end.

    What is looked up may be the value of a `slot`.
    """
    if name in _ID_WORDS and as_id(value) is not None:
        raise Incorrect(
            "reference.malformed", "an id names an entity by itself", hint=f"use {as_id(value)}"
        )
    property = schema.property_named(name)
    if property.unique is None:
        raise Incorrect(
            "reference.not-unique",
            f"{property.ident} is not unique",
            hint=Suggestion(None, (), partial(_query, schema, slot, property, value)),
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
    return _keys_of(given)


def _keys_of(ident: str) -> list[bytes]:
    return [_KEYWORD.index_key(spelled) for spelled in spellings(ident)]


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
        hint=_suggested(schema, given, slot, partial(finders_for, schema, slot)),
        data={"entity": looked_up or named(given)},
    )


def _suggested(
    schema: Schema,
    given: Any,
    slot: Property | None,
    call: str | Callable[[], str],
    temps: Iterable[str] = (),
) -> Suggestion:
    """The hint that follows a name of nothing: what may have been meant, where that is named."""
    number, meant = None if slot is None else slot.id, None
    names: Iterable[str] = () if _target(schema, slot) else schema.idents
    if number == core.RANGE:
        names, meant = chain(VALUE_TYPES, schema.class_names), range_meant(given)
    elif number in (core.SLOTS, core.INVERSE_OF):
        names = schema.property_names
    elif number in (core.SUBCLASS_OF, core.DOMAIN):
        names = schema.class_names
    return suggestion(given, chain(temps, names), call, meant)


def _target(schema: Schema, slot: Property | None) -> Class | None:
    """The class that a slot refers to, unless its instances are the metamodel."""
    if slot is None or slot.target is None or not schema.has_class(slot.target):
        return None
    cls = schema.class_by_id(slot.target)
    return None if cls.id in schema.metaclasses else cls


def _looked_up(given: Any, depth: int = 0) -> str | None:
    """The slot and value by which an entity was named, if it was."""
    if not isinstance(given, dict) or len(given) != 1 or depth == _DEPTH_MAX:
        return None
    name, value = next(iter(given.items()))
    inner = _looked_up(value, depth + 1)
    slot = named(name).removeprefix(":")
    return f"{slot} = {quoted(value) if inner is None else f'the one that has {inner}'}"


def named_ident(
    schema: Schema, text: str, slot: Property | None = None, temps: Collection[str] = ()
) -> str:
    """The ident that a text is; one that is none is refused with the ways to name an entity."""
    try:
        return parse_ident(text)
    except Incorrect as problem:
        message = problem.message
        if problem.code == "keyword.malformed":
            kind = _KINDS.get(0 if slot is None else slot.id, "does not name an entity")
            message = f"{quoted(text)} {kind}"
        hint = _suggested(schema, text, slot, partial(_ways, schema, text, slot, temps), temps)
        raise Incorrect(problem.code, message, hint=hint) from None


def _ways(schema: Schema, text: str, slot: Property | None, temps: Collection[str]) -> str:
    """How the entity that a text may have been meant to name is named, or found."""
    or_temp = "; or the temp of another operation of this transaction" if temps else ""
    if slot is not None and slot.id in _FINDERS:
        return f"{_FINDERS[slot.id]}{or_temp}"
    cls = _target(schema, slot)
    if cls is None:
        find = typed({"query": text[:MAX_ECHO]})
        ways = "use its id, or its ident, which is written ns/name"
        return f"{ways}; search.text {find} finds it{or_temp}"
    ways = f"a {cls.ident} is named by its id, by its ident, which is written ns/name"
    known = naming_slot(schema, cls)
    if known is None:
        return f"{ways}; {finders_for(schema, slot)}{or_temp}"
    if known.unique:
        ways = f"{ways}, or by {typed({known.ident: text[:MAX_ECHO]})}"
    return f"{ways}; {_query(schema, slot, known, text[:MAX_ECHO])}{or_temp}"


def naming_slot(schema: Schema, cls: Class) -> Property | None:
    """The text by which people name an instance: the unique one, or else the likeliest."""
    known = schema.derived.get(("naming slot", cls.id), _UNKNOWN)
    if known is _UNKNOWN:
        texts = (
            p
            for p in cls.slots.values()
            if p.kind.ident == "db.type/string" and p.is_text and not p.many
        )
        own = (p for p in texts if p.id not in (core.DOC, core.LABEL))
        known = min(own, key=_likelihood, default=None)
        schema.derived["naming slot", cls.id] = known
    found: Property | None = known
    return found


def _likelihood(property: Property) -> tuple[bool, bool, bool]:
    last = property.ident.rpartition("/")[2]
    return not property.unique, last not in _NAMES_OF_NAMES, not property.required


def _query(schema: Schema, slot: Property | None, by: Property, value: Any) -> str:
    """The call that finds the entity which has a value."""
    if slot is not None and slot.id in _FINDERS:
        return f"give idents; {_FINDERS[slot.id]}"
    cls = _target(schema, slot)
    if cls is None:
        classes = map(schema.class_by_id, schema.class_ids)
        cls = next((one for one in classes if by.id in one.direct_slot_ids), None)
    if cls is None or by.secret or by.ident not in cls.slots or isinstance(value, dict):
        return FINDERS
    return f"entity.query {typed({'class': cls.ident, 'where': {by.ident: value}})} finds its id"


def finders_for(schema: Schema, slot: Property | None) -> str:
    """What a hint says when the value of a slot names nothing."""
    if slot is not None and slot.id in _FINDERS:
        return _FINDERS[slot.id]
    cls = _target(schema, slot)
    if cls is None:
        return FINDERS
    return f"entity.query {typed({'class': cls.ident})} lists them; entity.create makes one"
