"""JSON: one entity as an object of its slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sandbar.codecs.api import Parsed
from sandbar.codecs.findings import DOCUMENT_BYTES_MAX, check_source, malformed
from sandbar.codecs.json_text import (
    NotJson,
    key_lines,
    read_json,
    write_json,
    write_json_indented,
)
from sandbar.codecs.objects import object_of, parse_object
from sandbar.codecs.places import Place
from sandbar.findings import Finding
from sandbar.model import Entity, Introspection

_INDENTED_MAX = DOCUMENT_BYTES_MAX // 4  # characters: beyond it nobody reads them anyway


class JsonCodec:
    """An object with the slots' idents as keys, sorted and indented."""

    format = "json"
    media_types = ("application/json",)
    suffixes = (".json",)
    is_bulk = False

    def supports(self, schema: Introspection, class_: str) -> bool:
        """Whether instances of a class can be written: any can."""
        return True

    def parse(
        self,
        text: str,
        schema: Introspection,
        class_: str | None,
        *,
        place: Place | None = None,
    ) -> Iterator[Parsed]:
        """The one entity that the text is."""
        check_source(text)
        plain = text.removeprefix("\ufeff")
        if not plain.strip():
            return
        try:
            given = read_json(plain)
        except NotJson as error:
            raise malformed([syntax_finding(error, error.line)]) from None
        yield parse_object(given, schema, class_, 1, key_lines(plain), place)

    def emit(
        self, entities: Iterable[Entity], schema: Introspection, *, with_class: bool = False
    ) -> Iterator[str]:
        """One object for each; what is very large stands on one line, or it would grow too much."""
        for entity in entities:
            whole = object_of(entity, schema, with_class=with_class)
            text = write_json_indented(whole)
            yield f"{text if len(text) <= _INDENTED_MAX else write_json(whole)}\n"


class JsonLinesCodec:
    """JSON Lines: an object with `_class` on each line. For many entities of any class."""

    format = "jsonl"
    media_types = ("application/jsonl", "application/x-ndjson", "application/x-jsonlines")
    suffixes = (".jsonl", ".ndjson")
    is_bulk = True

    def supports(self, schema: Introspection, class_: str) -> bool:
        """Whether instances of a class can be written: any can."""
        return True

    def parse(
        self,
        text: str,
        schema: Introspection,
        class_: str | None,
        *,
        place: Place | None = None,
    ) -> Iterator[Parsed]:
        """The entities in the order of their lines; empty lines mean nothing."""
        return _Lines(text.removeprefix("\ufeff"), schema, class_)

    def emit(
        self, entities: Iterable[Entity], schema: Introspection, *, with_class: bool = False
    ) -> Iterator[str]:
        """One line for each, always with its class."""
        for entity in entities:
            yield f"{write_json(object_of(entity, schema, with_class=True))}\n"


class _Lines:
    """Goes on after a line that was refused, which a generator could not."""

    def __init__(self, text: str, schema: Introspection, class_: str | None) -> None:
        self._text = text
        self._schema = schema
        self._class = class_
        self._at = 0
        self._line = 0

    def __iter__(self) -> Iterator[Parsed]:
        return self

    def __next__(self) -> Parsed:
        while self._at < len(self._text):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            line = self._text[self._at : end]
            self._at = end + 1
            self._line += 1
            if line and not line.isspace():
                return self._parse(line, self._line)
        raise StopIteration

    def _parse(self, line: str, number: int) -> Parsed:
        check_source(line, number)
        try:
            given = read_json(line)
        except NotJson as error:
            raise malformed([syntax_finding(error, number)]) from None
        return parse_object(given, self._schema, self._class, number, {})


def syntax_finding(error: NotJson, line: int) -> Finding:
    """The finding about a text that is no JSON."""
    return Finding(
        line=line,
        key=error.key,
        code="codec.syntax" if error.key is None else "codec.key-twice",
        message=error.message,
        hint='for example {"footwear/name": "Mud Lord"}',
    )
