"""Opaque cursors of the lists: an offset into a list that may have changed since."""

from __future__ import annotations

import base64
import binascii

import msgspec

from sandbar.errors import Incorrect

_CURSOR_MAX = 4096


def write_cursor(*parts: str | int) -> str:
    """A cursor that only we can read."""
    return base64.urlsafe_b64encode(msgspec.json.encode(parts)).decode().rstrip("=")


def read_cursor(word: str, kind: str) -> list[str | int]:
    """The parts of a cursor of this kind, or a clear refusal."""
    try:
        if len(word) > _CURSOR_MAX:
            raise ValueError
        padded = word + "=" * (-len(word) % 4)
        parts = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=list[str | int])
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        parts = []
    if not parts or parts[0] != kind:
        raise Incorrect(
            "list.cursor",
            "this cursor is not of this list",
            hint="use nextCursor of the page before, or begin without a cursor",
        )
    return parts
