"""Findings: everything that is wrong with a request, each with its slot and what to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Problem

_COMPARED_MAX = 150
_LACKING_THE_SCHEMA = ("slot.required", "value.type")


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    code: str
    message: str
    slot: str | None = None
    hint: str | None = None
    at: int | None = None  # which operation of several


def finding_of(problem: Problem, slot: str | None, at: int | None = None) -> Finding:
    """A problem met while looking at one slot, or at one of several operations."""
    return Finding(code=problem.code, message=problem.message, slot=slot, hint=problem.hint, at=at)


def refuse(what: str, findings: list[Finding], classes: Mapping[int, str]) -> Incorrect:
    """The error that carries all findings of an invalid request.

    `classes` tells whose slots each operation sets: the hint says how to learn what they take.
    """
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    where = f"{first.slot}: " if first.slot else ""
    hints = dict.fromkeys(finding.hint for finding in findings if finding.hint)
    unknowing = (finding.at or 0 for finding in findings if finding.code in _LACKING_THE_SCHEMA)
    for cls in dict.fromkeys(classes[at] for at in unknowing if at in classes):
        hints[f"class.describe {cls} gives its schema"] = None
    return Incorrect(
        "entity.invalid",
        f"{what}: {where}{first.message}{more}",
        hint="; ".join(hints) or None,
        data={"findings": [msgspec.to_builtins(finding) for finding in findings]},
    )


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint that names what was probably meant."""
    if not isinstance(name, str) or len(name) > 255:
        return None
    plain = name.removeprefix(":")
    near = difflib.get_close_matches(plain, _likely(plain, candidates), n=3)
    return f"did you mean {' or '.join(near)}?" if near else None


def suggestion(name: object, candidates: Iterable[str], call: str) -> str:
    """A hint that names what was probably meant, and in any case the call that tells."""
    near = did_you_mean(name, candidates)
    return f"{near} {call}" if near else call


def _likely(name: str, candidates: Iterable[str]) -> list[str]:
    """The few that are worth a closer look, which is slow: of the same house, or much alike."""
    namespace, _, last = name.rpartition("/")
    related, alike = [], []
    for candidate in candidates:
        theirs, _, own = candidate.rpartition("/")
        if own == last or (theirs == namespace and abs(len(own) - len(last)) <= 8):
            related.append(candidate)
        elif own[:2] == last[:2] and abs(len(candidate) - len(name)) <= 3:
            alike.append(candidate)
    if len(related) > _COMPARED_MAX:
        related.sort(key=lambda near: _shared_ends(near, name), reverse=True)
    return (related + alike)[:_COMPARED_MAX]


def _shared_ends(one: str, other: str) -> int:
    """How many characters two names have in common before and after they differ."""
    return _shared_start(one, other) + _shared_start(one[::-1], other[::-1])


def _shared_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def data_of(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [msgspec.to_builtins(finding) for finding in findings]
