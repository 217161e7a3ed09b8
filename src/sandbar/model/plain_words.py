"""What the decoder says of a value that has the wrong shape, in the words of whoever wrote it."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

# What the decoder raises, also for what is no JSON at all: lone surrogates, types of Python.
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeError, AttributeError)

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_PLACE = re.compile(r" - at `\$(.*)`$")
_EXPECTED = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`| (.+))")
_VALUE = re.compile(r"Invalid (?:enum )?value (.+)")


def said_plainly(name: str, error: Exception) -> str:
    """One sentence about a value, which begins with its name and the place in it."""
    if isinstance(error, RecursionError):
        return f"{name}: too deeply nested"
    if not isinstance(error, msgspec.MsgspecError):
        return f"{name}: this is no JSON"
    text = str(error)
    place = _PLACE.search(text)
    if place is not None:
        name += place[1].replace("[...]", "")
        text = text[: place.start()]
    if (expected := _EXPECTED.fullmatch(text)) is not None:
        wanted, got, bounds = expected.groups()
        if wanted.startswith("int") and got == "float":
            return f"{name}: expected a whole number, got a fraction"
        rest = f", got {_in_words(got)}" if got else f" {bounds}"
        return f"{name}: expected {_in_words(wanted)}{rest}"
    if (value := _VALUE.fullmatch(text)) is not None:
        return f"{name}: {value[1][:80]} is none of its values"
    if isinstance(error, msgspec.DecodeError) and not isinstance(error, msgspec.ValidationError):
        return f"{name}: this text is no JSON"
    return f"{name}: {text.replace('`', '')}"


def _in_words(kinds: str) -> str:
    """`int | str | null` as people say it. Null is the same as absent, so nobody is told of it."""
    named = [kind for kind in kinds.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_WORDS.get(kind, kind) for kind in named)


def what_it_takes(kind: Any) -> str | None:
    """The bounds of a number or the choice of words that a type consists of, if it does."""
    info = inspect.type_info(kind)
    parts = info.types if isinstance(info, inspect.UnionType) else (info,)
    for part in parts:
        plain = part.type if isinstance(part, inspect.Metadata) else part
        if isinstance(plain, inspect.LiteralType):
            return f"one of {', '.join(map(str, plain.values))}"
        if isinstance(plain, inspect.IntType) and plain.ge is not None and plain.le is not None:
            return f"a whole number from {plain.ge} to {plain.le}"
    return None
