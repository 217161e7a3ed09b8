"""Answers as text that is the same in every run: what chance or the clock has chosen gets a name.

A value is named by its identity: the first UUID that is seen is `<uuid-1>` wherever it stands, so
that one sees what is the same as what. Packed texts (JSON in a string, cursors) are unpacked first.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from datetime import datetime
from typing import Any

_EARLIER_S, _LATER_S = 120, 60
_DAY_S = 86_400
_LARGE = 10**13  # numbers of runs, epochs and microseconds; what is counted is smaller
_LARGE_IN_CURSORS = 10**9
_HEX_MIN = 16
_EIGHT_BYTES = 12  # characters in base 64

_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_VALUES = re.compile(
    rf"(?P<secret>sk-sand-[0-9a-f]{{64}}) | (?P<begins>sk-sand-[0-9a-f]{{4,16}}…?)"
    rf"| (?P<state>\bv1\.[A-Za-z0-9_-]{{40,}}) | (?P<task>\b\d+-[0-9a-f]{{32}}\b)"
    rf"| (?<=process\ )(?P<process>\d{{3,}}\b)"
    rf"| (?P<uuid>\b{_UUID}\b) | (?P<time>{_TIME})"
    rf"| (?P<http>[A-Z][a-z]{{2}},\ \d\d\ [A-Z][a-z]{{2}}\ \d{{4}}\ \d\d:\d\d:\d\d\ GMT)"
    rf"| (?P<hex>(?<![0-9A-Za-z])[0-9a-f]{{{_HEX_MIN},}}(?![0-9A-Za-z]))"
    rf"| (?P<large>(?<![0-9A-Za-z.])[1-9][0-9]{{13,19}}(?![0-9A-Za-z.]))",
    re.VERBOSE,
)
_REPEATED = re.compile(r"(.)\1{199,}")
_PACKED = re.compile(r"[A-Za-z0-9_-]{16,}={0,2}")
# What is measured or random under a name of its own, and never compared.
_MEASURED = frozenset({"duration-us", "seconds-in-state"})
# Numbers by chance, or whose distance from each other is: rows of the audit between two others.
_BY_CHANCE = frozenset({"epoch", "audit", "n"})
_PROCESSES = frozenset({"process", "process-id"})  # one that begins beside another's end
_PROCESS_MIN = 100  # smaller ones are of requests that are wrong
_LEFT_OUT = frozenset({"last-used-at"})  # is written now and then


class Plain:
    """The names of one series of exchanges, in the order in which the values were seen."""

    def __init__(self, **known: str) -> None:
        self._known = sorted(
            ((value, f"<{name}>") for name, value in known.items() if value),
            key=lambda pair: -len(pair[0]),
        )
        self._names: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._started = time.time()
        self._now = ("", "")

    def know(self, name: str, value: str) -> None:
        """Call this text so from now on."""
        self._known.append((value, f"<{name}>"))
        self._known.sort(key=lambda pair: -len(pair[0]))

    def call_now(self, name: str, value: str) -> None:
        """Call this text so in what is plainly of one exchange, instead of the last one."""
        self._now = (value, f"<{name}>")

    def value(self, value: Any, under: str = "") -> Any:
        """The same value with names for what is different each time."""
        if isinstance(value, dict):
            return {
                self.text(key): self.value(item, under if under in _MEASURED else key)
                for key, item in value.items()
                if key not in _LEFT_OUT
            }
        if isinstance(value, list):
            return [self.value(item, under) for item in value]
        if isinstance(value, str):
            at = _instant_of_an_index(value) if under == "$cursor" else None
            if at is not None:
                return self._named("large", str(at))
            packed = unpacked(value)
            return self.text(value) if packed is None else self.value(packed, under)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and under in _MEASURED:
            return "<measured>"
        if is_number and under in _PROCESSES and _PROCESS_MIN <= value < _LARGE:
            return self._named("process", str(value))
        if is_number and under in _BY_CHANCE and value < _LARGE:
            return self._named(under, str(value))
        if is_number and abs(value) >= (_LARGE_IN_CURSORS if under == "$cursor" else _LARGE):
            return self._named("large", str(value))
        return value

    def text(self, text: str) -> str:
        """A text with names for what is different each time."""
        for known, name in (self._now, *self._known):
            text = text.replace(known, name) if known else text
        text = _VALUES.sub(self._replaced, text)
        return _REPEATED.sub(lambda match: f"<{len(match.group())} times {match[1]}>", text)

    def _replaced(self, match: re.Match[str]) -> str:
        kind, found = str(match.lastgroup), match.group()
        if kind == "http":
            return "<date>"
        if kind == "time":
            return self._time(found)
        if kind == "hex" and found.isdigit():
            kind = "large"
        return self._named(kind, found)

    def _time(self, text: str) -> str:
        """Only the present is named, and the present some days later; other times are data."""
        try:
            at = datetime.fromisoformat(text if _has_zone(text) else f"{text}+00:00").timestamp()
        except ValueError:
            return text
        now = time.time()
        days = round((at - now) / _DAY_S)
        nearest = at - days * _DAY_S
        if not self._started - _EARLIER_S <= nearest <= now + _LATER_S:
            return text
        if days < 0 or days > 1000:
            return text
        after = f" + {days} days" if days else ""
        if "." not in text:  # of the second or the minute only: the same one by chance
            return f"<time{after}>"
        return self._named("time", text) + after

    def _named(self, kind: str, value: str) -> str:
        if (kind, value) not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[kind, value] = f"<{kind}-{self._counts[kind]}>"
        return self._names[kind, value]


def _instant_of_an_index(text: str) -> int | None:
    """The microseconds that a cursor has of an index: eight bytes that sort as numbers do."""
    if len(text) != _EIGHT_BYTES:
        return None
    try:
        number = int.from_bytes(base64.b64decode(text), "big") ^ 1 << 63
    except binascii.Error:
        return None
    return number if _LARGE < number < 1000 * _LARGE else None


def _has_zone(text: str) -> bool:
    return text.endswith("Z") or bool(re.search(r"[+-]\d\d:\d\d$", text[10:]))


def unpacked(text: str) -> Any:
    """What a text holds if it is JSON (in its usual form) or a cursor; None if it is a text."""
    if text[:1] in ("{", "["):
        parsed = loaded(text)
        return None if parsed is None else {"$json": parsed}
    if len(text) >= _HEX_MIN and _PACKED.fullmatch(text):
        try:
            inner = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        except (binascii.Error, ValueError):
            return None
        if inner[:1] in ("{", "["):
            parsed = loaded(inner)
            return None if parsed is None else {"$cursor": parsed}
    return None


def loaded(text: str) -> Any:
    """The JSON of a text, if writing it again gives the same text; else None."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(parsed, dict | list) and compact(parsed) == text:
        return parsed
    return None


def compact(value: Any) -> str:
    """JSON as the server writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
