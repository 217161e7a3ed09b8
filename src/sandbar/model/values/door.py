"""The value door: what no text, number or JSON document may contain, whatever its type.

Refuses NUL, lone surrogates, NaN, infinity, integers beyond 64 bits, keys that are not strings,
and whatever is too long, too large or too deep, so that every store gives the same verdict.
Walks level by level: no nesting can exhaust Python's stack.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from sandbar.errors import Incorrect
from sandbar.model.values.refusals import refused

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MIN_LONG = -(1 << 63)
MAX_LONG = (1 << 63) - 1


def door_check(value: object, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> None:
    """Refuse any value that is not plain JSON of bounded size and depth."""
    if type(value) is str:
        check_text(value, max_bytes)
        return
    room = max_bytes
    level: list[object] = [value]
    for _ in range(max_depth + 1):
        below: list[object] = []
        for item in level:
            # Charged before the children are kept: shared lists may stand for 3**40 nodes.
            if type(item) is list:
                room -= 2 * len(item)
                if room >= 0:
                    below += item
            elif type(item) is dict:
                room -= 2 * len(item)
                if room >= 0:
                    room -= _open(item, below)
            else:
                room -= _check_scalar(item)
            if room < 0:
                raise refused(
                    "too-large", f"JSON of at most {max_bytes:,} bytes", value, "a smaller document"
                )
        if not below:
            return
        level = below
    raise refused("too-deep", f"at most {max_depth} levels of nesting", value, "[[1]]")


def check_text(text: str, max_bytes: int = MAX_BYTES) -> int:
    """The UTF-8 length of a text that may be stored; refuses NUL, lone surrogates, excess."""
    length = len(text)
    if length > max_bytes:
        raise _too_long(text, max_bytes)
    if not text.isascii():
        try:
            length = len(text.encode())
        except UnicodeEncodeError:
            raise refused("surrogate", "text without lone surrogates", text, '"plain"') from None
        if length > max_bytes:
            raise _too_long(text, max_bytes)
    if "\0" in text:
        raise refused("nul", "text without NUL characters", text, '"plain"')
    return length


def check_number(number: int | float) -> None:
    """Refuse NaN, infinity and integers beyond 64 bits."""
    if isinstance(number, float):
        if not isfinite(number):
            raise refused("not-finite", "a finite number", number, "1.5")
    elif not MIN_LONG <= number <= MAX_LONG:
        raise refused("range", "an integer within 64 bits", number, "42 (or a decimal string)")


def _check_scalar(item: object) -> int:
    """What a scalar takes in JSON beyond the byte that its container was charged for it."""
    kind = type(item)
    if kind is str:
        return check_text(item) + 1  # type: ignore[arg-type]
    if kind is int or kind is float:
        check_number(item)  # type: ignore[arg-type]
    elif item is not None and kind is not bool:
        raise refused("type", "a JSON value", item, '{"name": ["a", 1, true, null]}')
    return 0


def _open(item: dict[object, object], below: list[object]) -> int:
    """Put the children below; the bytes that the keys take."""
    below.extend(item.values())
    size = 0
    for key in item:
        if type(key) is not str:
            raise refused("type", "an object whose keys are strings", key, '{"1": "one"}')
        size += check_text(key) + 3
    return size


def _too_long(text: str, max_bytes: int) -> Incorrect:
    return refused("too-long", f"at most {max_bytes:,} bytes of UTF-8", text, "a shorter text")
