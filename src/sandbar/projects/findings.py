"""What is wrong with a file, as it is told: path, line, key, reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.errors import Conflict, Forbidden, Incorrect, NotFound, Problem, Unsupported
from sandbar.projects.results import ProjectFinding
from sandbar.projects.sources import Item

FINDINGS_PER_FILE_MAX = 20

# What is wrong with a file; anything else is wrong with us, or with the moment, and ends the work.
REFUSALS = (Incorrect, Forbidden, NotFound, Conflict, Unsupported)


def findings_of(item: Item, problem: Problem) -> list[ProjectFinding]:
    """A problem with an item: each of its findings, or the problem itself."""
    found = problem.data.get("findings")
    if not isinstance(found, list) or not found:
        found = [{"code": problem.code, "message": problem.message, "hint": problem.hint}]
    return told(item, found)


def told(item: Item, found: Sequence[dict[str, Any]]) -> list[ProjectFinding]:
    """Findings of a codec, of the model or of workflows, with the file and the line."""
    return [_told(item, one) for one in found[:FINDINGS_PER_FILE_MAX]]


def _told(item: Item, found: dict[str, Any]) -> ProjectFinding:
    at = found.get("at")
    key = found.get("key") or found.get("slot") or (at if isinstance(at, str) and at else None)
    line = found.get("line")
    if line is None and item.parsed is not None:
        lines = item.parsed.lines
        line = lines.get(key or "", item.parsed.line if lines else None)
    return ProjectFinding(
        path=item.path,
        code=str(found.get("code")),
        message=str(found.get("message")),
        line=line,
        key=key,
        hint=found.get("hint"),
    )
