"""What a watch tells about what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

Kind = Literal[
    "created",  # file to workspace
    "updated",
    "deleted",
    "renamed",
    "written",  # workspace to file
    "moved",
    "thrown-away",
    "conflict",  # the file's version is kept beside it
    "survived",  # deleted on one side, changed on the other
    "returned",  # deleted as a file, but others refer to the entity
    "refused",
]
# What somebody has to look at.
SERIOUS: frozenset[Kind] = frozenset({"conflict", "returned", "refused"})
# What a terminal obeys, or what lets a line look like another one.
_ORDERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was done, or not."""

    kind: Kind
    path: str
    entity: str | None = None  # its ident, or its number
    kept: str | None = None  # where a version was put aside
    code: str | None = None
    reason: str | None = None
    hint: str | None = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What a watch found when it began."""

    files: int
    entities: int
    agreed: int  # pairs that said the same when last looked at
    files_new: int
    files_changed: int
    files_gone: int
    entities_new: int
    entities_changed: int
    entities_gone: int
    conflict_files: int


def plain(text: str) -> str:
    """A text that somebody else may have chosen, so that a terminal shows it and no more."""
    return _ORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_plain_text(tell: Callable[[Event], None]) -> Callable[[Event], None]:
    """Whoever is told sees plain text: names of files are anybody's."""

    def tell_plainly(event: Event) -> None:
        texts = {name: getattr(event, name) for name in Event.__struct_fields__ if name != "kind"}
        shown = {name: plain(text) for name, text in texts.items() if text is not None}
        tell(msgspec.structs.replace(event, **shown))

    return tell_plainly
