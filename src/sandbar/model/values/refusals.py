"""How the value door says no: one sentence, what came, and a right example.

Owns the wording and the safe echo of a refused value; decides nothing itself.
"""

from __future__ import annotations

import json

from sandbar.errors import Incorrect

MAX_ECHO = 80
_MAX_TYPED = 400
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
    """JSON as a caller types it; of what is too long only that something stands there."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return "{…}"
    return text if len(text) <= _MAX_TYPED else "{…}"


def plain(value: object) -> str:
    """What stands in a digest for a value that is not JSON: the whole of a text, or what it is."""
    return str.__str__(value) if isinstance(value, str) else shown(value)


def _cut(text: str) -> str:
    quoted = repr(text[:MAX_ECHO])  # repr escapes whatever does not print, lone surrogates included
    whole = len(text) <= MAX_ECHO and len(quoted) <= MAX_ECHO
    return quoted if whole else f"{quoted[: MAX_ECHO - 4]}...{quoted[0]}"
