"""Instants: RFC 3339 in, UTC with a `Z` out, whole microseconds.

Refuses a time without an offset, because guessing one corrupts data silently.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

from sandbar import clock
from sandbar.model.values.refusals import refused
from sandbar.model.values.scalars import plain_text

_EXPECTED = "an RFC 3339 instant"
_EXAMPLE = '"2026-11-15T12:00:00Z"'
MAX_CHARACTERS = 64
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def decode_instant(value: object) -> str:
    """`2026-11-15T12:00:00Z`; a date alone means midnight UTC."""
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, date):
        moment = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        moment = _parse(plain_text(value, _EXPECTED, _EXAMPLE), value)
    if moment.utcoffset() is None:
        raise refused("naive", "an instant that says its offset", value, _EXAMPLE)
    try:
        return clock.instant_text(clock.instant_us(moment))
    except OverflowError:
        raise refused(
            "range", "an instant in the years 0001 to 9999 UTC", value, _EXAMPLE
        ) from None


def stored_instant(stored: str) -> datetime:
    """The moment that a canonical text names."""
    return datetime.fromisoformat(stored)


def _parse(text: str, came: object) -> datetime:
    if len(text) > MAX_CHARACTERS:
        raise refused("malformed", _EXPECTED, came, _EXAMPLE)
    match = _INSTANT.fullmatch(text)
    if match is None:
        if _DATE.fullmatch(text) is None:
            raise refused("malformed", _EXPECTED, came, _EXAMPLE)
        return _moment(f"{text}T00:00:00+00:00", came)
    day, time, fraction, offset = match.groups(default="")
    if not offset:
        raise refused("naive", "an instant that says its offset", came, _EXAMPLE)
    if fraction[6:].strip("0"):
        raise refused("precision", "at most microseconds", came, '"2026-11-15T12:00:00.123456Z"')
    offset = "+00:00" if offset in "Zz" else offset
    return _moment(f"{day}T{time}.{fraction[:6]:0<6}{offset}", came)


def _moment(text: str, came: object) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise refused("range", "a date and time that exist", came, _EXAMPLE) from None
