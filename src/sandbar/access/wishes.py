"""Telling everything that is wrong with a wish at once, each with the argument it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sandbar.errors import Problem
from sandbar.findings import Findings, finding_of

T = TypeVar("T")


class Wishes:
    """Looks at one argument after the other, and keeps what is wrong with them."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Problem]] = []

    def look(self, argument: str, check: Callable[[], T]) -> T | None:
        """What the check answers; None, if it finds something wrong."""
        try:
            return check()
        except Problem as problem:
            self._found.append((argument, problem))
            return None

    def refuse(self) -> None:
        """One thing alone is raised as it is, several as one refusal that lists them."""
        if not self._found:
            return
        first = self._found[0][1]
        if len(self._found) == 1:
            raise first
        found = (finding_of(problem, argument=argument) for argument, problem in self._found)
        raise Findings.of(*found).as_problem("access.invalid", "")
