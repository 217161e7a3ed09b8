"""Turning rows into entities: property numbers become idents, references become names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sandbar.model import core
from sandbar.model.documents import Doc, read_doc
from sandbar.model.results import Entity
from sandbar.model.schema import Class, Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.store.rows import Row
from sandbar.store.scan import Equals, Found, Scan

INVERSE_VALUES_MAX = 1000

_IDENT_KEY = str(core.IDENT)
_REF = VALUE_TYPES["db.type/ref"]


class Source(Protocol):
    """Where the rows of referenced entities come from."""

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""


def render_plain(schema: Schema, row: Row) -> Entity | None:
    """The entity, if nothing else has to be read for it."""
    cls = schema.class_by_id(row.cls)
    doc = read_doc(row.doc)
    if cls.inverse_slots or not cls.ref_keys.isdisjoint(doc):
        return None
    names = cls.names
    slots = {names[key]: stored for key, stored in doc.items()}
    return Entity(row.id, doc.get(_IDENT_KEY), cls.ident, row.t, slots)


def render(
    schema: Schema,
    rows: Iterable[Row | Found],
    source: Source,
    *,
    as_of: int | None = None,
    fields: frozenset[str] | None = None,
) -> list[Entity]:
    """The entities of these rows; everything they refer to is looked up in one go."""
    parsed = [(row, schema.class_by_id(row.cls), read_doc(row.doc)) for row in rows]
    derived = [_inverse_values(schema, cls, row.id, source, as_of) for row, cls, _ in parsed]
    wanted = {id for _, cls, doc in parsed for id in _referred(cls, doc)}
    wanted.update(id for values in derived for ids in values.values() for id in ids)
    names = _idents(schema, wanted, source, as_of)
    return [
        Entity(
            row.id, doc.get(_IDENT_KEY), cls.ident, row.t, _slots(cls, doc, extra, names, fields)
        )
        for (row, cls, doc), extra in zip(parsed, derived, strict=True)
    ]


def _slots(
    cls: Class,
    doc: Doc,
    extra: dict[str, list[int]],
    names: dict[int, int | str],
    fields: frozenset[str] | None,
) -> dict[str, Any]:
    slots: dict[str, Any] = {}
    for key, stored in doc.items():
        property = cls.by_key[key]
        if fields is not None and property.ident not in fields:
            continue
        if property.is_ref:
            stored = [names[id] for id in stored] if property.many else names[stored]
        slots[property.ident] = stored
    for ident, ids in extra.items():
        if fields is None or ident in fields:
            slots[ident] = [names[id] for id in ids]
    return slots


def _referred(cls: Class, doc: Doc) -> Iterable[int]:
    for key in cls.ref_keys.intersection(doc):
        yield from cls.by_key[key].values(doc[key])


def _inverse_values(
    schema: Schema, cls: Class, id: int, source: Source, as_of: int | None
) -> dict[str, list[int]]:
    values = {}
    for property in cls.inverse_slots:
        assert property.inverse_of is not None
        drive = Equals(property.inverse_of, (_REF.index_key(id),))
        found = source.scan(Scan(drive, INVERSE_VALUES_MAX, as_of=as_of))
        if found:
            values[property.ident] = [row.id for row in found]
    return values


def _idents(
    schema: Schema, ids: set[int], source: Source, as_of: int | None
) -> dict[int, int | str]:
    names: dict[int, int | str] = {}
    unknown = []
    for id in ids:
        if id in schema.docs:
            names[id] = schema.ident_of(id)
        else:
            names[id] = id
            unknown.append(id)
    for row in source.entities(sorted(unknown), as_of) if unknown else ():
        ident = read_doc(row.doc).get(_IDENT_KEY)
        if ident is not None:
            names[row.id] = ident
    return names
