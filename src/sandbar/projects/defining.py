"""Definitions among the files: classes and properties as one transaction, then workflows.

More of them than one call takes are written by several calls of that transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sandbar.access import (
    Guarded,
    is_protected,
    refuse_others_workflow,
    refuse_reserved_workflow,
)
from sandbar.errors import Forbidden, Problem
from sandbar.findings import data_of, finding_of, moved_data
from sandbar.model import Create, Introspection, Operation, Update, definition_parts
from sandbar.projects.documents import SPEC
from sandbar.projects.findings import REFUSALS
from sandbar.projects.judging import Verdict
from sandbar.projects.writing import blame, operation
from sandbar.workflow import OWN_DEFINITIONS, Workflows, read_spec

_BUILT_UPON = ("dt/range", "dt/subclass-of", "dt/slots", "dt/inverse-of", "dt/domain")
_PRINCIPALS = "auth/Principal"  # known where access is


class Definitions:
    """Brings the metamodel of a workspace to what the files state."""

    def __init__(self, db: Guarded, workflows: Workflows, reason: str) -> None:
        self._db = db
        self._workflows = workflows
        self._reason = reason

    def sound(self, verdicts: Sequence[Verdict]) -> tuple[list[Verdict], Introspection]:
        """Those that could be written together, and the metamodel that would be then.

        The others become refusals. Nothing is written.
        """
        left = [verdict for verdict in verdicts if verdict.is_write]
        while left:
            try:
                return left, self._db.foreseen(self._writing(left))
            except REFUSALS as problem:
                left = self._without_guilty(left, problem)
        return [], self._db.schema()

    def write(self, verdicts: Sequence[Verdict]) -> None:
        """Write what is sound, as one transaction, or as a part of the one that is open."""
        if verdicts:
            self._db.run(self._writing(verdicts), reason=self._reason)

    def _writing(self, verdicts: Sequence[Verdict]) -> Callable[[], Introspection]:
        operations = [operation(verdict, verdict.changes) for verdict in verdicts]

        def write() -> Introspection:
            self._ensure_mentioned(operations)
            for part in definition_parts(self._db.schema(), operations):
                try:
                    self._db.transact([op for _, op in part], reason=self._reason)
                except REFUSALS as problem:
                    _tell_whose(problem, [at for at, _ in part], len(operations))
                    raise
            return self._db.schema()

        return write

    def _ensure_mentioned(self, operations: Sequence[Operation]) -> None:
        """The classes of access and of workflows are there when a definition names them."""
        known = self._db.schema().classes()
        named = set(_named(operations))
        is_lacking = _PRINCIPALS not in known and any(map(is_protected, named))
        if is_lacking and self._db.caller.may("admin"):
            self._db.install_access()
        if named & OWN_DEFINITIONS:
            self._workflows.ensure()

    def _without_guilty(self, verdicts: list[Verdict], problem: Problem) -> list[Verdict]:
        blamed = blame(problem, len(verdicts))
        if not blamed and isinstance(problem, Forbidden):
            blamed = self._refused_alone(verdicts)
        if not blamed:
            for verdict in verdicts:
                verdict.refuse(problem)
            return []
        for at, found in blamed.items():
            verdicts[at].refuse_for(found)
        return [verdict for at, verdict in enumerate(verdicts) if at not in blamed]

    def _refused_alone(self, verdicts: list[Verdict]) -> dict[int, list[dict[str, Any]]]:
        """Whom the caller has no right to write: that is said of each alone."""
        refused: dict[int, list[dict[str, Any]]] = {}
        for at, verdict in enumerate(verdicts):
            try:
                self._db.foreseen(self._writing([verdict]))
            except Forbidden as problem:
                refused[at] = data_of([finding_of(problem)])
            except REFUSALS:
                pass  # it needs the others
        return refused

    # --- workflows ---------------------------------------------------------------------------

    def check_workflow(self, verdict: Verdict) -> None:
        """Refuse what the caller may not define."""
        try:
            caller, name = self._db.caller, str(verdict.name)
            refuse_reserved_workflow(caller, name)
            refuse_others_workflow(caller, name, self._workflows.makers(name))
        except REFUSALS as problem:
            verdict.refuse(problem)

    def write_workflow(self, verdict: Verdict) -> None:
        """Define a workflow; what has changed becomes a new version, whatever the file says."""
        assert verdict.item.parsed is not None
        spec = dict(verdict.item.parsed.slots[SPEC])
        known = None if verdict.entity is None else read_spec(verdict.entity[SPEC]).version
        given = read_spec(spec).version
        if known is not None and given is not None and given <= known:
            spec = {key: value for key, value in spec.items() if key.lstrip(":") != "version"}
        caller = self._db.caller
        self._workflows.define(
            spec,
            principal=caller.principal,
            reason=self._reason,
            admit=partial(refuse_others_workflow, caller),
        )


def _tell_whose(problem: Problem, numbers: list[int], count: int) -> None:
    """Let the findings of a part of the operations say which of all they are about."""
    if len(numbers) == 1 < count and not problem.data.get("findings"):
        problem.data["findings"] = data_of([finding_of(problem, at=0)])
    if blamed := blame(problem, max(len(numbers), 2)):
        told = [moved_data(one, at=numbers[at]) for at in blamed for one in blamed[at]]
        problem.data["findings"] = told


def _named(operations: Sequence[Operation]) -> list[str]:
    """Every class and property that definitions build upon."""
    named: list[str] = []
    for op in operations:
        slots = op.slots if isinstance(op, Create) else op.set if isinstance(op, Update) else {}
        for slot in _BUILT_UPON:
            value = slots.get(slot)
            named += value if isinstance(value, list) else [value] if value else []
    return [str(name) for name in named]
