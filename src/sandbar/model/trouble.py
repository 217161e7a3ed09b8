"""Everything that is wrong with a transaction: collected while it is performed, told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sandbar.errors import Conflict, Incorrect, Problem
from sandbar.findings import Finding, Findings
from sandbar.model.checks import problems_of
from sandbar.model.new_names import given_ident
from sandbar.model.operations import Create, Migrate, Operation

_LACKING_THE_SCHEMA = ("slot.required", "value.type")


class Trouble:
    """What operations are refused for; each finding says which of several it is about."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations
        self.findings = Findings()
        self.classes: dict[int, str] = {}  # whose slots an operation sets
        self._wrong: set[int] = set()
        self._named: set[tuple[int | None, str | None]] = set()  # operations and slots
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
            self.findings.note(one, slot=slot, at=several, entity=self._about(several))
        self._named.add((several, slot))

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
        for id, found in late:
            place = operation_of(id)
            at = place if len(self._operations) > 1 else None
            follows = found.slot is None and self.is_with(place)  # of a validator, say
            if (at, found.slot) not in self._named and not follows:
                findings.add(found.moved(at=at, entity=self._about(at)))
                self._kinds.add(Incorrect)
        refusal = refuse("the write is invalid", findings, self.classes)
        first = self._only
        if first is not None and (findings.count == 1 or self._kinds == {Conflict}):
            # One problem alone keeps its category, and several conflicts are still a conflict.
            message = f"{_beginning(findings.told[0])}{first.message}"
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


def refuse(what: str, findings: Findings, classes: Mapping[int, str]) -> Incorrect:
    """The error that carries all findings of an invalid request.

    `classes` tells whose slots each operation sets: the hint says how to learn what they take.
    """
    first = findings.told[0]
    hints = findings.hints
    unknowing = (
        finding.at if isinstance(finding.at, int) else 0
        for finding in findings.told
        if finding.code in _LACKING_THE_SCHEMA
    )
    for cls in dict.fromkeys(classes[at] for at in unknowing if at in classes):
        hints[f"class.describe {cls} gives its schema"] = None
    return Incorrect(
        "entity.invalid",
        f"{what}: {_beginning(first)}{first.message}{findings.and_more}",
        hint="; ".join(hints) or None,
        data=findings.data(),
    )


def _beginning(finding: Finding) -> str:
    """The entity and the slot, as the beginning of a message."""
    entity = f"entity {finding.entity}" if isinstance(finding.entity, int) else finding.entity
    slot = None if finding.slot == entity else finding.slot
    return "".join(f"{one}: " for one in (entity, slot) if one is not None)
