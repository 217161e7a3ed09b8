"""How the value door says no: one sentence, what came, and a right example.

Owns the wording and the safe echo of a refused value; decides nothing itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import partial

from sandbar.errors import Incorrect
from sandbar.suggestions import Suggestion

MAX_ECHO = 80
_TYPED_ITEMS, _TYPED_DEPTH = 8, 4
_LEFT_OUT = "…"
_MAX_ECHOED_BITS = 200


def refused(code: str, expected: str, value: object, example: str) -> Incorrect:
    """The error for a value that is not what was expected."""
    return Incorrect(
        f"value.{code}", f"expected {expected}, got {shown(value)}", hint=f"for example {example}"
    )


def shown(value: object) -> str:
    """At most 80 printable characters that say what a value is, in JSON's vocabulary."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the string {_cut(value)}"
    if isinstance(value, int):
        bits = value.bit_length()
        return f"an integer of {bits} bits" if bits > _MAX_ECHOED_BITS else int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return f"an array of {len(value)} items"
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value)} bytes"
    return f"a Python {type(value).__name__[:40]}"


def named(value: object) -> str:
    """A name as it is, if it can be one, or what came in its place."""
    return value[:MAX_ECHO] if isinstance(value, str) else shown(value)


def quoted(value: object) -> str:
    """A text in quotes, or what came in its place."""
    return _cut(value) if isinstance(value, str) else shown(value)


def typed(value: object) -> str:
    """JSON as a caller types it; what is long, deep or no JSON is left out."""
    return json.dumps(_short(value, 0), ensure_ascii=False)


def _short(value: object, depth: int) -> object:
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        fits = len(value) <= MAX_ECHO and value.isprintable()
        return str.__str__(value) if fits else _LEFT_OUT
    if type(value) is int and value.bit_length() <= _MAX_ECHOED_BITS:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if depth == _TYPED_DEPTH or not isinstance(value, list | tuple | dict):
        return _LEFT_OUT
    if len(value) > _TYPED_ITEMS:
        return _LEFT_OUT
    if isinstance(value, dict):
        return {named(key): _short(item, depth + 1) for key, item in value.items()}
    return [_short(item, depth + 1) for item in value]


def suggestion(
    name: object,
    candidates: Iterable[str],
    call: str | Callable[[], str],
    meant: str | None = None,
) -> Suggestion:
    """The hint that follows a name of nothing, which may be {slot: value}."""
    unknown = partial(typed, name) if isinstance(name, dict) else None
    return Suggestion(name, candidates, call, meant, unknown)


def plain(value: object) -> str:
    """What stands in a digest for a value that is not JSON: the whole of a text, or what it is."""
    return str.__str__(value) if isinstance(value, str) else shown(value)


def _cut(text: str) -> str:
    quoted = repr(text[:MAX_ECHO])  # repr escapes whatever does not print, lone surrogates included
    whole = len(text) <= MAX_ECHO and len(quoted) <= MAX_ECHO
    return quoted if whole else f"{quoted[: MAX_ECHO - 4]}...{quoted[0]}"
