"""What guards see, and what values of effects are read from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from sandbar.errors import Incorrect, NotFound
from sandbar.model import Entity, Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Named, named
from sandbar.workflow.machines import Transition
from sandbar.workflow.records import Record


class Act(msgspec.Struct, frozen=True):
    """Who wants a transition, why, and what they say to it."""

    actor: str
    reason: str | None = None
    context: Mapping[str, Any] = {}
    data: Mapping[str, Any] = {}  # merged into the process's data by the transition
    roles: Collection[str] = ()  # that the actor holds
    by: Named | None = None  # in whose name its effects act, if in another than the actor's

    @property
    def mover(self) -> Named:
        """In whose name the effects of the transition act."""
        return self.by or named(self.actor, None)


class Objection(msgspec.Struct, frozen=True):
    """What a guard has against a transition."""

    why: str = ""  # it could not be evaluated; empty if it just does not hold
    is_missing: bool = False  # because it reads what is not there


class Sight:
    """What can be seen of a process while a transition is decided; read when it is needed."""

    def __init__(self, workspace: Workspace, record: Record, act: Act, now: str) -> None:
        self._workspace = workspace
        self._record = record
        self._act = act
        self._now = now
        self._subject: Entity | None = None

    def subject(self) -> Entity | None:
        """What the process is about; None if it is about nothing, or about what is gone."""
        named = self._record.entity.get(mm.SUBJECT)
        if named is not None and self._subject is None:
            try:
                self._subject = self._workspace.get(named)
            except NotFound:
                return None
        return self._subject

    def objection(self, transition: Transition) -> Objection | None:
        """Why the guard does not let it pass; a guard that cannot be evaluated does not either."""
        if transition.guard is None:
            return None
        bindings = self._bindings()
        try:
            return None if transition.guard.holds(bindings) else Objection()
        except Incorrect as problem:
            why = problem.message.replace("the expression", "it", 1).replace('"', "")
            return Objection(why, is_missing=why.startswith("it reads"))

    def _bindings(self) -> dict[str, Any]:
        subject = self.subject()
        slots = {} if subject is None else self._workspace.schema().bindings(subject)
        return {
            "process": self._process(),
            "subject": slots,
            "context": dict(self._act.context),
            "actor": self._act.actor,
        }

    def _process(self) -> dict[str, Any]:
        record = self._record
        return {
            "id": record.id,
            "state": record.state.name,
            "data": {**record.data, **self._act.data},
            "answers": record.answers,
            "started-by": record.entity[mm.STARTED_BY],
            "step": record.step,
            "run": record.run,
            "reason": self._act.reason or "",
        }

    def scope(self, data: dict[str, Any]) -> dict[str, Any]:
        """What {"from": path} reads in an effect."""
        subject = self.subject()
        return {
            "process": self._record.id,
            "subject": None if subject is None else subject.entity_id,
            "actor": self._act.actor,
            "now": self._now,
            "reason": self._act.reason,
            "data": data,
            "context": dict(self._act.context),
            "answers": self._record.answers,
        }
