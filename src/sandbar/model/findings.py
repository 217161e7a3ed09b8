"""Findings: everything that is wrong with a request, each with its slot and what to try."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Interrupted, Problem
from sandbar.model.values.refusals import typed

FINDINGS_MAX = 100  # of one request; whoever has that many mends some and tries again
SUGGESTIONS_MAX = 5  # of one request: comparing names is slow, and a caller reads the first few
_COMPARED_MAX = 20
_COMPARED_CHARACTERS_MAX = 100
_NAMED_MAX = 255  # characters of a name that a finding repeats
_NEAR_MAX = 3  # names that a hint suggests
_CLOSE = 0.6  # how much of two names must be the same
_BEGUN, _BEGINNING = 0.9, 3  # how alike a name is to its own beginning, if that has some length
_FAR = 8  # names that differ more in length are not compared
_PUNCTUATION = str.maketrans("", "", "/._-?!:' ")
_LACKING_THE_SCHEMA = ("slot.required", "value.type")


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    code: str
    message: str
    slot: str | None = None
    hint: str | None = None
    at: int | None = None  # which operation of several
    entity: str | int | None = None  # and whom that is about
    unknown: str | None = None  # the name that means nothing

    @property
    def place(self) -> str:
        """The entity and the slot, as the beginning of a message."""
        entity = f"entity {self.entity}" if isinstance(self.entity, int) else self.entity
        slot = None if self.slot == entity else self.slot
        return "".join(f"{one}: " for one in (entity, slot) if one is not None)


def finding_of(problem: Problem, slot: str | None, at: int | None = None) -> Finding:
    """A problem met while looking at one slot, or at one of several operations."""
    return Finding(code=problem.code, message=problem.message, slot=slot, hint=problem.hint, at=at)


class Suggestion:
    """A hint that names what was probably meant, and in any case the call that tells.

    What a word of another system is called here (`meant`) is known without a search.
    """

    def __init__(
        self,
        name: object,
        candidates: Iterable[str],
        call: str | Callable[[], str],
        meant: str | None = None,
    ) -> None:
        self.name = name
        self.is_searched = meant is None
        self._candidates = candidates
        self._call = call
        self._meant = meant

    @property
    def plain(self) -> str:
        """The hint without a search."""
        call = self._call if isinstance(self._call, str) else self._call()
        return f"{self._meant}; {call}" if self._meant else call

    @property
    def unknown(self) -> str | None:
        """The name that means nothing: an ident, or {slot: value} as JSON."""
        if isinstance(self.name, dict):
            return typed(self.name)
        return self.name[:_NAMED_MAX] if isinstance(self.name, str) else None

    def __call__(self) -> str:
        near = did_you_mean(self.name, self._candidates) if self.is_searched else None
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

    def note(
        self,
        problem: Problem,
        slot: str | None = None,
        at: int | None = None,
        entity: str | int | None = None,
    ) -> None:
        """A problem met while looking at one slot, or at one of several operations."""
        if isinstance(problem, Interrupted):
            raise problem  # this says nothing of what was asked for
        if not self.is_full:
            late = problem.late_hint if isinstance(problem.late_hint, Suggestion) else None
            told = Finding(
                code=problem.code,
                message=problem.message,
                slot=slot,
                hint=self.hint(late or problem.hint),
                at=at,
                entity=entity,
                unknown=None if late is None else late.unknown,
            )
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
        if not isinstance(given.name, str) or not given.is_searched:
            return given.plain
        plain = given.plain
        known = (given.name, plain)
        if known not in self._suggested:
            if len(self._suggested) == SUGGESTIONS_MAX:
                return plain
            self._suggested[known] = given()
        return self._suggested[known]


def refuse(what: str, findings: Findings, classes: Mapping[int, str]) -> Incorrect:
    """The error that carries all findings of an invalid request.

    `classes` tells whose slots each operation sets: the hint says how to learn what they take.
    """
    first = findings.told[0]
    hints = findings.hints
    unknowing = (
        finding.at or 0 for finding in findings.told if finding.code in _LACKING_THE_SCHEMA
    )
    for cls in dict.fromkeys(classes[at] for at in unknowing if at in classes):
        hints[f"class.describe {cls} gives its schema"] = None
    return Incorrect(
        "entity.invalid",
        f"{what}: {first.place}{first.message}{findings.and_more}",
        hint="; ".join(hints) or None,
        data=findings.data(),
    )


def did_you_mean(name: object, candidates: Iterable[str]) -> str | None:
    """A hint that names what was probably meant."""
    if not isinstance(name, str) or len(name) > _COMPARED_CHARACTERS_MAX:
        return None
    plain = name.removeprefix(":")
    same, likely = _likely(plain, dict.fromkeys(candidates))
    near = sorted(same, key=lambda one: (len(one), one)) or _closest(plain, likely)
    is_misspelt = plain not in near  # else it is right, only not here or not then
    return f"did you mean {' or '.join(map(_told, near))}?" if near and is_misspelt else None


def called_now(before: object, now: object) -> str:
    """A hint that says what something is called which had another name before."""
    return f"{before} is called {now} now: use {now}"


def _told(name: str) -> str:
    """A name inside of a question: whose last character is a question mark, in quotes."""
    return f"'{name}'" if name.endswith("?") else name


def _closest(name: str, likely: list[str]) -> list[str]:
    """The three that are most alike, best first.

    A namespace that both have, or that was left out, is not compared: it would make all alike.
    """
    namespace, last = _parted(name)
    found = []
    for candidate in likely:
        theirs, own = _parted(candidate)
        pair = (own, last) if not namespace or theirs == namespace else (candidate, name)
        ratio = difflib.SequenceMatcher(None, *pair).ratio()
        if len(last) >= _BEGINNING and pair[0].startswith(pair[1]):
            ratio = max(ratio, _BEGUN)
        if ratio >= _CLOSE:
            found.append((-ratio, len(candidate), candidate))
    return [candidate for _, _, candidate in sorted(found)[:_NEAR_MAX]]


def _likely(name: str, candidates: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those that differ in spelling only, and the few that are worth a closer look, which is slow.

    These are of the same namespace, or much alike.
    """
    namespace, last = _parted(name)
    letters, tail, start = _letters(name), _letters(last), last[:2].lower()
    same, related, alike = [], [], []
    for candidate in candidates:
        theirs, own = _parted(candidate)
        far, far_in_all = abs(len(own) - len(last)), abs(len(candidate) - len(name))
        is_whole = far_in_all <= 2 and _letters(candidate) == letters
        if is_whole or (not namespace and far <= 2 and _letters(own) == tail):
            same.append(candidate)
        elif own == last or (theirs == namespace and far <= _FAR):
            related.append(candidate)
        elif own[:2].lower() == start and (far_in_all <= 3 or (not namespace and far <= 3)):
            alike.append(candidate)
    likely = related + alike
    if len(likely) > _COMPARED_MAX:
        likely = heapq.nlargest(_COMPARED_MAX, likely, key=lambda near: _shared_ends(near, name))
    return sorted(same, key=lambda one: (len(one), one))[:_NEAR_MAX], likely


def _parted(name: str) -> tuple[str, str]:
    """The namespace of a name (of a verb's, its group), and the rest."""
    namespace, _, last = name.rpartition("/" if "/" in name else ".")
    return namespace, last


def _letters(name: str) -> str:
    """What is left of a name if case and punctuation do not count."""
    return name.translate(_PUNCTUATION).lower()


def _shared_ends(one: str, other: str) -> int:
    """How many characters two names have in common before and after they differ."""
    return _shared_start(one, other) + _shared_start(one[::-1], other[::-1])


def _shared_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def data_of(findings: list[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [msgspec.to_builtins(finding) for finding in findings]
