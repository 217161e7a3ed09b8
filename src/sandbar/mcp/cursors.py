"""Opaque cursors of the lists: an offset into a list that may have changed since."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from sandbar.errors import Incorrect

_CURSOR_MAX = 4096


def write_cursor(*parts: str | int) -> str:
    """A cursor that only we can read."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def read_cursor(word: str, kind: str, *shape: type) -> list[Any]:
    """What follows the kind in a cursor of this shape, or a clear refusal: clients can forge it."""
    try:
        if len(word) > _CURSOR_MAX:
            raise ValueError
        padded = word + "=" * (-len(word) % 4)
        parts = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=list[str | int])
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        parts = []
    is_shaped = bool(shape) and [type(part) for part in parts] == [str, *shape]
    if not is_shaped or parts[0] != kind or any(type(p) is int and p < 0 for p in parts):
        raise Incorrect(
            "list.cursor",
            "this cursor is not of this list",
            hint="use nextCursor of the page before, or begin without a cursor",
        )
    return parts[1:]
