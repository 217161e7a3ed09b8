"""One activity that is being run: what its code can do, and only while it holds on to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sandbar import clock
from sandbar.errors import Problem
from sandbar.model import Update, Workspace, Written
from sandbar.patience import Patience
from sandbar.workflow import metamodel as mm
from sandbar.workflow.records import Record, view_of
from sandbar.workflow.views import ProcessView
from sandbar.workflow.workflows import Workflows

T = TypeVar("T")

_PROGRESS_EVERY_S = 0.3  # what is told more often is left out


class Job:
    """Implements `handlers.Running`; every write is refused once somebody else has taken over."""

    def __init__(
        self, workflows: Workflows, record: Record, token: int, patience: Patience
    ) -> None:
        self._workflows = workflows
        self._token = token
        self._patience = patience
        self._told_s = 0.0
        self._actor: str = record.entity[mm.STARTED_BY]
        self.workspace: Workspace = workflows.workspace
        self.process: ProcessView = view_of(record)
        self.caller: dict[str, Any] | None = record.entity.get(mm.CALLER)
        self.answers: dict[str, Any] = record.answers
        self.checkpoint: Any = record.entity.get(mm.CHECKPOINT)

    @property
    def data(self) -> dict[str, Any]:
        """What the process knows."""
        return self.process.data

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work has come; the end is always told."""
        self.check()
        now_s = clock.monotonic_s()
        if now_s - self._told_s < _PROGRESS_EVERY_S and done != total:
            return
        self._told_s = now_s
        told = {"done": done, "at": clock.instant_text(clock.now_us())}
        told |= {} if total is None else {"total": total}
        told |= {} if message is None else {"message": message}
        self._amend({mm.PROGRESS: told})

    def save(self, checkpoint: Any) -> None:
        """From where to go on if the work is interrupted from now on."""
        self.check()
        self._amend({mm.CHECKPOINT: checkpoint})
        self.checkpoint = checkpoint

    def transact(self, operations: Sequence[Any], *, checkpoint: Any = None) -> Written:
        """Write something, and a checkpoint with it: both or neither."""
        self.check()

        def work() -> Written:
            if checkpoint is not None:
                self._write({mm.CHECKPOINT: checkpoint})
            return self.workspace.transact(
                operations, principal=self._actor, guard=self._workflows.effects_guard
            )

        written = self.fenced(work)
        if checkpoint is not None:
            self.checkpoint = checkpoint
        return written

    def check(self) -> None:
        """Go on only while this is still ours to do."""
        self._patience.check()

    def fenced(self, work: Callable[[], T]) -> T:
        """Run a transaction that commits only while the job is still ours."""

        def guarded() -> T:
            self.workspace.jobs.require(self.process.process_id, self._token)
            return work()

        return self.workspace.run(guarded, principal=self._actor, wanted=(self.process.process_id,))

    def _amend(self, slots: dict[str, Any]) -> None:
        self.fenced(lambda: self._write(slots))

    def _write(self, slots: dict[str, Any]) -> None:
        update = Update(entity=self.process.process_id, set=slots)
        self.workspace.transact([update], principal=self._actor)


def told(problem: Problem) -> dict[str, Any]:
    """A problem as a process keeps it."""
    shown: dict[str, Any] = {
        "category": type(problem).__name__,
        "code": problem.code,
        "message": problem.message,
    }
    if problem.hint is not None:
        shown["hint"] = problem.hint
    if problem.data:
        shown["data"] = problem.data
    return shown
