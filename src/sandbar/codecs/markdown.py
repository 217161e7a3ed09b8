"""Markdown: front matter in YAML, and a body that is kept to the letter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sandbar.codecs.api import Parsed
from sandbar.codecs.document_text import split_document
from sandbar.codecs.findings import check_source, findings_of_text, refuse_if_any
from sandbar.codecs.markdown_slots import SlotReader
from sandbar.codecs.markdown_writing import document_lines
from sandbar.codecs.places import Place
from sandbar.codecs.routing import class_of_type, stated_class, wanted_class
from sandbar.codecs.shapes import CLASS_KEY, IDENT_KEY, TYPE_KEY
from sandbar.codecs.statements import Statements
from sandbar.codecs.yaml_reading import Entry, FrontMatter, Refused
from sandbar.errors import Problem
from sandbar.findings import Finding, Findings, finding_of
from sandbar.model import Entity, Introspection


class MarkdownCodec:
    """One entity as a document that people read and write."""

    format = "markdown"
    media_types = ("text/markdown",)
    suffixes = (".md", ".markdown")
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
        """The one entity that the document is."""
        check_source(text)
        document = split_document(text)
        found = findings_of_text()
        front = FrontMatter(document.front_matter, 2, found)
        if not front.is_read:
            refuse_if_any(found)
        wanted = None if class_ is None else schema.ident(class_)
        name, used = _class_of(front, schema, wanted, found)
        if name is None:
            refuse_if_any(found)
        assert name is not None
        statements = Statements(schema, name, found, place)
        read = SlotReader(front, statements, schema, found)
        entries = [entry for entry in front.entries if entry.key not in used]
        for entry in sorted(entries, key=lambda entry: entry.key.removeprefix("db/") != IDENT_KEY):
            if not (found.is_full or front.is_exhausted):
                read.state(entry)
        _state_body(statements, document.body, document.body_line, found)
        yield statements.parsed(1)

    def emit(
        self, entities: Iterable[Entity], schema: Introspection, *, with_class: bool = False
    ) -> Iterator[str]:
        """One document for each."""
        for entity in entities:
            yield "".join(document_lines(entity, schema, with_class=with_class))


def _class_of(
    front: FrontMatter, schema: Introspection, class_: str | None, found: Findings
) -> tuple[str | None, set[str]]:
    """The class that a document is about, and the keys that said so."""
    stated = _entry(front, CLASS_KEY)
    kind = _entry(front, TYPE_KEY)
    at = stated or kind
    try:
        wanted = class_
        if stated is not None and not front.is_nothing(stated.node):
            wanted = stated_class(schema, front.word(stated.node), class_)
        if kind is not None and isinstance(kind.node.value, str):
            at = kind
            by_type = class_of_type(schema, kind.node.value, wanted)
            if by_type is not None:
                return by_type, {CLASS_KEY, TYPE_KEY}
        return wanted_class(wanted, "name it under `class:` in the front matter"), {CLASS_KEY}
    except Refused as refused:
        found.add(refused.finding.moved(key=CLASS_KEY))
    except Problem as problem:
        found.add(finding_of(problem, line=at.line if at else 1, key=at.key if at else None))
    return None, set()


def _entry(front: FrontMatter, key: str) -> Entry | None:
    return next((entry for entry in front.entries if entry.key == key), None)


def _state_body(statements: Statements, body: str, line: int, found: Findings) -> None:
    """What stands below the front matter, to the letter."""
    ident = statements.shape.document.body
    if not body or (ident is None and not body.strip()):
        return
    if ident is None:
        message = f"{statements.shape.class_} has no slot for the text below the front matter"
        hint = "state it under a key, or let dt/document of the class name a body"
        found.add(Finding(line=line, code="codec.no-body", message=message, hint=hint))
        return
    try:
        slot = statements.claim(ident, line)
        assert slot is not None
        statements.put(slot, body)
    except Problem as problem:
        found.add(finding_of(problem, line=line, key=statements.shape.slots[ident].key))
