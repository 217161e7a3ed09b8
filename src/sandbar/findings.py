"""Findings: everything that is wrong with what was asked for, each with its place and what to try.

One form for all rooms. A `Finding` says where (`place`, a path that people read), what (`code`,
`message`) and what to try (`hint`); a `Findings` collects those of one request and refuses it.

    findings = Findings()
    findings.complain("workflow.missing", "states[0].name", "a state has a name", "add it")
    raise findings.as_problem("workflow.invalid", "the workflow is not sound: ")

Beyond a hundred they are only counted, and what was probably meant is searched for the first few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Interrupted, Problem
from sandbar.suggestions import SUGGESTIONS_MAX, Suggestion, did_you_mean

FINDINGS_MAX = 100  # of one request; whoever has that many mends some and tries again
_NAMED_MAX = 255  # characters of a name that a place repeats


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where.

    `place` is made of the other parts that say where, unless it is given.
    """

    place: str = ""
    path: str | None = None  # of a file
    argument: str | None = None  # of a call
    code: str
    message: str
    slot: str | None = None
    line: int | None = None  # of a text
    key: str | None = None  # that stands there
    hint: str | None = None
    at: int | str | None = None  # which operation of several; or the path in a document, or in data
    entity: str | int | None = None  # whom that operation is about
    unknown: str | None = None  # the name that means nothing
    row: int | None = None  # of a table; its header is row 1

    def __post_init__(self) -> None:
        if not self.place:
            msgspec.structs.force_setattr(self, "place", _place_of(self))

    def moved(self, **where: Any) -> Finding:
        """The same at another place."""
        return msgspec.structs.replace(self, place="", **where)

    def shortened(self, characters_max: int) -> Finding:
        """The same with no more of the message and of the hint."""
        hint = self.hint and _shortened(self.hint, characters_max)
        message = _shortened(self.message, characters_max)
        return msgspec.structs.replace(self, message=message, hint=hint)


def finding_of(problem: Problem, **where: Any) -> Finding:
    """A problem that was met at a place."""
    return Finding(code=problem.code, message=problem.message, hint=problem.hint, **where)


def findings_in(problem: Problem) -> list[Finding]:
    """All that a refusal tells, or a problem that tells of nothing but itself."""
    found = problem.data.get("findings")
    if found:
        return msgspec.convert(found, list[Finding])
    late = problem.late_hint
    return [finding_of(problem, unknown=late.unknown if isinstance(late, Suggestion) else None)]


