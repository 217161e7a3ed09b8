"""The value door: what no text, number or JSON document may contain, whatever its type.

Refuses NUL, lone surrogates, NaN, infinity, integers beyond 64 bits, keys that are not strings,
and whatever is too long, too large or too deep, so that every store gives the same verdict.
Walks with its own stack: no nesting can exhaust Python's.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from sandbar.model.values.refusals import refused

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

MAX_BYTES = 1 << 20
MAX_DEPTH = 64
MIN_LONG = -(1 << 63)
MAX_LONG = (1 << 63) - 1


def door_check(value: object) -> None:
    """Refuse any value that is not plain JSON of bounded size and depth."""
    if type(value) is str:
        check_text(value)
        return
    room = MAX_BYTES
    stack: list[tuple[object, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        room -= _check_node(item, depth)
        if room < 0:
            raise refused("too-large", "JSON of at most 1 MiB", value, "a smaller document")
        if type(item) is list:
            _check_room(len(item) <= room, value)
            stack.extend((child, depth + 1) for child in item)
        elif type(item) is dict:
            _check_room(len(item) <= room, value)
            room -= sum(_check_key(key) for key in item)
            stack.extend((child, depth + 1) for child in item.values())


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


def _check_node(item: object, depth: int) -> int:
    """The least number of bytes that this node, without its children, takes in JSON."""
    kind = type(item)
    if kind is str:
        return check_text(item) + 2  # type: ignore[arg-type]
    if kind is int or kind is float:
        check_number(item)  # type: ignore[arg-type]
        return 1
    if kind is list or kind is dict:
        if depth >= MAX_DEPTH:
            raise refused("too-deep", f"at most {MAX_DEPTH} levels of nesting", item, "[[1]]")
        return 2
    if item is None or kind is bool:
        return 4
    raise refused("type", "a JSON value", item, '{"name": ["a", 1, true, null]}')


def _check_key(key: object) -> int:
    if type(key) is not str:
        raise refused("type", "an object whose keys are strings", key, '{"1": "one"}')
    return check_text(key) + 3


def _check_room(fits: bool, value: object) -> None:
    # before the children are pushed: a shared list may stand for exponentially many nodes
    if not fits:
        raise refused("too-large", "JSON of at most 1 MiB", value, "a smaller document")


def _too_long(text: str, max_bytes: int) -> Exception:
    return refused("too-long", f"at most {max_bytes:,} bytes of UTF-8", text, "a shorter text")
