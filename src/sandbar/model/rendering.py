"""Turning rows into entities: property numbers become idents, references become names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sandbar.model import core
from sandbar.model.documents import Doc, read_doc
from sandbar.model.results import Entity
from sandbar.model.schema import Class, Schema
from sandbar.model.values import VALUE_TYPES
from sandbar.store import Found, Key, Row

INVERSE_VALUES_MAX = 1000

_IDENT_KEY = str(core.IDENT)
_REF = VALUE_TYPES["db.type/ref"]


class Source(Protocol):
    """Where the rows of referenced entities come from."""

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it."""


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
    """The entities of these rows."""
    read = [(row, read_doc(row.doc)) for row in rows]
    return render_read(schema, read, source, as_of=as_of, fields=fields)


def render_read(
    schema: Schema,
    rows: Iterable[tuple[Row | Found, Doc]],
    source: Source,
    *,
    as_of: int | None = None,
    fields: frozenset[str] | None = None,
) -> list[Entity]:
    """The entities of these rows and documents; all that they refer to is looked up in one go."""
    parsed = [(row, schema.class_by_id(row.cls), doc) for row, doc in rows]
    derived = _derived_values([(row.id, cls) for row, cls, _ in parsed], source, as_of, fields)
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


def _derived_values(
    owners: list[tuple[int, Class]],
    source: Source,
    as_of: int | None,
    fields: frozenset[str] | None,
) -> list[dict[str, list[int]]]:
    """For each entity the slots that say who refers to it, as far as anybody wants to see them."""
    asked: dict[int, dict[Key, None]] = {}
    for id, cls in owners:
        for property in cls.inverse_slots:
            if fields is None or property.ident in fields:
                asked.setdefault(property.inverse_of or 0, {})[_REF.index_key(id)] = None
    found = {
        forward: source.holders(forward, list(keys), INVERSE_VALUES_MAX, as_of)
        for forward, keys in asked.items()
    }
    return [
        {
            property.ident: ids
            for property in cls.inverse_slots
            if (ids := found.get(property.inverse_of or 0, {}).get(_REF.index_key(id)))
        }
        for id, cls in owners
    ]


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
