"""JSON as text: read strictly (no key twice, no NaN), written the same way every time."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?|[{}\[\]\n]')
# Line breaks to some readers of text, though not to JSON.
_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
SCANNED_MAX = 256 * 1024  # characters in which the lines of keys are looked for


class NotJson(Exception):
    """Why a text is no JSON, and on which line."""

    def __init__(self, message: str, line: int = 1, key: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.key = key


class _Twice(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def read_json(text: str) -> Any:
    """The value that a text is."""
    try:
        return _DECODER.decode(text)
    except _Twice as twice:
        line = _line_of_second(text, twice.key)
        raise NotJson(f"the key {twice.key[:80]!r} is there twice", line, twice.key) from None
    except json.JSONDecodeError as error:
        raise NotJson(f"no JSON: {error.msg}, column {error.colno}", error.lineno) from None
    except RecursionError:
        raise NotJson("no JSON that we read: too deeply nested") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise NotJson(f"no JSON that we read: {error}") from None


def write_json(value: Any) -> str:
    """The value on one line, keys sorted."""
    return _safe(msgspec.json.encode(value, order="sorted").decode())


def write_json_indented(value: Any) -> str:
    """The value for people, keys sorted."""
    whole = msgspec.json.encode(value, order="sorted")
    return _safe(msgspec.json.format(whole, indent=2).decode())


def key_lines(text: str) -> dict[str, int]:
    """The keys of an object with the lines that they stand on; of none if it is a large text."""
    if len(text) > SCANNED_MAX:
        return {}
    lines: dict[str, int] = {}
    depth, line = 0, 1
    for match in _TOKEN.finditer(text):
        token = match[0]
        first = token[0]
        if first == "\n":
            line += 1
        elif first in "{[":
            depth += 1
        elif first in "}]":
            depth -= 1
        elif match[1] is not None:
            if depth == 1:
                lines.setdefault(json.loads(token[: len(token) - len(match[1])]), line)
            line += match[1].count("\n")
    return lines


def _safe(text: str) -> str:
    if text.isascii() and "\x7f" not in text:
        return text
    return _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Twice(key)
            seen.add(key)
    return whole


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _line_of_second(text: str, key: str) -> int:
    """The line where a key stands again, as far as its spelling tells."""
    spelled = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
    found = [match.start() for _, match in zip(range(2), spelled.finditer(text), strict=False)]
    return text.count("\n", 0, found[-1]) + 1 if found else 1


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
