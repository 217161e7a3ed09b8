"""Whether stored instances are valid by the schema of now: page by page, and nothing is written.

A page is read and judged in one snapshot, so what is found holds together. All that its instances
refer to is looked up in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import msgspec

from sandbar.errors import Problem
from sandbar.findings import Finding, data_of, finding_of
from sandbar.model import core
from sandbar.model.checks import check_required, check_validators, decode_slot
from sandbar.model.documents import Doc, exact, read_doc
from sandbar.model.hiding import hidden_ids
from sandbar.model.properties import Property
from sandbar.model.schema import Class, Schema
from sandbar.store import Equals, Found, Key, Position, Scan, Snapshot

_LOOKED_UP = 1000  # at once

View = Callable[[Any], AbstractContextManager[tuple[Snapshot, Schema, int | None]]]


class Walk(msgspec.Struct, frozen=True):
    """How far a look at all instances has come: class by class, and there by id.

    What is made after it began is not looked at.
    """

    before: int  # the first id that was free when it began
    class_id: int = 0
    after: int = 0  # in that class


class Invalid(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """An instance that could not be written today as it is."""

    entity_id: int
    ident: str | None
    class_: str = msgspec.field(name="class")
    errors: list[dict[str, Any]]


class Judged(NamedTuple):
    """What one page of instances amounts to, and where the rest begins (None: nothing is left)."""

    checked: int
    invalid: list[Invalid]
    rest: Walk | None


class Validity:
    """Judges the instances of the classes of one workspace."""

    def __init__(self, view: View) -> None:
        self._view = view

    def count(self, class_: Any, *, hidden: Collection[str] = ()) -> int:
        """How many instances there are, by the index alone."""
        with self._view(None) as (snapshot, schema, _):
            classes = _classes(schema, class_, hidden)
            return sum(snapshot.count(core.TYPE, cls.type_key) for cls in classes)

    def page(
        self, class_: Any, walk: Walk | None, *, limit: int, hidden: Collection[str] = ()
    ) -> Judged:
        """Judge the next instances, subclasses included and what is `hidden` left out."""
        with self._view(None) as (snapshot, schema, _):
            walk = walk or Walk(snapshot.state.next_id)
            rows: list[Found] = []
            for cls in _classes(schema, class_, hidden):
                if cls.id >= walk.class_id and len(rows) < limit:
                    rows += _instances(snapshot, cls, walk, limit - len(rows))
            rest = Walk(walk.before, rows[-1].cls, rows[-1].id) if len(rows) == limit else None
            return Judged(len(rows), list(_judge(snapshot, schema, rows)), rest)


def _instances(snapshot: Snapshot, cls: Class, walk: Walk, limit: int) -> list[Found]:
    """The next direct instances. One class at a time: so they come sorted out of the index."""
    after = Position(b"", walk.after) if cls.id == walk.class_id else None
    drive = Equals(core.TYPE, (cls.type_key,))
    return [row for row in snapshot.scan(Scan(drive, limit, after=after)) if row.id < walk.before]


def _classes(schema: Schema, class_: Any, hidden: Collection[str]) -> list[Class]:
    below = schema.descendants(schema.class_named(class_).id)
    kept_back = hidden_ids(schema, hidden)
    return [schema.class_by_id(id) for id in sorted(below) if id not in kept_back]


def _judge(snapshot: Snapshot, schema: Schema, rows: Sequence[Found]) -> Iterator[Invalid]:
    instances = [(row.id, schema.class_by_id(row.cls), read_doc(row.doc)) for row in rows]
    judge = _Judge(snapshot, schema, instances)
    for id, cls, doc in instances:
        errors = data_of(judge.findings(id, cls, doc))
        if errors:
            ident = doc.get(str(core.IDENT))
            yield Invalid(entity_id=id, ident=ident, class_=cls.ident, errors=errors)


class _Judge:
    def __init__(
        self, snapshot: Snapshot, schema: Schema, instances: Sequence[tuple[int, Class, Doc]]
    ) -> None:
        self._snapshot = snapshot
        self._schema = schema
        self._kinds = self._kinds_of({id for _, cls, doc in instances for id in _targets(cls, doc)})

    def _kinds_of(self, ids: set[int]) -> dict[int, int]:
        """The class of everything that is referred to and exists."""
        kinds = {id: self._schema.docs[id][0] for id in ids if id in self._schema.docs}
        unknown = sorted(ids - kinds.keys())
        for start in range(0, len(unknown), _LOOKED_UP):
            some = self._snapshot.entities(unknown[start : start + _LOOKED_UP])
            kinds.update((row.id, row.cls) for row in some)
        return kinds

    def findings(self, id: int, cls: Class, doc: Doc) -> list[Finding]:
        """Everything that is wrong with one instance."""
        found: list[Finding] = []
        if cls.abstract:
            message = f"{cls.ident} is abstract and has no instances of its own"
            found.append(Finding(code="class.abstract", message=message))
        for key, stored in doc.items():
            property = cls.by_key.get(key)
            found += self._strange(cls, key) if property is None else self._slot(property, stored)
        found += check_required(cls, lambda slot: self._has(id, doc, slot))
        for property in cls.unique_slots:
            if property.key in doc:
                found += self._shared(id, property, doc[property.key])
        # A validator that reads what is wrong already would only say so again.
        return found or check_validators(cls, doc)

    def _strange(self, cls: Class, key: str) -> Iterator[Finding]:
        slot = self._schema.ident_of(int(key))
        yield Finding(code="slot.unknown", message=f"{cls.ident} has no slot {slot}", slot=slot)

    def _has(self, id: int, doc: Doc, slot: Property) -> bool:
        if slot.secret:
            return self._snapshot.secret(id, slot.id) is not None
        return slot.key in doc

    def _slot(self, property: Property, stored: Any) -> Iterable[Finding]:
        if property.secret or property.inverse_of:
            what = "secret" if property.secret else "derived"
            message = f"the slot is {what}, but has a stored value"
            return [Finding(code=f"slot.{what}", message=message, slot=property.ident)]
        if property.has_several(stored):
            message = "the slot holds several values, but takes one"
            return [Finding(code="slot.single", message=message, slot=property.ident)]
        if property.is_ref and isinstance(stored, list) == property.many:
            return self._references(property, stored)
        return _value(property, stored)

    def _references(self, property: Property, stored: Any) -> Iterator[Finding]:
        for id in property.values(stored):
            kind = self._kinds.get(id) if isinstance(id, int) else None
            if kind is None:
                yield Finding(
                    code="reference.dangling",
                    message=f"there is no entity {id}",
                    slot=property.ident,
                    hint="entity.update it to refer to another, or to none",
                )
            elif property.target is not None:
                cls = self._schema.class_by_id(kind)
                if property.target not in cls.lineage:
                    target = self._schema.ident_of(property.target)
                    yield Finding(
                        code="reference.range",
                        message=f"entity {id} is a {cls.ident}, not a {target}",
                        slot=property.ident,
                        hint=f"refer to an instance of {target}",
                    )

    def _shared(self, id: int, property: Property, stored: Any) -> Iterator[Finding]:
        for key in _keys(property, stored):
            others = [one for one in self._snapshot.find(property.id, key) if one != id]
            if others:
                yield Finding(
                    code="slot.not-unique",
                    message=f"entity {others[0]} has the same value",
                    slot=property.ident,
                    hint="give one of them another value",
                )


def _targets(cls: Class, doc: Doc) -> Iterator[int]:
    for key in cls.ref_keys.intersection(doc):
        stored = doc[key]
        if isinstance(stored, list) == cls.by_key[key].many:
            yield from (id for id in cls.by_key[key].values(stored) if isinstance(id, int))


def _keys(property: Property, stored: Any) -> Iterable[Key]:
    """The index keys of a value; one that is wrong in itself has none."""
    is_right = property.indexed and (property.is_ref or not any(_value(property, stored)))
    return property.index_keys(stored) if is_right else ()


def _value(property: Property, stored: Any) -> Iterator[Finding]:
    try:
        is_same = exact(decode_slot(property, stored, _as_it_is)) == exact(stored)
    except Problem as problem:
        yield finding_of(problem, slot=property.ident)
        return
    if not is_same:
        message = "the value would be stored in another form today"
        yield Finding(
            code="value.form",
            message=message,
            slot=property.ident,
            hint="entity.update it with the same value",
        )


def _as_it_is(given: Any, property: Property) -> int:
    """A reference that is stored is a number already."""
    return int(given)
