"""An activity that is being run: what its code can do, and only while it holds on to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

from sandbar import clock
from sandbar.errors import Forbidden, Problem, TooMany, category_of
from sandbar.model import Update, Workspace, Written, is_over_budget
from sandbar.patience import Patience
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Hands, View, starter_of
from sandbar.workflow.budgets import (
    CHECKPOINT_BYTES_MAX,
    ERROR_BYTES_MAX,
    RESULT_BYTES_MAX,
    refuse_large_work,
    weight,
)
from sandbar.workflow.handlers import Outcome
from sandbar.workflow.records import Record, view_of
from sandbar.workflow.views import ProcessView
from sandbar.workflow.workflows import Workflows

T = TypeVar("T")

_LOOK_EVERY_S = 0.25  # whether there is room in a budget, or nobody wants it any more
_PROGRESS_EVERY_S = 0.3  # what is told more often is left out
_MESSAGE_CHARACTERS_MAX = 2_000


class AnyJob(ABC):
    """Implements `handlers.Running`, whoever does the work.

    Those who do it differ in how they know that it is still theirs, and in what they do besides
    when they write.
    """

    def __init__(self, workflows: Workflows, record: Record) -> None:
        self._workflows = workflows
        self._told_s = 0.0
        self._stuck: _Stuck | None = _stuck_of(record)
        self._actor: str = record.entity[mm.STARTED_BY]
        self._starter = starter_of(record)
        self._workspace: Workspace = workflows.workspace
        self._record = record
        self.process: ProcessView = view_of(record)
        self.caller: dict[str, Any] | None = record.entity.get(mm.CALLER)
        self.answers: dict[str, Any] = record.answers
        self.checkpoint: Any = record.entity.get(mm.CHECKPOINT)

    @property
    def workspace(self) -> View:
        """The workspace as the starter sees it now, within what the definer does."""
        return self._hands()

    def refusal(self) -> Forbidden | None:
        """Why it may not be done at all: the starter or the definer may nothing any more."""
        try:
            self._hands()
        except Forbidden as problem:
            return problem
        return None

    def _hands(self) -> Hands:
        return self._workflows.acting.hands(self._record, self._starter)

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
        told: dict[str, Any] = {"done": done, "at": clock.instant_text(clock.now_us())}
        told |= {} if total is None else {"total": total}
        told |= {} if message is None else {"message": _shortened(message)}
        is_further = self._stuck is not None and self._stuck.is_behind(done)
        self.fenced(lambda: self._write({mm.PROGRESS: told}, is_further=is_further))
        self._written(is_further=is_further)
        self._tell(done, total, message)

    def save(self, checkpoint: Any) -> None:
        """From where to go on if the work is interrupted from now on."""
        self.check()
        self.fenced(lambda: self._keep(checkpoint))
        self._kept(checkpoint)

    def transact(self, operations: Sequence[Any], *, checkpoint: Any = None) -> Written:
        """Write something, and a checkpoint with it: both or neither."""
        self.check()

        def work() -> Written:
            if checkpoint is None:
                self._beside_write()
            else:
                self._keep(checkpoint)
            return self._hands().transact(operations)

        written = self.fenced(work)
        if checkpoint is not None:
            self._kept(checkpoint)
        return written

    @abstractmethod
    def check(self) -> None:
        """Go on only while this is still ours to do."""

    @abstractmethod
    def fenced(self, work: Callable[[], T]) -> T:
        """Run a transaction that commits only while this is still ours to do."""

    def _beside_write(self) -> None:
        """Inside every transaction of the activity."""
        return

    def _tell(self, done: float, total: float | None, message: str | None) -> None:
        """After progress was written."""
        return

    def _keep(self, checkpoint: Any) -> None:
        refuse_large_work(checkpoint, "checkpoint", CHECKPOINT_BYTES_MAX)
        self._write({mm.CHECKPOINT: checkpoint}, is_further=self._is_further(checkpoint))

    def _kept(self, checkpoint: Any) -> None:
        self.checkpoint = checkpoint
        self._written(is_further=self._is_further(checkpoint))

    def _is_further(self, checkpoint: Any) -> bool:
        return self._stuck is not None and checkpoint != self._stuck.checkpoint

    def _write(self, slots: dict[str, Any], *, is_further: bool) -> None:
        if is_further:
            slots = {**slots, mm.CRASHES: None}
        update = Update(entity=self.process.process_id, set=slots)
        self._workspace.transact([update], principal=self._actor)
        self._beside_write()

    def _written(self, *, is_further: bool) -> None:
        if is_further:
            self._stuck = None


class _Stuck(NamedTuple):
    """Where servers were lost before: whoever comes further is not held to account for them."""

    done: float | None
    checkpoint: Any

    def is_behind(self, done: float) -> bool:
        """Whether nobody had come so far."""
        return self.done is None or done > self.done


def _stuck_of(record: Record) -> _Stuck | None:
    crashes = record.entity.get(mm.CRASHES)
    if crashes is None:
        return None
    # An activity may well change the checkpoint that it was given, and save that.
    return _Stuck(crashes["done"], deepcopy(record.entity.get(mm.CHECKPOINT)))


class Job(AnyJob):
    """Of a worker, which holds a lease: refused once somebody else has taken over."""

    def __init__(
        self, workflows: Workflows, record: Record, token: int, patience: Patience
    ) -> None:
        super().__init__(workflows, record)
        self._token = token
        self._patience = patience

    def check(self) -> None:
        """Go on only while this is still ours to do."""
        self._patience.check()

    def when_affordable(self, work: Callable[[], T]) -> T:
        """Do it as soon as the workspace may do more in the background; says that it waits."""
        id, budgets, is_waiting = self.process.process_id, self._workspace.budgets, False
        try:
            while True:
                try:
                    return work()
                except TooMany as problem:
                    if "wait-s" not in problem.data or not is_over_budget(problem):
                        raise
                    full: TooMany | None = problem
                if not is_waiting:
                    is_waiting = True
                    budgets.note_waiting(id, self._token, is_waiting=True)
                while full is not None:  # looking is cheaper than a write that is refused
                    self._patience.check()
                    clock.pause_s(min(full.data["wait-s"], _LOOK_EVERY_S))
                    full = budgets.background_full()
        finally:
            if is_waiting:
                budgets.note_waiting(id, self._token, is_waiting=False)

    def fenced(self, work: Callable[[], T]) -> T:
        """Run a transaction that commits only while the job is still ours."""

        def guarded() -> T:
            self._workspace.jobs.require(self.process.process_id, self._token)
            return work()

        wanted = (self.process.process_id,)
        return self.when_affordable(
            lambda: self._workspace.run(guarded, principal=self._actor, wanted=wanted)
        )


def left_behind(outcome: Outcome) -> dict[str, Any]:
    """What a process keeps of how its activity ended."""
    slots: dict[str, Any] = {}
    if outcome.result is not None:
        refuse_large_work(outcome.result, "result", RESULT_BYTES_MAX)
        slots[mm.RESULT] = outcome.result
    if outcome.error is not None:
        refuse_large_work(outcome.error, "error", ERROR_BYTES_MAX)
        slots[mm.ERROR] = outcome.error
    return slots


def told(problem: Problem) -> dict[str, Any]:
    """A problem as a process keeps it: without its data, if these are too large."""
    shown: dict[str, Any] = {
        "category": category_of(problem).__name__,
        "code": problem.code,
        "message": _shortened(problem.message),
    }
    if problem.hint is not None:
        shown["hint"] = _shortened(problem.hint)
    most = ERROR_BYTES_MAX // 2
    if problem.data and weight(problem.data, most) <= most:
        shown["data"] = problem.data
    return shown


def _shortened(text: str) -> str:
    is_long = len(text) > _MESSAGE_CHARACTERS_MAX
    return f"{text[: _MESSAGE_CHARACTERS_MAX - 1]}…" if is_long else text
