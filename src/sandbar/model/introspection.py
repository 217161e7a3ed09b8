"""Asking the metamodel about itself: classes, properties, hierarchy, slots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar, cast

from sandbar.errors import NotFound
from sandbar.keywords import parse_ident
from sandbar.model import core
from sandbar.model.bootstrap import dump_metamodel
from sandbar.model.bounds import SchemaBounds
from sandbar.model.checks import decode_slot
from sandbar.model.document_rules import Document, document_of
from sandbar.model.expressions import binding
from sandbar.model.json_schema import class_schema, property_schema
from sandbar.model.naming import unknown_entity
from sandbar.model.properties import Property
from sandbar.model.results import Entity
from sandbar.model.schema import Class, Schema
from sandbar.model.values import VALUE_TYPES

T = TypeVar("T")


class Introspection:
    """The metamodel at one generation. Answers are idents, sorted unless an order is stated."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    @property
    def generation(self) -> int:
        """The number that changes whenever the metamodel does."""
        return self._schema.generation

    @property
    def bounds(self) -> SchemaBounds:
        """How large it may grow."""
        return self._schema.bounds

    def classes(self) -> list[str]:
        """Every class."""
        return self._names(self._schema.class_ids)

    def properties(self) -> list[str]:
        """Every property."""
        return self._names(self._schema.property_ids)

    def datatypes(self) -> list[str]:
        """The value types that a property may have as its range."""
        return sorted(VALUE_TYPES)

    def ident(self, cls: str) -> str:
        """The name of a class as it is written, however it was spelled."""
        return self._class(cls).ident

    def label(self, cls: str) -> str | None:
        """The name of a class for people, if it has one."""
        return self._class(cls).label

    def native_codec(self, cls: str) -> str | None:
        """The format that instances are best read and written in: the class's own or inherited."""
        return next((one.native_codec for one in self._upwards(cls) if one.native_codec), None)

    def document(self, cls: str) -> Document:
        """How instances are written as documents, as the class or one above it says."""
        found = self._class(cls)
        return self.derived(("document", found.id), lambda: document_of(found, self._upwards(cls)))

    def doc(self, cls: str) -> str | None:
        """What a class is, if it says so."""
        return self._class(cls).doc

    def parents(self, cls: str) -> list[str]:
        """The direct superclasses."""
        return self._names(self._class(cls).parent_ids)

    def ancestors(self, cls: str) -> list[str]:
        """All superclasses."""
        return self._names(self._class(cls).ancestors)

    def subclasses(self, cls: str, *, direct: bool = False) -> list[str]:
        """All subclasses, or only the direct ones."""
        found = self._class(cls)
        below = [id for id in self._schema.descendants(found.id) if id != found.id]
        if direct:
            below = [id for id in below if found.id in self._schema.parents_of(id)]
        return self._names(below)

    def below(self, classes: Iterable[str]) -> frozenset[str]:
        """These classes and all below them; one that does not exist has nothing below it."""
        return frozenset(map(self._schema.ident_of, self._schema.with_subclasses(classes)))

    def slots_of_any(self, classes: Iterable[str]) -> frozenset[str]:
        """Every slot that an instance of one of these classes may have."""
        ids = [self._class(cls).id for cls in classes]
        return frozenset(self._schema.slots_of_any(ids))

    def slots(self, cls: str) -> list[str]:
        """Every slot that an instance may have."""
        return sorted(self._class(cls).slots)

    def direct_slots(self, cls: str) -> list[str]:
        """The slots that the class itself brings."""
        return self._names(self._class(cls).direct_slot_ids)

    def required_slots(self, cls: str) -> list[str]:
        """The slots that every instance must have."""
        return sorted(property.ident for property in self._class(cls).required_slots)

    def is_abstract(self, cls: str) -> bool:
        """Whether the class has no instances of its own."""
        return self._class(cls).abstract

    def is_subclass(self, cls: str, parent: str) -> bool:
        """Whether a class stands below another."""
        return self._class(parent).id in self._class(cls).ancestors

    def is_kind(self, cls: str, parent: str) -> bool:
        """Whether a class is another one or stands below it."""
        return self._class(parent).id in self._class(cls).lineage

    def domain(self, property: str) -> list[str]:
        """The classes that have the property as a direct slot, or that it says it is meant for."""
        found = self._property(property)
        having = [
            id
            for id in self._schema.class_ids
            if found.id in self._schema.class_by_id(id).direct_slot_ids
        ]
        return self._names(set(having) | set(found.domain))

    def range(self, property: str) -> str:
        """The value type, or the class of the entities referred to."""
        return self._schema.ident_of(self._property(property).range_id)

    def cardinality(self, property: str) -> str:
        """`one` or `many`."""
        return "many" if self._property(property).many else "one"

    def describe(self, cls: str) -> dict[str, Any]:
        """All that is known of a class."""
        found = self._class(cls)
        return {
            "class": found.ident,
            "doc": found.doc,
            "label": found.label,
            "abstract?": found.abstract,
            "parents": self.parents(cls),
            "ancestors": self.ancestors(cls),
            "subclasses": self.subclasses(cls),
            "slots": [self.describe_property(ident) for ident in found.slots],
            "validators": [expression.text for _, expression in found.validators],
        }

    def describe_property(self, property: str) -> dict[str, Any]:
        """All that is known of a property; what is not set is left out."""
        found = self._property(property)
        facts = {
            "property": found.ident,
            "range": self._schema.ident_of(found.range_id),
            "cardinality": "many" if found.many else "one",
            "doc": found.doc,
            "label": found.label,
            "required?": found.required or None,
            "unique": found.unique,
            "default": found.default,
            "one-of": found.one_of or None,
            "pattern": found.pattern_text,
            "min": found.minimum,
            "max": found.maximum,
            "component?": found.component or None,
            "indexed?": found.indexed or None,
            "secret?": found.secret or None,
            "inverse-of": found.inverse_of and self._schema.ident_of(found.inverse_of),
        }
        return {name: fact for name, fact in facts.items() if fact is not None}

    def json_schema(self, cls: str) -> dict[str, Any]:
        """The JSON Schema of the slots that creating an instance takes."""
        return class_schema(self._class(cls))

    def property_json_schema(self, property: str) -> dict[str, Any]:
        """The JSON Schema of one slot."""
        return property_schema(self._property(property))

    def stored(self, property: str, given: Any) -> Any:
        """A value as it would be kept, or the refusal that writing it would meet.

        Whom a reference names, and what a secret demands, only a write can tell: these stay.
        """
        found = self._property(property)
        if found.is_ref or found.secret:
            return given
        if found.id == core.IDENT and isinstance(given, str):
            return parse_ident(given)
        return decode_slot(found, given, lambda named, _: named)

    def bindings(self, entity: Entity) -> dict[str, Any]:
        """What an expression sees of an entity: its slots by name."""
        slots = self._class(entity.class_).slots
        return {
            name: [binding(slots[name].kind.ident, one) for one in value]
            if slots[name].many
            else binding(slots[name].kind.ident, value)
            for name, value in entity.slots.items()
            if name in slots
        }

    def unknown_entity(self, named: Any) -> NotFound:
        """The answer to a name that names nothing, for whoever is to believe that it does."""
        return unknown_entity(self._schema, named)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this metamodel: made once and kept as long as this generation is."""
        known = self._schema.derived
        if key not in known:
            known[key] = make()
        return cast(T, known[key])

    def dump(self) -> bytes:
        """The whole metamodel as text that can be loaded into an empty workspace."""
        return dump_metamodel(self._schema)

    def _upwards(self, name: str) -> Iterator[Class]:
        """A class and all above it, nearest first."""
        cls = self._class(name)
        yield cls
        yield from map(self._schema.class_by_id, cls.ancestors)

    def _class(self, name: str) -> Class:
        return self._schema.class_named(name)

    def _property(self, name: str) -> Property:
        return self._schema.property_named(name)

    def _names(self, ids: Any) -> list[str]:
        return sorted(self._schema.ident_of(id) for id in ids)
