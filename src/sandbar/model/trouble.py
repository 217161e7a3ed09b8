"""Everything that is wrong with a transaction: collected while it is performed, told at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.model.checks import problems_of
from sandbar.model.findings import Finding, Findings, refuse
from sandbar.model.new_names import given_ident
from sandbar.model.operations import Create, Migrate, Operation


class Trouble:
    """What operations are refused for; each finding says which of several it is about."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        self.findings = Findings()
        self.classes: dict[int, str] = {}  # whose slots an operation sets
        self._wrong: set[int] = set()
        self._only: Problem | None = None
        self._kinds: set[type[Problem]] = set()

    def note(self, problem: Problem, slot: str | None, at: int | None) -> None:
        """A problem of one operation, or of one slot that it sets; None: of no single one."""
        self._only = self._only or problem
        self._kinds.add(type(problem))
        if at is not None:
            self._wrong.add(at)
        several = at if len(self._operations) > 1 else None
        for one in problems_of(problem):
            self.findings.note(one, slot, several, self._about(several))

    def is_with(self, at: int | None) -> bool:
        """Whether something is wrong with an operation already: the rest may follow from that."""
        return at in self._wrong

    def refuse_if_any(
        self, late: list[tuple[int, Finding]], operation_of: Callable[[int], int | None]
    ) -> None:
        """Raise all that was noted, and what was found of entities in the end."""
        findings = self.findings
        if not late and not findings.told:
            return
        named = set(findings.places)
        for id, found in late:
            place = operation_of(id)
            at = place if len(self._operations) > 1 else None
            follows = found.slot is None and self.is_with(place)  # of a validator, say
            if (at, found.slot) not in named and not follows:
                findings.add(msgspec.structs.replace(found, at=at, entity=self._about(at)))
                self._kinds.add(Incorrect)
        refusal = refuse("the write is invalid", findings, self.classes)
        first = self._only
        if first is not None and (findings.count == 1 or self._kinds == {Conflict}):
            # One problem alone keeps its category, and several conflicts are still a conflict.
            message = f"{findings.told[0].place}{first.message}"
            data = first.data | refusal.data
            raise type(first)(first.code, message, hint=refusal.hint, data=data)
        raise refusal

    def _about(self, at: int | None) -> str | int | None:
        """Whom one operation of several is about, as far as it says so by a name or an id."""
        if at is None:
            return None
        op = self._operations[at]
        if isinstance(op, Create):
            return given_ident(op) or op.temp
        named = op.class_ if isinstance(op, Migrate) else op.entity
        if isinstance(named, str):
            return named.removeprefix(":")[:80]
        return named if type(named) is int else None
