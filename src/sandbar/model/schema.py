"""The metamodel of one workspace at one generation, compiled for use.

A `Schema` never changes. What follows from its documents is computed on first use and kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from sandbar.errors import Incorrect, NotFound
from sandbar.keywords import found_among
from sandbar.model import core
from sandbar.model.bounds import BOUNDS
from sandbar.model.documents import Doc
from sandbar.model.expressions import Expression, compile_expression
from sandbar.model.properties import Property
from sandbar.model.reaching import reached
from sandbar.model.values import VALUE_TYPES
from sandbar.model.values.refusals import named, suggestion
from sandbar.store import Pair

MetaDocs = Mapping[int, tuple[int, Doc]]  # id to class and document
Changes = Mapping[int, tuple[int, Doc] | None]

_REF = VALUE_TYPES["db.type/ref"]
_THIS = frozenset({"this"})


class Class:
    """A class with all that it inherits."""

    def __init__(self, schema: Schema, id: int, doc: Doc) -> None:
        self._schema, self.id = schema, id
        self.ident: str = doc.get(str(core.IDENT)) or f"#{id}"
        self.doc: str | None = doc.get(str(core.DOC))
        self.label: str | None = doc.get(str(core.LABEL))
        self.abstract = bool(doc.get(str(core.ABSTRACT)))
        self.native_codec: str | None = doc.get(str(core.NATIVE_CODEC))
        self.document: Any = doc.get(str(core.DOCUMENT))
        root = [] if id == core.RESOURCE else [core.RESOURCE]  # so that every class has its slots
        self.parent_ids: list[int] = doc.get(str(core.SUBCLASS_OF)) or root
        self.direct_slot_ids: list[int] = doc.get(str(core.SLOTS)) or []
        self.validator_text: str | None = doc.get(str(core.VALIDATOR))

    def require_concrete(self) -> None:
        """Refuse to make an instance of an abstract class."""
        if not self.abstract:
            return
        if self._is_barren:
            hint = f"schema.define a class with dt/subclass-of {self.ident}, and use that"
        else:
            hint = f"use one of its subclasses: class.subclasses {self.ident} lists them"
        said = f"Cannot instantiate abstract class {self.ident}"
        raise Incorrect("class.abstract", said, hint=hint)

    @cached_property
    def _is_barren(self) -> bool:
        """Whether no class below it has instances either."""
        schema = self._schema
        return all(schema.class_by_id(id).abstract for id in schema.descendants(self.id))

    @cached_property
    def ancestors(self) -> list[int]:
        """All classes above, nearest first, each once."""
        found = reached(self.parent_ids, self._schema.parents_of)
        return [id for id in found if id != self.id]  # as in a circle, which is refused

    @cached_property
    def lineage(self) -> frozenset[int]:
        """The class itself and all above it."""
        return frozenset((self.id, *self.ancestors))

    @cached_property
    def slots(self) -> dict[str, Property]:
        """Every slot that an instance may have, by ident: inherited ones first."""
        chain = [*reversed(self.ancestors), self.id]
        ids = dict.fromkeys(
            slot for id in chain for slot in self._schema.class_by_id(id).direct_slot_ids
        )
        # `dt/type` is the row's own column, never part of a document.
        properties = (self._schema.property_by_id(id) for id in ids if id != core.TYPE)
        return {property.ident: property for property in properties}

    @cached_property
    def by_key(self) -> dict[str, Property]:
        """The same slots by the key that they have in documents."""
        return {property.key: property for property in self.slots.values()}

    @cached_property
    def names(self) -> dict[str, str]:
        """Document key to ident."""
        return {property.key: property.ident for property in self.slots.values()}

    @cached_property
    def ref_keys(self) -> frozenset[str]:
        """Document keys that hold references."""
        return frozenset(p.key for p in self.slots.values() if p.is_ref and not p.inverse_of)

    @cached_property
    def inverse_slots(self) -> list[Property]:
        """Slots that are computed from the other direction."""
        return [p for p in self.slots.values() if p.inverse_of]

    @cached_property
    def indexed_slots(self) -> list[tuple[str, int, bool, Callable[[Any], Any]]]:
        """Document key, number, whether it holds several values, and what makes the index keys."""
        return [
            (p.key, p.id, p.many, p.index_keys if p.many else p.kind.index_key)
            for p in self.slots.values()
            if p.indexed
        ]

    @cached_property
    def text_slots(self) -> list[tuple[str, bool]]:
        """Document key, and whether it holds several values, for the slots that are searched."""
        return [(p.key, p.many) for p in self.slots.values() if p.is_text]

    @cached_property
    def direct_slots(self) -> dict[str, tuple[str, Callable[[object], Any]]]:
        """Ident to document key and decoder, for the slots that need nothing else."""
        return {p.ident: (p.key, p.direct) for p in self.slots.values() if p.direct is not None}

    @cached_property
    def required_slots(self) -> list[Property]:
        """The slots that every instance must have."""
        return [p for p in self.slots.values() if p.required]

    @cached_property
    def required_keys(self) -> frozenset[str]:
        """The document keys of those slots (a secret one is in no document)."""
        return frozenset(property.key for property in self.required_slots)

    @cached_property
    def defaults(self) -> list[Property]:
        """The slots that fill themselves."""
        return [p for p in self.slots.values() if p.default is not None]

    @cached_property
    def unique_slots(self) -> list[Property]:
        """The slots whose values no two entities share."""
        return [p for p in self.slots.values() if p.unique is not None]

    @cached_property
    def validator_texts(self) -> list[tuple[str, str]]:
        """The class's own and inherited validators, each with the class that brought it."""
        chain = map(self._schema.class_by_id, (self.id, *self.ancestors))
        return [(cls.ident, cls.validator_text) for cls in chain if cls.validator_text]

    @cached_property
    def validators(self) -> list[tuple[str, Expression]]:
        """The same, compiled: only for who needs them, as that takes long."""
        return [(cls, compile_expression(text, _THIS)) for cls, text in self.validator_texts]

    @cached_property
    def type_key(self) -> bytes:
        """The index key of this class as a value of `dt/type`."""
        return _REF.index_key(self.id)

    @cached_property
    def type_pair(self) -> Pair:
        """The same with the number of `dt/type`: what every instance is found by."""
        return core.TYPE, self.type_key

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The names of the class itself and of all above it."""
        return frozenset(map(self._schema.ident_of, self.lineage))


class Schema:
    """All classes and properties of a workspace at one generation."""

    bounds = BOUNDS  # within which it may grow

    def __init__(self, generation: int, t: int, docs: MetaDocs, changes: list[int]) -> None:
        self.generation, self.t = generation, t
        self.docs = docs
        self.changes = changes  # every t that changed the metamodel, up to this generation
        self._classes: dict[int, Class] = {}  # also of what was a class before, and is none here
        self._living: dict[int, Class] = {}
        self._properties: dict[int, Property] = {}
        self.inherited: dict[int, tuple[int, int]] = {}  # slots and ancestors, where counted
        self.derived: dict[Any, Any] = {}  # what others have made of it, kept as long as it is

    @cached_property
    def _names(self) -> dict[str, int]:
        ident = str(core.IDENT)
        return {doc[ident]: id for id, (_, doc) in self.docs.items() if ident in doc}

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        subclass_of = str(core.SUBCLASS_OF)
        for id, (_, doc) in sorted(self.docs.items()):
            for parent in doc.get(subclass_of) or ():
                children.setdefault(parent, []).append(id)
        return children

    @cached_property
    def _kinds_of_class(self) -> frozenset[int]:
        return frozenset(self.descendants(core.CLASS))

    @cached_property
    def property_kinds(self) -> frozenset[int]:
        """The classes whose instances are properties."""
        return frozenset(self.descendants(core.PROPERTY))

    @cached_property
    def metaclasses(self) -> frozenset[int]:
        """The classes whose instances are the metamodel."""
        return self._kinds_of_class | self.property_kinds

    @cached_property
    def class_ids(self) -> list[int]:
        """The ids of all classes, in order."""
        return sorted(id for id, (cls, _) in self.docs.items() if cls in self._kinds_of_class)

    @cached_property
    def property_ids(self) -> list[int]:
        """The ids of all properties, in order."""
        return sorted(id for id, (cls, _) in self.docs.items() if cls in self.property_kinds)

    @cached_property
    def ref_properties(self) -> dict[int, Property]:
        """Every stored property that refers to entities, by its number."""
        found = map(self.property_by_id, self.property_ids)
        return {p.id: p for p in found if p.is_ref and p.indexed}

    @cached_property
    def referring_defaults(self) -> dict[int, list[Property]]:
        """The entities that defaults refer to, each with the properties that have such a one."""
        found: dict[int, list[Property]] = {}
        default = str(core.DEFAULT)
        for id in self.property_ids:
            property = self.property_by_id(id) if default in self.docs[id][1] else None
            for target in property.default_targets if property else ():
                found.setdefault(target, []).append(self.property_by_id(id))
        return found

    @cached_property
    def looked_up(self) -> dict[str, Property]:
        """The properties whose values are looked up when they are written."""
        properties = map(self.property_by_id, self.property_ids)
        return {p.ident: p for p in properties if p.is_stored_ref or p.unique is not None}

    @cached_property
    def secret_slots(self) -> frozenset[str]:
        """The idents of all secret properties."""
        properties = map(self.property_by_id, self.property_ids)
        return frozenset(property.ident for property in properties if property.secret)

    @cached_property
    def idents(self) -> list[str]:
        """The names of all classes and properties."""
        return list(self._names)

    @cached_property
    def class_names(self) -> list[str]:
        """The names of all classes."""
        return list(map(self.ident_of, self.class_ids))

    @cached_property
    def property_names(self) -> list[str]:
        """The names of all properties."""
        return list(map(self.ident_of, self.property_ids))

    def id_named(self, ident: str) -> int | None:
        """The class or property of that name."""
        return found_among(self._names, ident)

    def ident_of(self, id: int) -> str:
        """The name of a class or property."""
        entry = self.docs.get(id)
        ident = entry[1].get(str(core.IDENT)) if entry else None
        return ident or f"#{id}"

    def has_class(self, id: int) -> bool:
        """Whether this id is a class."""
        return id in self.docs and self.docs[id][0] in self._kinds_of_class

    def class_of_id(self, id: int) -> Class | None:
        """The class of that number, if it is one."""
        cls = self._living.get(id)
        if cls is None and self.has_class(id):
            cls = self._living[id] = self.class_by_id(id)
        return cls

    def class_by_id(self, id: int) -> Class:
        """The class of that number; it must exist."""
        cls = self._classes.get(id)
        if cls is None:
            cls = self._classes[id] = Class(self, id, self.docs[id][1])
        return cls

    def property_by_id(self, id: int) -> Property:
        """The property of that number; it must exist."""
        found = self._properties.get(id)
        if found is None:
            found = self._properties[id] = self.property_of(id, self.docs[id][1])
        return found

    def property_of(self, id: int, doc: Doc) -> Property:
        """What such a document makes of a property, be it one of the past."""
        return Property(id, doc, self.ident_of(doc.get(str(core.RANGE), 0)))

    def class_named(self, name: object) -> Class:
        """The class of that ident, or a NotFound that suggests another."""
        found = self.class_if_known(name)
        if found is not None:
            return found
        raise NotFound(
            "class.unknown",
            f"there is no class {named(name)}",
            hint=suggestion(name, self.class_names, "schema.classes lists them"),
            data={"class": named(name)},
        )

    def class_if_known(self, name: object) -> Class | None:
        """The class of that ident, if there is one."""
        id = self._lookup(name)
        if id is None or self.docs[id][0] not in self._kinds_of_class:
            return None
        return self.class_by_id(id)

    def property_named(self, name: object) -> Property:
        """The property of that ident, or a NotFound that suggests another."""
        id = self._lookup(name)
        if id is not None and self.docs[id][0] in self.property_kinds:
            return self.property_by_id(id)
        raise NotFound(
            "property.unknown",
            f"there is no property {named(name)}",
            hint=suggestion(name, self.property_names, "schema.properties lists them"),
            data={"property": named(name)},
        )

    def descendants(self, id: int) -> list[int]:
        """The class and all below it, in order of id."""
        return self.class_ids if id == core.RESOURCE else sorted(self.at_or_below({id}))

    def at_or_below(self, ids: set[int]) -> set[int]:
        """These classes and all below them."""
        if core.RESOURCE in ids:
            return ids.union(self.class_ids)
        return set(reached(ids, lambda id: self._children.get(id, ())))

    def parents_of(self, id: int) -> list[int]:
        """The classes directly above one."""
        return self.class_by_id(id).parent_ids

    def slots_of_any(self, classes: Iterable[int]) -> set[str]:
        """Every slot that an instance of one of these classes may have."""
        above = map(self.class_by_id, reached(classes, self.parents_of))
        ids = {slot for cls in above for slot in cls.direct_slot_ids}
        return {self.ident_of(id) for id in ids if id != core.TYPE}

    def with_subclasses(self, names: Iterable[Any]) -> frozenset[int]:
        """These classes and all below them; one that does not exist has nothing below it."""
        known = filter(None, map(self.class_if_known, names))
        return frozenset(self.at_or_below({cls.id for cls in known}))

    def evolve(self, changes: Changes) -> Schema:
        """The schema after some of its documents were written or (None) deleted."""
        written = {id: entry for id, entry in changes.items() if entry is not None}
        docs = {**self.docs, **written}
        for id in changes.keys() - written.keys():
            docs.pop(id, None)
        schema = Schema(self.generation, self.t, docs, self.changes)
        schema._inherit(self, changes)
        return schema

    def advance(self, changes: Changes, generation: int, ts: list[int]) -> Schema:
        """The schema of a later generation, whose last change was the last of `ts`."""
        schema = self.evolve(changes)
        schema.generation, schema.t, schema.changes = generation, ts[-1], ts
        return schema

    def _inherit(self, older: Schema, changes: Changes) -> None:
        """Keep what was compiled and has not changed: schemas are large, changes are small."""
        self._properties = {id: p for id, p in older._properties.items() if id not in changes}
        self.bounds = older.bounds
        if counts := older.inherited:
            touched = older.at_or_below(set(changes)) | self.at_or_below(set(changes))
            self.inherited = {id: count for id, count in counts.items() if id not in touched}

    def basis(self, t: int) -> int:
        """The t of the last metamodel change at or before `t`."""
        place = bisect_right(self.changes, t)
        return self.changes[place - 1] if place else 0

    def _lookup(self, name: object) -> int | None:
        if isinstance(name, str):
            return found_among(self._names, name)
        if isinstance(name, int) and not isinstance(name, bool) and name in self.docs:
            return int.__int__(name)  # of an enumeration, say: ids are kept, and must be plain
        return None
