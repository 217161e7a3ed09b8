"""Slot patterns: regular expressions that cannot be made slow.

RE2 matches in time proportional to program size times text length; this module bounds both, so
that no pattern and no value costs more than a few tens of milliseconds. What many values cost
together is bounded by `Matching`. A pattern searches, as in JSON Schema: anchor it with ^ and $ to
match the whole value. There are no back-references and no look-around, because no linear-time
engine can have them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from sandbar import clock
from sandbar.errors import Incorrect

MAX_PATTERN = 1_000
# RE2 keeps a third of this for the program; the rest caches states while it matches
MAX_MEMORY = 1 << 19
MAX_PROGRAM = 8_000
# measured at up to 11 ns per instruction and byte when RE2 has to fall back to its slowest engine
MAX_STEPS = 2_000_000
# what matching takes of the processor in one transaction, beyond what is ordinary
SLOW_NS_MAX = 50_000_000
# An ordinary match takes 2 to 8 µs, be its program large: the steps are the worst case, which only
# a hostile pattern comes near. So few steps take no longer even then, and need not be measured.
_ORDINARY_NS = 20_000
_ORDINARY_STEPS = 700
_ORDINARY_MATCHES_MAX = 50_000  # of those that have to be measured

_HINT = (
    "use RE2 syntax, for example ^[A-Z]{2}-[0-9]+$; "
    "there are no back-references such as \\1 and no look-around such as (?=x)"
)


class Pattern:
    """A compiled pattern; make one with `compile_pattern`."""

    __slots__ = ("_max_bytes", "_program", "text")

    def __init__(self, text: str, program: Any) -> None:
        self.text = text
        self._program = program
        self._max_bytes = MAX_STEPS // max(1, program.programsize)

    def steps(self, value: str) -> int:
        """The most steps that matching this value can take."""
        return (len(value) if value.isascii() else 4 * len(value)) * int(self._program.programsize)

    def matches(self, value: str) -> bool:
        """Whether the pattern occurs in the value; refuses a value too long to tell quickly."""
        try:
            encoded = value.encode()
        except UnicodeEncodeError:
            raise Incorrect(
                "value.surrogate", "text with lone surrogates cannot be matched"
            ) from None
        if len(encoded) > self._max_bytes:
            raise Incorrect(
                "pattern.too-costly",
                f"a value of {len(encoded)} bytes is too long for this pattern, "
                f"which takes at most {self._max_bytes}",
                hint="shorten the value or simplify the pattern",
            )
        return self._program.search(encoded) is not None


class Matching:
    """What one transaction may spend on patterns: the writer is held up meanwhile, if it is."""

    __slots__ = ("_ns_left", "_ordinary_left")

    def __init__(self, ns_max: float = SLOW_NS_MAX) -> None:
        self._ns_left = ns_max
        self._ordinary_left = _ORDINARY_MATCHES_MAX

    def matches(self, pattern: Pattern, value: str) -> bool:
        """Whether the pattern occurs in the value; refuses once too much has been spent."""
        if pattern.steps(value) <= _ORDINARY_STEPS:
            return pattern.matches(value)
        if self._ns_left < 0:
            raise _spent()
        started_ns = clock.thread_ns()  # whatever other threads do meanwhile does not count
        found = pattern.matches(value)
        taken_ns = clock.thread_ns() - started_ns
        self._ordinary_left -= 1
        if self._ordinary_left >= 0:
            taken_ns = max(0, taken_ns - _ORDINARY_NS)
        self._ns_left -= taken_ns
        if self._ns_left < 0:
            raise _spent()
        return found


class SpentMatching(Incorrect):
    """A transaction has spent too much on patterns; whether its values match was not asked."""


def _spent() -> SpentMatching:
    return SpentMatching(
        "pattern.too-costly",
        "matching the values of this transaction with their patterns takes too long",
        hint="write fewer or shorter values at once, or simplify the pattern; a change of "
        "definitions by itself may take longer, as it holds nobody up",
    )


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern once; Incorrect if it is malformed, too long or too large."""
    if len(text) > MAX_PATTERN:
        raise Incorrect(
            "pattern.too-long", f"a pattern has at most {MAX_PATTERN} characters", hint=_HINT
        )
    try:
        program = re2.compile(text.encode(), _options())
    except UnicodeEncodeError:
        raise Incorrect(
            "pattern.malformed", "a pattern cannot contain lone surrogates", hint=_HINT
        ) from None
    except re2.error as error:
        raise Incorrect(
            "pattern.malformed", f"the pattern is refused: {_reason(error)}", hint=_HINT
        ) from None
    if program.programsize > MAX_PROGRAM:
        raise Incorrect("pattern.malformed", "the pattern is refused: it is too large", hint=_HINT)
    return Pattern(text, program)


def _options() -> Any:
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    options.never_capture = True
    return options


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else b""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return ascii(text[:200])[1:-1]
