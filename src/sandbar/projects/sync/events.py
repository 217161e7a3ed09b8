"""What a watch tells about what it does."""

from __future__ import annotations

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
