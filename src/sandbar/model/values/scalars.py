"""String, boolean, long, double and ref: JSON's own scalars, checked.

A boolean is never a number and a number never a boolean; nothing is coerced from text.
"""

from __future__ import annotations

from math import isfinite

from sandbar.model.values.door import MAX_BYTES, MAX_LONG, MIN_LONG, check_text
from sandbar.model.values.refusals import refused

MAX_REF = (1 << 53) - 1


def decode_string(value: object) -> str:
    """Text as it is."""
    # the hottest line of the door: nearly all text is short ASCII
    if type(value) is str and value.isascii() and "\0" not in value and len(value) <= MAX_BYTES:
        return value
    return plain_text(value, "a string", '"waterproof boot"')


def decode_boolean(value: object) -> bool:
    """True or false."""
    if value is True or value is False:
        return value
    raise refused("type", "true or false", value, "true")


def decode_long(value: object) -> int:
    """A 64-bit signed integer."""
    if type(value) is int and MIN_LONG <= value <= MAX_LONG:
        return value
    number = plain_int(value, "a 64-bit integer", "42")
    if not MIN_LONG <= number <= MAX_LONG:
        raise refused("range", "an integer within 64 bits", value, "42 (db.type/bigint has no end)")
    return number


def decode_double(value: object) -> float:
    """A finite double; an integer is accepted when no digit is lost."""
    if isinstance(value, float):
        number = float.__float__(value)
        if not isfinite(number):
            raise refused("not-finite", "a finite number", value, "1.5")
        return number + 0.0  # -0.0 becomes 0.0: equal numbers must have equal keys
    whole = plain_int(value, "a number", "1.5")
    if whole.bit_length() > 1024 or (number := _nearest(whole)) != whole:
        raise refused("inexact", "a number that a double holds exactly", value, "9007199254740992")
    return number


def decode_ref(value: object) -> int:
    """An entity id; idents and lookups are resolved before they come here."""
    number = plain_int(value, "an entity id", "1042")
    if not 1 <= number <= MAX_REF:
        raise refused("range", f"an entity id from 1 to {MAX_REF}", value, "1042")
    return number


def plain_text(value: object, expected: str, example: str, max_bytes: int = MAX_BYTES) -> str:
    """An exact `str` that has passed the door, or a refusal of the wrong type."""
    if not isinstance(value, str):
        raise refused("type", expected, value, example)
    check_text(value, max_bytes)
    return str.__str__(value)


def plain_int(value: object, expected: str, example: str) -> int:
    """An exact `int`, or a refusal of the wrong type."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    raise refused("type", expected, value, example)


def _nearest(whole: int) -> float:
    try:
        return float(whole)
    except OverflowError:
        return 0.0 if whole else 1.0  # differs from `whole`, so the caller refuses it
