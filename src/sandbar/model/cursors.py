"""Cursors: where a page ended and at which moment the walk looks, as an opaque word."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from sandbar.errors import Conflict, Incorrect
from sandbar.model.values.refusals import plain
from sandbar.model.values.scalars import MAX_REF


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """All that the next page needs to know."""

    epoch: int
    t: int
    question: str
    phase: int
    key: bytes
    id: int


def question_digest(*parts: Any) -> str:
    """A short name for a query, so that a cursor cannot be used with another one."""
    try:
        text = msgspec.json.encode(parts, enc_hook=plain, order="sorted")
    except (ValueError, TypeError, RecursionError):
        return ""  # no such query was ever answered
    return hashlib.blake2b(text, digest_size=6).hexdigest()


def write_cursor(cursor: Cursor) -> str:
    """The cursor as a word."""
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def other_moment() -> Incorrect:
    """The refusal of a cursor that looks at another moment than its query."""
    return Incorrect(
        "cursor.other-moment",
        "this cursor looks at another moment",
        hint="leave as-of out, a cursor keeps its moment; or start again without a cursor",
    )


def read_cursor(word: str, question: str, epoch: int) -> Cursor:
    """The cursor behind a word, if it belongs to this query and this database."""
    try:
        text = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4))
        cursor = msgspec.json.decode(text, type=Cursor)
        assert 0 <= cursor.t <= MAX_REF and 0 <= cursor.id <= MAX_REF and cursor.phase in (0, 1)
    except (msgspec.MsgspecError, ValueError, TypeError, AssertionError) as error:
        raise Incorrect(
            "cursor.malformed", "this is no cursor", hint="use the cursor of the last page as it is"
        ) from error
    if cursor.question != question:
        raise Incorrect(
            "cursor.other-query",
            "this cursor belongs to another call",
            hint="repeat the call with the same arguments, or start again without a cursor",
        )
    if cursor.epoch != epoch:
        raise Conflict(
            "cursor.other-epoch",
            "this cursor is of another workspace, or was made before the database was restored",
            hint="start again without a cursor",
        )
    return cursor
