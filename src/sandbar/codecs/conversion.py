"""Words to values, by the range of a slot: what YAML or a spreadsheet would guess is not asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sandbar.codecs.shapes import Slot
from sandbar.errors import Incorrect
from sandbar.model import Introspection

_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WITHOUT_OFFSET = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?")
_DIGITS_MAX = 400
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}


def from_word(slot: Slot, word: str) -> Any:
    """The value that one word, or text, is in a slot. The model decides whether it is right."""
    convert = _CONVERSIONS.get(slot.kind)
    return word if convert is None else convert(word)


def meant_by(kind: str, word: str) -> str:
    """What a word of someone's own note means: keywords in any case, times in UTC if unsaid."""
    plain = word.strip()
    if kind == "keyword":
        return plain.lower()
    if kind == "instant" and _WITHOUT_OFFSET.fullmatch(plain):
        return f"{plain.replace(' ', 'T')}{':00' if plain.count(':') == 1 else ''}Z"
    return word


def checked(schema: Introspection, slot: Slot, value: Any) -> Any:
    """The value as it will be kept; references are only freed of colons and repetitions."""
    if slot.kind != "ref":
        return schema.stored(slot.ident, value)
    if not slot.many:
        return _reference(value)
    items = value if isinstance(value, list) else [value]
    distinct: list[Any] = []
    seen: set[Any] = set()
    for item in map(_reference, items):
        key = item if isinstance(item, str | int) else repr(item)
        if key not in seen:
            seen.add(key)
            distinct.append(item)
    return distinct


def _reference(value: Any) -> Any:
    return value.removeprefix(":") if isinstance(value, str) else value


def _boolean(word: str) -> bool:
    value = _BOOLEANS.get(word.strip().lower())
    if value is None:
        raise _refused("true or false", word, "true")
    return value


def _whole(word: str) -> int:
    plain = word.strip()
    if len(plain) > _DIGITS_MAX or _WHOLE.fullmatch(plain) is None:
        raise _refused("a whole number", word, "42")
    return int(plain)


def _number(word: str) -> float | int:
    plain = word.strip()
    if len(plain) > _DIGITS_MAX or _NUMBER.fullmatch(plain) is None:
        raise _refused("a number", word, "1.5")
    # A whole number that a double cannot hold is the model's to refuse.
    return int(plain) if _WHOLE.fullmatch(plain) else float(plain)


def _entity(word: str) -> str | int:
    plain = word.strip()
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 17 else plain


def _refused(expected: str, word: str, example: str) -> Incorrect:
    return Incorrect(
        "value.type", f"expected {expected}, got {word[:80]!r}", hint=f"for example {example}"
    )


_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    "boolean": _boolean,
    "long": _whole,
    "double": _number,
    "float": _number,
    "bigint": str.strip,
    "bigdec": str.strip,
    "instant": str.strip,
    "keyword": str.strip,
    "symbol": str.strip,
    "uuid": str.strip,
    "uri": str.strip,
    "bytes": str.strip,
    "ref": _entity,
}
