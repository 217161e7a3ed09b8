"""When something ends, as people say it: `30d`, `12h`, a date or an instant."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from sandbar import clock
from sandbar.errors import Incorrect

_SPAN = re.compile(r"([0-9]{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([Zz]|[+-]\d\d:\d\d)")
_LAST = datetime(9999, 12, 31, tzinfo=UTC)
_HINT = "30d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z"


def expiry_text(given: str) -> str:
    """The instant that is meant; it must be in the future."""
    now_us = clock.now_us()
    us = _read(given.strip(), now_us)
    if us is None:
        raise Incorrect("expiry.malformed", f"{given[:40]!r} says no time", hint=f"such as {_HINT}")
    if us <= now_us:
        raise Incorrect(
            "expiry.past", f"{given[:40]} is over already", hint="give a time in the future"
        )
    return clock.instant_text(us)


def _read(text: str, now_us: int) -> int | None:
    if span := _SPAN.fullmatch(text):
        us = now_us + int(span[1]) * _SECONDS[span[2]] * 1_000_000
        us -= us % 1_000_000  # whole seconds are easier to read
        return min(us, clock.instant_us(_LAST))
    try:
        if _DATE.fullmatch(text):
            return clock.instant_us(datetime.fromisoformat(text).replace(tzinfo=UTC))
        if _INSTANT.fullmatch(text):
            return clock.instant_us(datetime.fromisoformat(text.upper()))
    except (ValueError, OverflowError):
        return None  # no such day
    return None