def data_of(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as plain JSON."""
    return [_data_of(finding) for finding in findings]


def moved_data(found: Mapping[str, Any], **where: Any) -> dict[str, Any]:
    """A finding as plain JSON, at another place."""
    return _data_of(msgspec.convert(found, Finding).moved(**where))


def _data_of(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(finding)
    # In the order in which each kind has always been told.
    first = ["place"]
    first += ["line", "key"] if finding.path is None else []
    first += ["at"] if isinstance(finding.at, str) else []
    return {key: told[key] for key in first if key in told} | told


def _place_of(finding: Finding) -> str:
    """The place as one path; docs/errors.md has its grammar."""
    if finding.path is not None or finding.line is not None:
        return _place_in_text(finding)
    inner = None if finding.slot is None else _named(finding.slot)
    if finding.argument is not None:
        steps = ["arguments", _named(finding.argument), inner]
    elif isinstance(finding.at, str):
        return _named(finding.at) or "definition"
    else:
        operation = None if finding.at is None else f"operations[{finding.at}]"
        steps = [operation, *(("slots", inner) if inner else ())]
    return ".".join(step for step in steps if step) or "entity"


def _place_in_text(finding: Finding) -> str:
    line = finding.line
    if finding.path is None:
        where = f"line {line}"
    else:
        where = _named(finding.path) + ("" if line is None else f":{line}")
    return f"{where} {_named(finding.key)}" if finding.key else where


def _named(name: str) -> str:
    """A name as a part of a place: on one line, and not too long."""
    short = name[:_NAMED_MAX]
    return short if short.isprintable() else repr(short)[1:-1]


def _shortened(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}…"


class Findings:
    """Everything that is wrong with one request; what is more than `told_max` is only counted.

    What was probably meant is said for the first few names that mean nothing, however often. Up to
    `kept_max` are kept by whoever tells the first of them in another order.
    """

    def __init__(
        self,
        told_max: int = FINDINGS_MAX,
        *,
        kept_max: int | None = None,
        guesses_max: int = SUGGESTIONS_MAX,
        characters_max: int | None = None,
    ) -> None:
        self.told: list[Finding] = []
        self.count = 0
        self._told_max = told_max
        self._kept_max = kept_max or told_max
        self._guesses_left = guesses_max
        self._characters_max = characters_max
        self._suggested: dict[tuple[str, str], str] = {}

    @classmethod
    def of(cls, *found: Finding) -> Findings:
        """What is known already."""
        findings = cls()
        for one in found:
            findings.add(one)
        return findings

    def add(self, finding: Finding) -> None:
        """Something that is wrong."""
        if self.count < self._kept_max:
            most = self._characters_max
            self.told.append(finding if most is None else finding.shortened(most))
        self.count += 1

    def complain(self, code: str, at: str, message: str, hint: str | None = None) -> None:
        """Something is wrong at a place of a document, or of data."""
        self.add(Finding(code=code, at=at, message=message, hint=hint))

    def note(self, problem: Problem, **where: Any) -> None:
        """A problem that was met at a place; its hint is searched for while there is time."""
        if isinstance(problem, Interrupted):
            raise problem  # this says nothing of what was asked for
        if self.is_full:
            self.count += 1
            return
        late = problem.late_hint if isinstance(problem.late_hint, Suggestion) else None
        self.add(
            Finding(
                code=problem.code,
                message=problem.message,
                hint=self.hint(late or problem.hint),
                unknown=None if late is None else late.unknown,
                **where,
            )
        )

    def adopt(self, problem: Problem, **where: Any) -> None:
        """All that another refusal has told, or a problem that tells of nothing but itself."""
        if not problem.data.get("findings"):
            self.note(problem, **where)
            return
        for one in findings_in(problem):
            self.add(one.moved(**where) if where else one)
        self.count += problem.data.get("left-out", 0)

    @property
    def is_full(self) -> bool:
        """Whether whatever else is found is only counted."""
        return self.count >= self._told_max

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
        told: dict[str, Any] = {"findings": data_of(self.told[: self._told_max])}
        left_out = self.count - len(told["findings"])
        return told | {"left-out": left_out} if left_out else told

    def as_problem(
        self, code: str, start: str, otherwise: str | None = None, *, hints_max: int | None = None
    ) -> Incorrect:
        """The error that carries all of them; its message is this start, and the first of them.

        What there is to say if they have no hint is the hint `otherwise`.
        """
        return Incorrect(
            code,
            f"{start}{self.told[0].message}{self.and_more}",
            hint="; ".join([*self.hints][:hints_max]) or otherwise,
            data=self.data(),
        )

    def hint(self, given: str | Suggestion | None) -> str | None:
        """A hint as it is told here: after the first few nothing is guessed any more."""
        if not isinstance(given, Suggestion):
            return given
        plain = given.plain
        if not isinstance(given.name, str) or not given.is_searched:
            return plain
        known = (given.name, plain)
        if known not in self._suggested:
            if not self._guesses_left:
                return plain
            self._guesses_left -= 1
            self._suggested[known] = given()
        return self._suggested[known]

    def guess(self, name: object, candidates: Iterable[str]) -> str | None:
        """What was probably meant; after a few answers, nothing."""
        if not isinstance(name, str) or not self._guesses_left:
            return None
        self._guesses_left -= 1
        return did_you_mean(name, candidates)
