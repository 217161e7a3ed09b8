"""What is wrong with a file, as it is told: path, line, key, reason."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.errors import (
    Conflict,
    Fault,
    Forbidden,
    Incorrect,
    Interrupted,
    NotFound,
    Problem,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from sandbar.findings import Finding, findings_in
from sandbar.projects.sources import Item

FINDINGS_PER_FILE_MAX = 20

# Whether a problem is with a file: if not, it is with us, or with the moment, and ends the work.
_IS_OF_A_FILE: dict[type[Problem], bool] = {
    Incorrect: True,
    Unauthenticated: False,
    Forbidden: True,
    NotFound: True,
    Conflict: True,
    Unsupported: True,
    TooMany: False,
    Unavailable: False,
    Interrupted: False,
    Fault: False,
}
REFUSALS = tuple(category for category, is_refused in _IS_OF_A_FILE.items() if is_refused)


def findings_of(item: Item, problem: Problem) -> list[Finding]:
    """A problem with an item: each of its findings, or the problem itself."""
    return _told(item, findings_in(problem))


def told(item: Item, found: list[dict[str, Any]]) -> list[Finding]:
    """Findings of a codec, of the model or of workflows, with the file and the line."""
    return _told(item, msgspec.convert(found, list[Finding]))


def _told(item: Item, found: list[Finding]) -> list[Finding]:
    return [_in_file(item, one) for one in found[:FINDINGS_PER_FILE_MAX]]


def _in_file(item: Item, found: Finding) -> Finding:
    key = found.key or found.slot or (found.at if isinstance(found.at, str) else None) or None
    line = found.line
    if line is None and item.parsed is not None:
        lines = item.parsed.lines
        line = lines.get(key or "", item.parsed.line if lines else None)
    return Finding(
        path=item.path,
        code=found.code,
        message=found.message,
        line=line,
        key=key,
        hint=found.hint,
    )
