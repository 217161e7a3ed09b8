"""`dt/document`: what a class says of how its instances are written as documents.

The codecs act on it; here it is only read and checked, when the class is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from sandbar.errors import Incorrect
from sandbar.keywords import looks_like_ident
from sandbar.model.plain_words import said_plainly
from sandbar.model.schema import Class

_HINT = (
    'for example {"body": "note/text", "keys": {"title": "note/name"}, '
    '"ident": {"from": "note/name", "in": "note"}}'
)


class Document(msgspec.Struct, frozen=True):
    """How instances of a class are written as documents; the slots are named by ident."""

    body: str | None = None  # the text below the front matter
    rest: str | None = None  # an object of the keys that nobody declared; without it: refused
    keys: dict[str, str] = {}  # key to slot, where it is not the slot's own name
    types: tuple[str, ...] = ()  # values of the key `type` that lead to this class
    order: tuple[str, ...] = ()  # the slots that are written first
    makes: tuple[str, ...] = ()  # references whose targets are made if they are not there
    ident_from: str | None = None  # the slot that a name is made of when none is given
    ident_in: str | None = None  # the namespace of such a name


class _Ident(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    from_: str = msgspec.field(name="from")
    in_: str = msgspec.field(name="in")


class _Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    body: str | None = None
    rest: str | None = None
    keys: dict[str, str] = {}
    types: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    ident: _Ident | None = None


NOTHING_SAID = Document()


def document_of(cls: Class, lineage: Iterator[Class]) -> Document:
    """What the nearest of a class and those above it says."""
    found = next((one.document for one in lineage if one.document is not None), None)
    return NOTHING_SAID if found is None else _read(cls, found)


def check_document(cls: Class) -> None:
    """Refuse what makes no sense for this class."""
    if cls.document is None:
        return
    document = _read(cls, cls.document)
    for wrong in _contradictions(cls, document):
        raise _refusal(cls, wrong)


def _read(cls: Class, given: Any) -> Document:
    try:
        shape = msgspec.convert(given, type=_Shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _refusal(cls, said_plainly("it", error)) from error
    ident = shape.ident
    return Document(
        shape.body,
        shape.rest,
        shape.keys,
        shape.types,
        shape.order,
        shape.makes,
        None if ident is None else ident.from_,
        None if ident is None else ident.in_,
    )


def slots_named(cls: Class) -> list[str]:
    """The slots that a class itself names in what it says of its documents."""
    return [] if cls.document is None else _named(_read(cls, cls.document))


def _named(document: Document) -> list[str]:
    some = [document.body, document.rest, document.ident_from]
    return [*filter(None, some), *document.keys.values(), *document.order, *document.makes]


def _contradictions(cls: Class, document: Document) -> Iterator[str]:
    for slot in _named(document):
        if slot not in cls.slots:
            yield f"{cls.ident} has no slot {slot[:80]}"
    for named_slot, what, kind in (
        (document.body, "body", "db.type/string"),
        (document.rest, "rest", "db.type/json"),
        (document.ident_from, "ident", "db.type/string"),
    ):
        property = cls.slots.get(named_slot or "")
        if property is None:
            continue
        if property.kind.ident != kind or property.many or property.secret:
            yield f"{what} names a slot for one {kind}, which {named_slot} is not"
    for made in document.makes:
        if made in cls.slots and cls.slots[made].target is None:
            yield f"makes names references to a class, and {made} is none"
    inside = document.ident_in
    if inside is not None and not looks_like_ident(f"{inside}/x"):
        yield f"{inside[:80]!r} is no namespace"
    if "" in document.keys or "" in document.types:
        yield "a key or a type is a text with something in it"


def _refusal(cls: Class, wrong: str) -> Incorrect:
    return Incorrect("definition.document", f"dt/document: {wrong}", hint=_HINT)
