"""Patterns of properties in the words that every JSON Schema validator shares.

A pattern is RE2, and a JSON Schema is read by ECMAScript, Python and others, in which the same sign
has another meaning or none. Each sign is written out in a form that accepts the same everywhere, or
more in some (`$` of Python stops before a last line break), but never less. What has no such form
is not guessed at: the pattern is then told in words.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DIGITS, _WORD, _SPACE = "0-9", "0-9A-Za-z_", r"\t\n\f\r "
_SETS = {"d": _DIGITS, "w": _WORD, "s": _SPACE}  # of ASCII in RE2, and of more in other engines
_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "digit": _DIGITS,
    "lower": "a-z",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": _WORD,
    "xdigit": "0-9A-Fa-f",
}
_ANCHORS = {"A": "^", "z": "$"}
_CONTROLS = "fnrtv"
_SYNTAX = r"^$\.*+?()[]{}|"  # all that may be escaped in ECMAScript, besides / and, in a class, -
_REPEAT = re.compile(r"[*+?]\??|\{[0-9]+(?:,[0-9]*)?\}\??")
_HEX = re.compile(r"x[0-9A-Fa-f]{2}")
_CLASS_NAME = re.compile(r"\[:([a-z]+):\]")


class _NotPortable(Exception):
    """There is a sign without a form that all engines share."""


@lru_cache(maxsize=1024)
def portable_pattern(text: str) -> str | None:
    """What accepts at least the same as this RE2 pattern in every engine, if it can be said."""
    try:
        found = "".join(_Reader(text).pieces())
        re.compile(found)
    except (_NotPortable, re.error, RecursionError, OverflowError):
        return None
    return found


class _Reader:
    """Reads a pattern that RE2 has accepted, and writes each sign anew."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.is_repeatable = False  # whether what was read last may be repeated everywhere

    def pieces(self) -> list[str]:
        """The signs of the whole pattern."""
        pieces = []
        while self.at < len(self.text):
            pieces.append(self._repeat() or self._sign())
        return pieces

    def _repeat(self) -> str | None:
        found = _REPEAT.match(self.text, self.at)
        if found is None:
            return None
        if not self.is_repeatable:
            raise _NotPortable  # an anchor, or what is repeated already
        self.is_repeatable = False
        self.at = found.end()
        return found[0]

    def _sign(self) -> str:
        sign = self._next()
        self.is_repeatable = sign not in "(|^$"
        if sign == "\\":
            return self._escaped()
        if sign == "[":
            return self._class()
        if sign == "(" and self._peek() == "?":
            if not self.text.startswith("?:", self.at):
                raise _NotPortable
            self.at += 2
            return "(?:"
        if sign == ".":
            return r"[^\n]"  # in ECMAScript a dot stops at three other line breaks, too
        return f"\\{sign}" if sign in "]{}" else sign

    def _escaped(self) -> str:
        sign = self._peek()
        if sign in _ANCHORS:
            self.at += 1
            self.is_repeatable = False
            return _ANCHORS[sign]
        if sign and sign.lower() in _SETS:
            self.at += 1
            return f"[{'^' if sign.isupper() else ''}{_SETS[sign.lower()]}]"
        return self._character(_SYNTAX)

    def _character(self, escaped: str) -> str:
        """One character after a backslash; of punctuation only some may be escaped elsewhere."""
        found = _HEX.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            return f"\\{found[0]}"
        sign = self._next()
        if sign in _CONTROLS:
            return f"\\{sign}"
        if not sign.isascii() or not sign.isprintable() or sign.isalnum():
            raise _NotPortable
        return f"\\{sign}" if sign in escaped else sign

    def _class(self) -> str:
        start = "["
        if self._peek() == "^":
            self.at += 1
            start = "[^"
        members = [self._member()]  # the first may be a ] and is a member all the same
        while self._peek() != "]":
            members.append(self._member())
        self.at += 1
        return f"{start}{''.join(members)}]"

    def _member(self) -> str:
        named = _CLASS_NAME.match(self.text, self.at)
        if named is not None:
            self.at = named.end()
            if named[1] not in _NAMED:
                raise _NotPortable
            return _NAMED[named[1]]
        if self.text.startswith("[:", self.at):
            raise _NotPortable
        first = self._peek()
        if first == "\\" and self.text[self.at + 1 : self.at + 2] in _SETS:
            self.at += 2
            return _SETS[self.text[self.at - 1]]
        low = self._one_of_class()
        if not (self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "")):
            return low
        self.at += 1
        return f"{low}-{self._one_of_class()}"

    def _one_of_class(self) -> str:
        sign = self._next()
        if sign == "\\":
            sign = self._character("")
            if len(sign) > 1:
                return sign
        if sign in "&~":
            return f"\\x{ord(sign):02x}"  # two of them are an operator to be, in Python
        return f"\\{sign}" if sign in r"\]^[-|" else sign

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        sign = self._peek()
        if not sign:
            raise _NotPortable
        self.at += 1
        return sign
