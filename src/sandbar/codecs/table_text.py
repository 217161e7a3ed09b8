"""CSV as rows of cells (RFC 4180, with any line break), read one row at a time.

A quoted empty cell is an empty text, an empty one is no value at all: so both survive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CELL = re.compile(r'"((?:[^"]++|"")*+)"|([^",\r\n]*+)')
_QUOTED = re.compile(r'[",\r\n]|^\s|\s$')

Cell = str | None


class NotCsv(Exception):
    """Why a row is none, and where."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column  # the first is 0


class Rows:
    """The rows of a text; `begun` is the line on which the last one began."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self.begun = 1

    def next_row(self) -> list[Cell] | None:
        """The next row, or None at the end. After a broken one it goes on with the next line."""
        self._skip_empty_lines()
        self.begun = self._line
        if self._at >= len(self._text):
            return None
        cells: list[Cell] = []
        while True:
            match = _CELL.match(self._text, self._at)
            assert match is not None  # an empty cell always is one
            quoted, plain = match.groups()
            cells.append(quoted.replace('""', '"') if quoted is not None else plain or None)
            self._at = match.end()
            self._line += 0 if quoted is None else _breaks(quoted)
            if self._text.startswith(",", self._at):
                self._at += 1
                continue
            if self._at < len(self._text) and self._text[self._at] not in "\r\n":
                raise self._broken(len(cells) - 1)
            self._end_line()
            return cells

    def _skip_empty_lines(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in "\r\n":
            self._end_line()

    def _end_line(self) -> None:
        if self._at < len(self._text):
            self._at += 2 if self._text.startswith("\r\n", self._at) else 1
            self._line += 1

    def _broken(self, column: int) -> NotCsv:
        line = self._line
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end + 1
        self._line += 1
        return NotCsv("a quote that does not end, or does not begin, its cell", line, column)


def write_row(cells: Iterable[Cell]) -> str:
    """A row with its line break."""
    return ",".join(map(_written, cells)) + "\n"


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    if cell == "" or _QUOTED.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _breaks(text: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", text))
