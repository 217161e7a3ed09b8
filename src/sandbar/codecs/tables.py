"""CSV: a table of the instances of one class. Its header says which slot each column is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sandbar.codecs.api import Parsed
from sandbar.codecs.conversion import from_word
from sandbar.codecs.findings import findings_of_text, malformed, refuse_if_any
from sandbar.codecs.json_text import NotJson, read_json, write_json
from sandbar.codecs.places import Place
from sandbar.codecs.routing import stated_class, wanted_class
from sandbar.codecs.shapes import CLASS_MARK, ID_MARK, Slot, shape_of
from sandbar.codecs.statements import Statements
from sandbar.codecs.table_text import Cell, NotCsv, Rows, write_row
from sandbar.codecs.yaml_reading import number_word
from sandbar.errors import Incorrect, Problem
from sandbar.findings import Finding, Findings, finding_of
from sandbar.model import Entity, Introspection

COLUMNS_MAX = 2_000

_COMPOUND = frozenset({"json", "tuple"})


class CsvCodec:
    """Many instances of one class, a row for each."""

    format = "csv"
    media_types = ("text/csv",)
    suffixes = (".csv",)
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
        """The entities in the order of the rows."""
        return _Table(text.removeprefix("\ufeff"), schema, class_)

    def emit(
        self, entities: Iterable[Entity], schema: Introspection, *, with_class: bool = False
    ) -> Iterator[str]:
        """A row for each, the header before the first. All slots of the class are columns."""
        columns: list[Slot] = []
        class_: str | None = None
        for entity in entities:
            header = ""
            if class_ is None:
                class_ = entity.class_
                columns = shape_of(schema, class_).written
                marks = (CLASS_MARK, ID_MARK) if with_class else ()
                header = write_row((*marks, *(slot.key for slot in columns)))
            if entity.class_ != class_:
                raise Incorrect(
                    "codec.mixed-classes",
                    f"a table of {class_} has no place for a {entity.class_}",
                    hint="write one class at a time, or jsonl",
                )
            cells: list[Cell] = [_cell(slot, entity.slots.get(slot.ident)) for slot in columns]
            if with_class:
                id = str(entity.entity_id) if entity.ident is None else None
                cells = [class_, id, *cells]
            yield header + write_row(cells)


class _Table:
    """Goes on after a row that was refused, which a generator could not."""

    def __init__(self, text: str, schema: Introspection, class_: str | None) -> None:
        self._rows = Rows(text)
        self._schema = schema
        self._class = None if class_ is None else schema.ident(class_)
        self._header: list[str] | None = None
        self._row = 0

    def __iter__(self) -> Iterator[Parsed]:
        return self

    def __next__(self) -> Parsed:
        if self._header is None:
            self._header = []  # a table without a header that we understand has no rows
            self._header = self._read_header()
        cells = self._next()
        if cells is None or not self._header:
            raise StopIteration
        return self._parse(cells, self._rows.begun)

    def _next(self) -> list[Cell] | None:
        self._row += 1
        try:
            return self._rows.next_row()
        except NotCsv as error:
            header = self._header or []
            key = header[error.column] if error.column < len(header) else None
            raise malformed([self._finding(error.message, error.line, key)]) from None

    def _read_header(self) -> list[str]:
        cells = self._next() or []
        header = [(cell or "").strip() for cell in cells]
        found = findings_of_text()
        if len(header) > COLUMNS_MAX:
            found.add(self._finding(f"more than {COLUMNS_MAX} columns", 1, None))
            refuse_if_any(found)
        seen: set[str] = set()
        for at, key in enumerate(header):
            if not key or key in seen:
                what = f"{key[:80]!r} is there twice" if key else f"column {at + 1} has no key"
                found.add(self._finding(what, 1, key or None))
            seen.add(key)
        if self._class is not None and CLASS_MARK not in header:
            self._check_header(header, found)  # once, not again in each row
        refuse_if_any(found)
        return header

    def _check_header(self, header: list[str], found: Findings) -> None:
        statements = Statements(self._schema, self._class_of({}, 1, found), found)
        for key in header:
            if key and key != ID_MARK and not found.is_full:
                self._state(statements, key, None, 1, found)

    def _parse(self, cells: list[Cell], line: int) -> Parsed:
        header = self._header
        assert header is not None
        found = findings_of_text()
        if len(cells) != len(header):
            message = f"{len(cells)} cells, but the header has {len(header)}"
            found.add(self._finding(message, line, None))
            refuse_if_any(found)
        given = dict(zip(header, cells, strict=True))
        name = self._class_of(given, line, found)
        statements = Statements(self._schema, name, found)
        for key, cell in given.items():
            if key not in (CLASS_MARK, ID_MARK):
                self._state(statements, key, cell, line, found)
        id = None
        if given.get(ID_MARK) is not None:
            try:
                id = statements.check_id(_number(given[ID_MARK]))
            except Problem as problem:
                found.add(finding_of(problem, line=line, key=ID_MARK, row=self._row))
        return statements.parsed(line, id)

    def _class_of(self, given: dict[str, Cell], line: int, found: Findings) -> str:
        try:
            if given.get(CLASS_MARK):
                return stated_class(self._schema, given[CLASS_MARK], self._class)
            return wanted_class(self._class, f"add a column {CLASS_MARK}")
        except Problem as problem:
            found.add(finding_of(problem, line=line, key=CLASS_MARK, row=self._row))
            refuse_if_any(found)
            raise

    def _state(
        self, statements: Statements, key: str, cell: Cell, line: int, found: Findings
    ) -> None:
        try:
            slot = statements.claim(key, line)
            if slot is not None:
                statements.put(slot, None if cell is None else _value(slot, cell))
            elif cell is not None:
                statements.keep(key, cell, line)
        except NotJson as error:
            found.add(self._finding(error.message, line, key))
        except Problem as problem:
            found.add(finding_of(problem, line=line, key=key, row=self._row))

    def _finding(self, message: str, line: int, key: str | None) -> Finding:
        hint = "a cell with a comma, a quote or a line break stands in quotes"
        return Finding(
            line=line, key=key, code="codec.syntax", message=message, hint=hint, row=self._row
        )


def _number(cell: Cell) -> Any:
    return int(cell) if cell and cell.isascii() and cell.isdigit() and len(cell) < 17 else cell


def _value(slot: Slot, cell: str) -> Any:
    """The value of a cell: JSON where there may be several or any, else a word of the range."""
    if slot.kind in _COMPOUND or (slot.many and cell.lstrip().startswith("[")):
        return read_json(cell)
    return from_word(slot, cell)


def _cell(slot: Slot, value: Any) -> Cell:
    if value is None:
        return None
    if slot.many or slot.kind in _COMPOUND:
        return write_json(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_word(value) if isinstance(value, float) else str(value)
