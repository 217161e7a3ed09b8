"""Whether a class or property makes sense, told when written, not when first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sandbar.errors import Incorrect
from sandbar.model import core
from sandbar.model.checks import (
    COUNTED_IN_CHARACTERS,
    Match,
    dangling,
    decode_slot,
    out_of_range,
)
from sandbar.model.document_rules import check_document
from sandbar.model.patterns import Matching
from sandbar.model.properties import Property
from sandbar.model.schema import Schema
from sandbar.model.values import VALUE_TYPES

_REF = VALUE_TYPES["db.type/ref"]
_STORED_AS_TEXT = {
    "db.type/string", "db.type/uri", "db.type/keyword", "db.type/symbol", "db.type/uuid",
    "db.type/bigint", "db.type/bigdec", "db.type/instant", "db.type/bytes",
}  # fmt: skip


def check_definition(
    schema: Schema, id: int, class_id_of: Callable[[int], int | None] | None = None
) -> None:
    """Compile all that a class or property says, so that a wrong definition fails when written.

    `class_id_of` tells of an entity that a default refers to, if there are any yet.
    """
    if schema.id_named(schema.ident_of(id)) is None:
        raise Incorrect(
            "definition.nameless",
            "a class or property is known by its name, and this one has none",
            hint="give it a db/ident, such as shop/Shoe",
        )
    if schema.has_class(id):
        cls = schema.class_by_id(id)
        if any(id in schema.class_by_id(up).parent_ids for up in (id, *cls.ancestors)):
            raise Incorrect(
                "class.cycle",
                f"{cls.ident} would be its own ancestor",
                hint="take it out of dt/subclass-of",
            )
        _ = cls.validators
        check_document(cls)
        return
    property = schema.property_by_id(id)
    if str(core.RANGE) not in schema.docs[id][1]:
        return  # its absence is told by itself, and nothing else can be said without it
    for wrong in _contradictions(schema, property):
        raise Incorrect("property.contradiction", "its slots contradict each other", hint=wrong)
    _ = property.pattern, property.allowed_keys
    _check_bounds(property)
    for wrong in _impossible(property):
        raise Incorrect("property.contradiction", f"{property.ident}: {wrong}", hint=wrong)
    if property.default is not None:
        stored = decode_slot(property, property.default, _id_only, Matching().matches)
        if property.is_ref and class_id_of is not None:
            _check_targets(schema, property, property.values(stored), class_id_of)


def _contradictions(schema: Schema, property: Property) -> Iterator[str]:
    kind = property.kind
    if property.is_ref:
        if (
            property.target is not None
            and core.LITERAL in schema.class_by_id(property.target).lineage
        ):
            yield "a range is a value type such as db.type/string, or a class of entities"
        if property.one_of or property.pattern_text or property.has_bounds:
            yield "a reference takes no dt/one-of, dt/pattern, dt/min or dt/max"
    elif property.component or property.inverse_of:
        yield "only a reference can be dt/component? or dt/inverse-of"
    if property.pattern_text and kind.ident not in _STORED_AS_TEXT:
        yield f"{kind.ident} takes no dt/pattern"
    if not kind.indexable and (property.unique or property.indexed):
        yield f"{kind.ident} cannot be unique or indexed"
    if not kind.indexable and property.has_bounds:
        yield f"{kind.ident} has no order, hence no dt/min or dt/max"
    if property.secret and (
        kind.ident != "db.type/string"
        or property.many
        or property.unique
        or property.one_of
        or property.default is not None
    ):
        yield "a secret is one db.type/string, not unique, without dt/one-of and dt/default"
    if property.inverse_of and (vain := _in_vain(schema, property)):
        yield f"a derived slot is computed and never written: drop {', '.join(vain)}"
    if property.inverse_of and not schema.property_by_id(property.inverse_of).is_stored_ref:
        yield "dt/inverse-of names a reference that is stored"


def _in_vain(schema: Schema, property: Property) -> list[str]:
    """The options of a derived slot that only mean something where values are stored."""
    _, doc = schema.docs[property.id]
    options = (core.REQUIRED, core.UNIQUE, core.DEFAULT, core.COMPONENT, core.INDEXED)
    return [schema.ident_of(id) for id in options if doc.get(str(id)) not in (None, False)]


def _check_bounds(property: Property) -> None:
    for bound in (property.minimum, property.maximum):
        if bound is None:
            continue
        if property.kind.ident not in COUNTED_IN_CHARACTERS:
            property.kind.decode(bound)
        elif type(bound) is not int or bound < 0:
            raise Incorrect(
                "property.bounds",
                "the bounds of text are numbers of characters",
                hint='for example {"dt/min": 1, "dt/max": 80}',
            )


def _impossible(property: Property) -> Iterator[str]:
    """Rules that are right each by itself, but that no value satisfies together."""
    low, high = property.minimum, property.maximum
    if low is not None and high is not None:
        if property.kind.ident not in COUNTED_IN_CHARACTERS:
            low, high = (property.kind.order_key(property.kind.decode(at)) for at in (low, high))
        if low > high:
            yield "dt/min must not be greater than dt/max"
            return
    if property.one_of and (property.has_bounds or property.pattern_text):
        match = Matching().matches
        if not any(_fits(property, value, match) for value in property.one_of):
            yield "at least one value of dt/one-of must satisfy dt/pattern, dt/min and dt/max"


def _fits(property: Property, value: Any, match: Match) -> bool:
    try:
        decode_slot(property, [value] if property.many else value, _id_only, match)
    except Incorrect as problem:
        if problem.code == "pattern.too-costly":
            raise
        return False
    return True


def _check_targets(
    schema: Schema, property: Property, ids: list[int], class_id_of: Callable[[int], int | None]
) -> None:
    """A default that cannot be referred to would fail every create."""
    for id in ids:
        class_id = class_id_of(id)
        if class_id is None:
            wrong = dangling(property, id)
        elif property.target is None or property.target in schema.class_by_id(class_id).lineage:
            continue
        else:
            wrong = out_of_range(property, id, None, schema.ident_of(property.target))
        raise Incorrect(wrong.code, f"dt/default: {wrong.message}", hint=wrong.hint)


def _id_only(given: Any, property: Property) -> int:
    id: Any = _REF.decode(given)
    return int(id)
