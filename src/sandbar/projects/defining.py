"""Definitions among the files: classes and properties as one transaction, then workflows.

More of them than one call takes are written by several calls of that transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sandbar.access import (
    Guarded,
    access_definitions,
    is_protected,
    refuse_others_workflow,
    refuse_reserved_workflow,
    remembered,
)
from sandbar.errors import Conflict, Forbidden, Problem
from sandbar.findings import data_of, finding_of, moved_data
from sandbar.model import Create, Introspection, Operation, Preview, Update, definition_parts
from sandbar.projects.documents import SPEC
from sandbar.projects.findings import REFUSALS
from sandbar.projects.judging import Verdict
from sandbar.projects.writing import blame, operation
from sandbar.workflow import OWN_DEFINITIONS, Workflows, read_spec, workflow_definitions

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
                return left, self.foreseen(left).schema
            except REFUSALS as problem:
                left = self._without_guilty(left, problem)
        return [], self._db.schema()

    def foreseen(self, verdicts: Sequence[Verdict], reserved: int = 0) -> Preview:
        """The workspace as it would be with these, for who may write them; nothing is written.

        The numbers up to `reserved` are for entities that had them elsewhere.
        """
        preview, operations = self._db.preview(), _operations(verdicts)
        preview.reserve_ids(reserved)
        self._prepare(preview, operations)
        if operations:
            with preview.transaction() as call:
                _in_parts(preview.schema, operations, call)
        return preview

    def write(self, verdicts: Sequence[Verdict]) -> None:
        """Write what is sound, as one transaction, or as a part of the one that is open."""
        operations = _operations(verdicts)

        def work() -> None:
            self._ensure_mentioned(operations)
            transact = partial(self._db.transact, reason=self._reason)
            _in_parts(self._db.schema(), operations, transact)

        if operations:
            self._db.run(work, reason=self._reason)

    def _ensure_mentioned(self, operations: Sequence[Operation]) -> None:
        """The classes of access and of workflows are there when a definition names them."""
        named = set(_named(operations))
        if self._lacks_access(self._db.schema(), named):
            self._db.install_access()
        if named & OWN_DEFINITIONS:
            self._workflows.ensure()

    def _prepare(self, preview: Preview, operations: Sequence[Operation]) -> None:
        """The same, where nothing is written."""
        named = set(_named(operations))
        if self._lacks_access(preview.schema, named):
            preview.prepare(access_definitions(preview.schema))
        if not OWN_DEFINITIONS.isdisjoint(named) and not _known(preview.schema) >= OWN_DEFINITIONS:
            preview.prepare(workflow_definitions(preview.schema))

    def _lacks_access(self, schema: Introspection, named: set[str]) -> bool:
        is_lacking = _PRINCIPALS not in schema.classes() and any(map(is_protected, named))
        return is_lacking and self._db.caller.may("admin")

    def _without_guilty(self, verdicts: list[Verdict], problem: Problem) -> list[Verdict]:
        blamed = blame(problem, len(verdicts))
        if not blamed and isinstance(problem, Forbidden | Conflict):
            blamed = self._refused_alone(verdicts, type(problem))
        if not blamed:
            for verdict in verdicts:
                verdict.refuse(problem)
            return []
        for at, found in blamed.items():
            verdicts[at].refuse_for(found)
        return [verdict for at, verdict in enumerate(verdicts) if at not in blamed]

    def _refused_alone(
        self, verdicts: list[Verdict], kind: type[Problem]
    ) -> dict[int, list[dict[str, Any]]]:
        """What the caller has no right to write, or what exists forbids: said of each alone."""
        refused: dict[int, list[dict[str, Any]]] = {}
        operations = _operations(verdicts)
        try:
            preview = self._db.preview()  # one for all: of what is foreseen nothing stays
            self._prepare(preview, operations)
        except REFUSALS:
            return refused  # this is about none of them alone
        for at, op in enumerate(operations):
            try:
                preview.foresee([op])
            except REFUSALS as problem:
                if isinstance(problem, kind):  # else it needs the others
                    refused[at] = data_of([finding_of(problem)])
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
            caller=remembered(caller),
            reason=self._reason,
            admit=partial(refuse_others_workflow, caller),
        )


def _operations(verdicts: Sequence[Verdict]) -> list[Operation]:
    return [operation(verdict, verdict.changes) for verdict in verdicts]


def _in_parts(
    schema: Introspection,
    operations: Sequence[Operation],
    transact: Callable[[Sequence[Operation]], object],
) -> None:
    """Hand the operations over in as many calls as it takes."""
    for part in definition_parts(schema, operations):
        try:
            transact([op for _, op in part])
        except REFUSALS as problem:
            _tell_whose(problem, [at for at, _ in part], len(operations))
            raise


def _known(schema: Introspection) -> set[str]:
    return {*schema.classes(), *schema.properties()}


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
