"""What exports and imports answer. All of it is plain JSON once encoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec

from sandbar.findings import Finding

LISTED_MAX = 1_000  # of findings, entries and paths; counts are exact

Action = Literal[
    "create", "change", "unchanged", "kept", "conflict", "refused", "missing", "delete", "ignored"
]
Mode = Literal["atomic", "per-file"]
Prefer = Literal["nobody", "files", "workspace"]
# How far it has come, of how much, and what is being done. It may raise: then the work ends, and
# what was written stays.
Progress = Callable[[int, int, str], None]


def counted(doing: str, done: int, total: int) -> str:
    """The message of a progress: what is being done, and with how many of the files."""
    return f"{doing}: {done:,} of {total:,} files"


# Of a finding, what there is to say about a file.
FileFindings = Annotated[
    list[Finding],
    msgspec.Meta(
        extra_json_schema={
            "items": {
                "type": "object",
                "properties": {
                    "place": {"type": "string"},
                    "path": {"type": "string"},
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "line": {"type": ["integer", "null"]},
                    "key": {"type": ["string", "null"]},
                    "hint": {"type": ["string", "null"]},
                },
                "required": ["place", "path", "code", "message"],
            }
        }
    ),
]


class Planned(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """What an import makes of one file (or of one entity of a bulk file)."""

    path: str
    action: Action
    entity: str | int | None = None  # its ident, or its number if it has none
    class_: str | None = msgspec.field(name="class", default=None)
    line: int | None = None  # in a bulk file
    slots: list[str] = []  # in which file and workspace differ
    why: str | None = None
    findings: FileFindings = []


class Exported(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """What an export has written: `digest` is that of SHA256SUMS, which names every file."""

    files: int
    entities: int
    classes: dict[str, int]  # how many entities of each
    t: int
    digest: str
    removed: int = 0  # files of an earlier export that are no more
    edited: int = 0  # files that were changed by hand since: they are left as they are
    edited_paths: list[str] = []  # the first of them


class Imported(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """What an import has done, or would do."""

    source: str
    applied: bool
    entities: int  # how many the files hold
    counts: dict[str, int]  # per action
    reconciled: bool  # whether every entity that was found is counted under one action
    entries: list[Planned] = []  # the first, without what is unchanged; the ignored come last
    findings: FileFindings = []  # the first
    findings_count: int = 0
    t: int | None = None  # after the last write

    @property
    def is_clean(self) -> bool:
        """Whether nothing was refused and nothing is in conflict."""
        return not (self.counts.get("refused") or self.counts.get("conflict"))
