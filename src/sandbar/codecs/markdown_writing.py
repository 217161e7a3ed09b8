"""Entities as Markdown documents, always the same for the same entity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sandbar.codecs.document_text import FENCE
from sandbar.codecs.naming import derived_ident, looks_like_path
from sandbar.codecs.references import shortest_name
from sandbar.codecs.routing import class_of_type, is_type
from sandbar.codecs.shapes import CLASS_KEY, IDENT, IDENT_KEY, TYPE_KEY, Shape, Slot, shape_of
from sandbar.codecs.yaml_reading import NODES_MAX, number_word
from sandbar.codecs.yaml_writing import (
    VALUE_NODES_MAX,
    is_key,
    items_lines,
    json_word,
    nodes_of,
    text_lines,
    text_word,
    value_lines,
)
from sandbar.errors import Incorrect
from sandbar.model import Entity, Introspection

_COMPOUND = frozenset({"json", "tuple"})
_PLAIN = frozenset({"bigint", "bigdec", "instant", "uuid"})  # canonical: nobody mistakes them
_REST_KEYS_MAX = 500


def document_lines(entity: Entity, schema: Introspection, *, with_class: bool) -> Iterator[str]:
    """The parts of a document: front matter line by line, then the body as it is."""
    writer = _Writer(entity, schema)
    yield f"{FENCE}\n"
    for line in writer.front_matter(with_class):
        yield f"{line}\n"
    yield f"{FENCE}\n"
    if writer.body:
        yield writer.body


class _Writer:
    """Writes one entity."""

    def __init__(self, entity: Entity, schema: Introspection) -> None:
        self._entity = entity
        self._schema = schema
        self._shape: Shape = shape_of(schema, entity.class_)
        slot = self._shape.document.body
        # An empty body could not be told from none, so it is stated under its key.
        self.body: str = entity.slots.get(slot) or "" if slot is not None else ""
        self._room = NODES_MAX // 2  # the rest is for the keys

    def front_matter(self, with_class: bool) -> Iterator[str]:
        """The lines between the fences."""
        if with_class:
            yield self._class_line()
        yield from self._ident_lines()
        blocks: list[tuple[str, list[str]]] = []
        kept = self._kept()
        for at, slot in enumerate(self._shape.written):
            lines = self._slot_lines(slot, kept)
            if lines and at < self._shape.first_count:
                yield from lines
            elif lines:
                blocks.append((slot.key, lines))
        for key, value in kept.items():
            blocks.append((key, self._value_lines(text_word(key), value)))
        for _, lines in sorted(blocks, key=lambda block: block[0]):
            yield from lines

    def _class_line(self) -> str:
        for word in self._shape.document.types:
            if TYPE_KEY not in self._keys() and self._leads_here(word):
                return f"{TYPE_KEY}: {text_word(word)}"
        return f"{CLASS_KEY}: {text_word(self._entity.class_)}"

    def _leads_here(self, word: str) -> bool:
        try:
            return class_of_type(self._schema, word, None) == self._entity.class_
        except Incorrect:  # several classes have it
            return False

    def _keys(self) -> set[str]:
        slots = self._shape.slots
        keys = {slots[ident].key for ident in self._entity.slots if ident in slots}
        return keys | self._kept().keys()

    def _ident_lines(self) -> Iterator[str]:
        derived = derived_ident(self._schema, self._entity.class_, self._entity.slots)
        ident = self._entity.ident
        if ident != derived:
            yield f"{IDENT_KEY}: {'null' if ident is None else text_word(ident)}"

    def _kept(self) -> dict[str, Any]:
        """The keys that nobody declared, as far as they can stand among the others."""
        carrier = self._shape.document.rest
        rest = None if carrier is None else self._entity.slots.get(carrier)
        if not isinstance(rest, dict) or len(rest) > _REST_KEYS_MAX:
            return {}
        return {
            key: value
            for key, value in rest.items()
            if is_key(key)
            and self._shape.is_free(key)
            and not (key == TYPE_KEY and is_type(self._schema, value))
        }

    def _slot_lines(self, slot: Slot, kept: dict[str, Any]) -> list[str]:
        value = self._entity.slots.get(slot.ident)
        if value is None or slot.ident == IDENT:
            return []
        document = self._shape.document
        if slot.ident == document.body and value:
            return []
        if slot.ident == document.rest and kept:
            value = {key: item for key, item in value.items() if key not in kept}
            if not value:
                return []
        key = slot.key
        if key == TYPE_KEY and is_type(self._schema, value):
            key = slot.ident  # or it would lead to a class
        return self._lines(slot, text_word(key), value)

    def _lines(self, slot: Slot, key: str, value: Any) -> list[str]:
        if slot.kind in _COMPOUND:
            return self._value_lines(key, value)
        if not slot.many:
            return (
                text_lines(key, value)
                if slot.kind == "string"
                else [f"{key}: {_word(slot, value)}"]
            )
        if self._is_too_much(len(value)):
            return [f"{key}: {json_word(value)}"]
        return items_lines(key, [_word(slot, item) for item in value])

    def _value_lines(self, key: str, value: Any) -> list[str]:
        if self._is_too_much(nodes_of(value)):
            return [f"{key}: {json_word(value)}"]
        return value_lines(key, value)

    def _is_too_much(self, count: int) -> bool:
        """Whether so many nodes are more than one value, or what is left, may have."""
        if count > VALUE_NODES_MAX or count > self._room:
            return True
        self._room -= count
        return False


def _word(slot: Slot, value: Any) -> str:
    """A value that is no compound, on one line."""
    if slot.kind == "boolean":
        return "true" if value else "false"
    if isinstance(value, float):
        return number_word(value)
    if isinstance(value, int) or slot.kind in _PLAIN:
        return str(value)
    if slot.short is not None and not looks_like_path(value):
        return text_word(shortest_name(slot.short, value))
    if slot.kind == "ref" and looks_like_path(value):
        return text_word(f":{value}")
    return text_word(value)
