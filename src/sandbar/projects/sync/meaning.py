"""What a file means: the slots that it states, and whether an entity says the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from sandbar.codecs import (
    Codec,
    Parsed,
    Place,
    Section,
    derived_ident,
    emit_one,
    parse_one,
    sections_of,
)
from sandbar.model import Create, Entity, Introspection
from sandbar.projects.reading import text_of
from sandbar.projects.sync.paths import Paths

IDENT = "db/ident"

_NAME_MAX = 200  # characters of a heading that are a name


class Stated(msgspec.Struct, frozen=True):
    """What a file says of its entity."""

    class_: str
    slots: dict[str, Any]  # without db/ident
    ident: str | None  # if the file itself states one
    lines: dict[str, int]
    needed: tuple[Create, ...] = ()  # tags and the like that are not there yet


class Meaning:
    """Reads and writes the files of one class."""

    def __init__(
        self,
        schema: Introspection,
        codec: Codec,
        class_: str,
        paths: Paths,
        ident_of: Callable[[int | str], str | None],
        at: Callable[[str], Place] = Place,
    ) -> None:
        """`at` tells of the place of a file what else is known there."""
        self._schema = schema
        self._codec = codec
        self._class = class_
        self._paths = paths
        self._ident_of = ident_of
        self._at = at

    def of_file(self, path: str, data: bytes, class_: str | None = None) -> Stated:
        """What a file states, as an instance of the class of its entity, if it has one."""
        wanted = class_ or self._class
        text, place = text_of(data), self._at(path)
        parsed = parse_one(self._codec, text, self._schema, wanted, place=place)
        slots = dict(parsed.slots)
        ident = slots.pop(IDENT, None)
        name = self._schema.document(parsed.class_).ident_from
        if name is not None and name not in slots:
            body = slots.get(self._schema.document(parsed.class_).body or "")
            slots[name] = self._schema.stored(name, self._name(path, body))
        stated = None if parsed.is_ident_derived else ident
        needed = tuple(self._needed(parsed.made))
        return Stated(parsed.class_, self._plain(slots), stated, parsed.lines, needed)

    def of_entity(self, entity: Entity) -> dict[str, Any]:
        """What the file of an entity states: all but its ident, and what is never written."""
        text = emit_one(self._codec, entity, self._schema)
        slots = dict(parse_one(self._codec, text, self._schema, entity.class_).slots)
        slots.pop(IDENT, None)
        return self._plain(slots)

    def text(self, entity: Entity, path: str) -> bytes:
        """The file of an entity. It states its ident unless that can be told by other means."""
        is_other = entity.class_ != self._class
        text = emit_one(self._codec, entity, self._schema, with_class=is_other)
        derived = derived_ident(self._schema, entity.class_, entity.slots)
        is_left_out = entity.ident is not None and entity.ident == derived
        if is_left_out and not self._paths.is_place_of(path, entity.ident):
            opener, _, rest = text.partition("\n")
            text = f"{opener}\nident: {json.dumps(entity.ident, ensure_ascii=False)}\n{rest}"
        return text.encode()

    def says_its_text(self, stated: Stated, entity: Entity) -> bool:
        """Whether an entity has the text of a file, whatever else is said of either."""
        body = self._schema.document(entity.class_).body
        return body is not None and stated.slots.get(body) == entity.slots.get(body)

    def is_stored_link(self, slot: str) -> bool:
        """Whether a slot holds references, and is not computed from those of others."""
        facts = self._schema.describe_property(slot)
        return facts["range"] not in self._schema.datatypes() and "inverse-of" not in facts

    def _name(self, path: str, body: object) -> str:
        """The first heading, else the name of the file."""
        headings = _headings(sections_of(body)) if isinstance(body, str) else iter(())
        return next(headings, "")[:_NAME_MAX].strip() or self._paths.stem(path)

    def _plain(self, slots: dict[str, Any]) -> dict[str, Any]:
        """References by ident, however they are written."""
        datatypes = self._schema.datatypes()
        plain: dict[str, Any] = {}
        for slot, value in slots.items():
            is_value = self._schema.range(slot) in datatypes
            plain[slot] = value if is_value else self._named(value)
        return plain

    def _named(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._named(one) for one in value]
        if type(value) is int:
            return self._ident_of(value) or value
        return value

    def _needed(self, made: Iterable[Parsed]) -> Iterator[Create]:
        """What a file refers to by name, and is to be made if it is not there: tags."""
        for one in made:
            if self._ident_of(one.slots[IDENT]) is None:
                yield Create(class_=one.class_, slots=one.slots)


def changes(now: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """What has to be set so that slots are as wanted; null clears."""
    return {
        slot: wanted.get(slot)
        for slot in sorted(now.keys() | wanted.keys())
        if now.get(slot) != wanted.get(slot)
    }


def _headings(sections: list[Section]) -> Iterator[str]:
    for section in sections:
        if section.level and section.title:
            yield section.title
        yield from _headings(section.children)
