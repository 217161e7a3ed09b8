"""Findings: everything that is wrong with a request, each with its slot and what to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Problem


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    code: str
    message: str
    slot: str | None = None
    hint: str | None = None
    at: int | None = None  # which operation of several


def finding_of(problem: Problem, slot: str | None) -> Finding:
    """A problem met while looking at one slot."""
    return Finding(code=problem.code, message=problem.message, slot=slot, hint=problem.hint)


def refuse(what: str, findings: list[Finding]) -> Incorrect:
    """The error that carries all findings of an invalid request."""
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    where = f"{first.slot}: " if first.slot else ""
    hints = dict.fromkeys(finding.hint for finding in findings if finding.hint)
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
    near = difflib.get_close_matches(name.removeprefix(":"), _likely(name, candidates), n=3)
    return f"did you mean {' or '.join(near)}?" if near else None


def _likely(name: str, candidates: Iterable[str]) -> list[str]:
    # difflib is quadratic: only names of similar length are worth a look.
    return [c for c in candidates if abs(len(c) - len(name)) <= 8][:2000]


def data_of(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [msgspec.to_builtins(finding) for finding in findings]
