"""Everything that is wrong with a definition, collected: each finding with its place and a hint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from sandbar.errors import Incorrect, Problem
from sandbar.model import did_you_mean

FINDINGS_MAX = 200
_GUESSES_MAX = 10  # comparing names is slow, and a caller reads the first few
_GUESSED_CHARACTERS_MAX = 64
_HINTS_SHOWN = 3
_CHARACTERS_MAX = 500  # of a message or a hint: it may list names
_SHOWN_BITS_MAX = 200


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    at: str
    code: str
    message: str
    hint: str | None = None


class Findings:
    """Collects what is wrong; beyond the first two hundred it only counts."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.count = 0
        self._guesses = _GUESSES_MAX

    def complain(self, code: str, at: str, message: str, hint: str | None = None) -> None:
        """Something is wrong at a place."""
        self._keep(Finding(at=at, code=code, message=_cut(message), hint=hint and _cut(hint)))

    def adopt(self, problem: Problem, at: str, hint: str | None = None) -> None:
        """What another check refused is wrong at a place."""
        said = hint or problem.hint
        self._keep(
            Finding(
                at=at, code=problem.code, message=_cut(problem.message), hint=said and _cut(said)
            )
        )

    def guess(self, name: object, candidates: Iterable[str]) -> str | None:
        """What was probably meant; after a few answers, nothing."""
        if not isinstance(name, str) or len(name) > _GUESSED_CHARACTERS_MAX or not self._guesses:
            return None
        self._guesses -= 1
        return did_you_mean(name, candidates)

    def refusal(self, what: str) -> Incorrect:
        """The error that carries all findings."""
        first = self.found[0]
        where = f"{first.at}: " if first.at else ""
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        hints = list(dict.fromkeys(one.hint for one in self.found if one.hint))
        data: dict[str, Any] = {"findings": msgspec.to_builtins(self.found)}
        if self.count > len(self.found):
            data["left-out"] = self.count - len(self.found)
        return Incorrect(
            "workflow.invalid",
            f"{what}: {where}{first.message}{more}",
            hint="; ".join(hints[:_HINTS_SHOWN]) or None,
            data=data,
        )

    def _keep(self, finding: Finding) -> None:
        self.count += 1
        if len(self.found) < FINDINGS_MAX:
            self.found.append(finding)


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]}…"


def shown(value: object) -> str:
    """A few printable characters that say what came, in JSON's vocabulary."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}…"
    if isinstance(value, list):
        return f"an array of {len(value)} items"
    if isinstance(value, dict):
        return f"an object of {len(value)} keys"
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS_MAX:
        return "a huge number"
    return str(value) if isinstance(value, int | float) else f"a Python {type(value).__name__}"
