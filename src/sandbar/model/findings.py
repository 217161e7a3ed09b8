"""Findings: everything that is wrong with a request, each with its slot and what to try."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Interrupted, Problem

FINDINGS_MAX = 100  # of one request; whoever has that many mends some and tries again
SUGGESTIONS_MAX = 5  # of one request: comparing names is slow, and a caller reads the first few
_COMPARED_MAX = 20
_COMPARED_CHARACTERS_MAX = 100
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


class Suggestion:
    """A hint that names what was probably meant, and in any case the call that tells."""

    def __init__(self, name: object, candidates: Iterable[str], call: str) -> None:
        self.name = name
        self.plain = call
        self._candidates = candidates

    def __call__(self) -> str:
        near = did_you_mean(self.name, self._candidates)
        return f"{near} {self.plain}" if near else self.plain


class Findings:
    """Everything that is wrong with one request; beyond the first hundred it is only counted.

    What was probably meant is said for the first few names that mean nothing, however often.
    """

    def __init__(self) -> None:
        self.told: list[Finding] = []
        self.count = 0
        self.places: set[tuple[int | None, str | None]] = set()
        self._suggested: dict[tuple[str, str], str] = {}

    def note(self, problem: Problem, slot: str | None = None, at: int | None = None) -> None:
        """A problem met while looking at one slot, or at one of several operations."""
        if isinstance(problem, Interrupted):
            raise problem  # this says nothing of what was asked for
        if not self.is_full:
            late = problem.late_hint
            hint = self.hint(late if isinstance(late, Suggestion) else problem.hint)
            told = Finding(code=problem.code, message=problem.message, slot=slot, hint=hint, at=at)
            self.told.append(told)
        self.count += 1
        self.places.add((at, slot))

    def add(self, finding: Finding) -> None:
        """Something that is wrong."""
        if not self.is_full:
            self.told.append(finding)
        self.count += 1
        self.places.add((finding.at, finding.slot))

    def adopt(self, problem: Problem) -> None:
        """All that another refusal has told, or a problem that tells of nothing but itself."""
        found = problem.data.get("findings")
        if not found:
            self.note(problem)
            return
        for one in msgspec.convert(found, list[Finding]):
            self.add(one)
        self.count += problem.data.get("left-out", 0)

    @property
    def is_full(self) -> bool:
        """Whether whatever else is found is only counted."""
        return len(self.told) == FINDINGS_MAX

    @property
    def and_more(self) -> str:
        """How many there are beside the first, as the end of a message about that."""
        return f" (and {self.count - 1} more)" if self.count > 1 else ""

    @property
    def hints(self) -> dict[str, None]:
        """All different hints, in order."""
        return dict.fromkeys(finding.hint for finding in self.told if finding.hint)

    def data(self) -> dict[str, Any]:
        """What a refusal carries: the findings as plain JSON, and how many are left out."""
        left_out = self.count - len(self.told)
        told: dict[str, Any] = {"findings": data_of(self.told)}
        return told | {"left-out": left_out} if left_out else told

    def hint(self, given: str | Suggestion | None) -> str | None:
        """A hint as it is told here: after the first few nothing is guessed any more."""
        if not isinstance(given, Suggestion):
            return given
        if not isinstance(given.name, str):
            return given.plain
        known = (given.name, given.plain)
        if known not in self._suggested:
            if len(self._suggested) == SUGGESTIONS_MAX:
                return given.plain
            self._suggested[known] = given()
        return self._suggested[known]


def refuse(what: str, findings: Findings, classes: Mapping[int, str]) -> Incorrect:
    """The error that carries all findings of an invalid request.

    `classes` tells whose slots each operation sets: the hint says how to learn what they take.
    """
    first = findings.told[0]
    where = f"{first.slot}: " if first.slot else ""
    hints = findings.hints
    unknowing = (
        finding.at or 0 for finding in findings.told if finding.code in _LACKING_THE_SCHEMA
    )
    for cls in dict.fromkeys(classes[at] for at in unknowing if at in classes):
        hints[f"class.describe {cls} gives its schema"] = None
    return Incorrect(
        "entity.invalid",
        f"{what}: {where}{first.message}{findings.and_more}",
        hint="; ".join(hints) or None,
        data=findings.data(),
    )


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint that names what was probably meant."""
    if not isinstance(name, str) or len(name) > _COMPARED_CHARACTERS_MAX:
        return None
    plain = name.removeprefix(":")
    near = difflib.get_close_matches(plain, _likely(plain, candidates), n=3)
    is_misspelt = plain not in near  # else it is right, only not here or not then
    return f"did you mean {' or '.join(near)}?" if near and is_misspelt else None


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
    likely = related + alike
    if len(likely) <= _COMPARED_MAX:
        return likely
    return heapq.nlargest(_COMPARED_MAX, likely, key=lambda near: _shared_ends(near, name))


def _shared_ends(one: str, other: str) -> int:
    """How many characters two names have in common before and after they differ."""
    return _shared_start(one, other) + _shared_start(one[::-1], other[::-1])


def _shared_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def data_of(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [msgspec.to_builtins(finding) for finding in findings]
