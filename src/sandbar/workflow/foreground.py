"""Doing the work of a process in the thread of whoever asked for it, and waits.

No worker holds the process then. Instead its job falls due some time from now, and every write
puts that off: if we die, a worker takes the process over and goes on from the checkpoint. Our own
writes count only while the process stands where we found it, so nobody's work is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sandbar import clock, patience
from sandbar.errors import Conflict, Interrupted, Problem
from sandbar.model import Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.conditions import Act
from sandbar.workflow.handlers import Outcome
from sandbar.workflow.jobs import AnyJob, left_behind, told
from sandbar.workflow.records import Record, view_of
from sandbar.workflow.views import ProcessView
from sandbar.workflow.workflows import Workflows

T = TypeVar("T")
Tell = Callable[[float, float | None, str | None], None]

_TAKEN_OVER_AFTER_S = 30.0
# The transitions of `validation/resource`, the one workflow that is run like this.
_WAY_OF_FAILURE = "error"
_WAY_OUT = "cancel"


def start_here(workflows: Workflows, start: Callable[[], ProcessView]) -> ProcessView:
    """Begin a process that no worker takes before we have had the time to do its work."""

    def work() -> ProcessView:
        view = start()
        if not view.is_complete:  # it may have been asked for before, under the same key
            _put_off(workflows.workspace, view.process_id)
        return view

    return workflows.workspace.run(work, principal=mm.SYSTEM)


def run_here(workflows: Workflows, process_id: int, tell: Tell) -> ProcessView:
    """Run the activities of a process until it waits for somebody, or has ended.

    Interrupted by its deadline, the rest of the work is left to a worker; if whoever waits has
    called it off, the process is cancelled.
    """
    while True:
        record = workflows.records.read(process_id)
        activity = workflows.handlers().activities.get(record.state.activity or "")
        if activity is None or record.is_paused:
            return view_of(record)
        job = _Job(workflows, record, tell)
        try:
            job.finish(activity(job))
        except Interrupted:
            job.give_up()
            raise
        except Problem as problem:
            if problem.code == "job.lost":
                return workflows.view(process_id)
            job.fail(problem)


class _Job(AnyJob):
    """Of whoever waits: refused once somebody else has moved the process on."""

    def __init__(self, workflows: Workflows, record: Record, tell: Tell) -> None:
        super().__init__(workflows, record)
        self._step = record.step
        self._t = record.entity.t  # as we have left the process: whoever took over has changed it
        self._tell_caller = tell

    def check(self) -> None:
        """Go on only while somebody waits."""
        patience.check()

    def fenced(self, work: Callable[[], T]) -> T:
        """Run a transaction, if nobody has moved the process on since we looked."""
        return self._while_ours(lambda _: work())

    def finish(self, outcome: Outcome) -> None:
        """Make the transition that the activity calls for."""
        reason = (outcome.error or {}).get("message")
        act = Act(self._actor, reason, data=outcome.data, by=self._starter)
        self._move(outcome.transition, act, left_behind(outcome))

    def fail(self, problem: Problem) -> None:
        """Take the way that the workflow has for failures."""
        act = Act(mm.SYSTEM, problem.message, by=self._starter)
        self._move(_WAY_OF_FAILURE, act, {mm.ERROR: told(problem)})

    def give_up(self) -> None:
        """Nobody waits any more."""
        waiting = patience.current()
        with patience.limited(None):  # this much has to be done, however late it is
            try:
                if waiting is not None and waiting.is_cancelled():
                    why = "whoever waited for it has called it off"
                    act = Act(self._actor, why, by=self._starter)
                    self._move(_WAY_OUT, act, {})
                else:
                    self.fenced(lambda: self._workspace.jobs.schedule(self.process.process_id, 0))
            except Conflict as problem:
                if problem.code != "job.lost":  # else somebody else has taken care of it
                    raise

    def _beside_write(self) -> None:
        _put_off(self._workspace, self.process.process_id)

    def _tell(self, done: float, total: float | None, message: str | None) -> None:
        self._tell_caller(done, total, message)

    def _move(self, transition: str, act: Act, slots: dict[str, Any]) -> None:
        def work(record: Record) -> None:
            moves = self._workflows.moves
            moved = moves.make(record, moves.leaving(record, transition), act, slots)
            if not moved.state.is_terminal:
                _put_off(self._workspace, record.id)

        self._while_ours(work)

    def _while_ours(self, work: Callable[[Record], T]) -> T:
        process_id = self.process.process_id

        def body() -> tuple[T, int]:
            self._workspace.jobs.require_free(process_id)
            record = self._workflows.records.read(process_id)
            if record.step != self._step or record.entity.t != self._t:
                raise Conflict(
                    "job.lost",
                    f"process {process_id} has been moved on by somebody else",
                    hint="workflow.process-state shows where it stands",
                )
            value = work(record)
            return value, self._workspace.locate(process_id).t

        wanted = self._workflows.wanted(process_id)
        value, self._t = self._workspace.run(body, principal=self._actor, wanted=wanted)
        return value


def _put_off(workspace: Workspace, process_id: int) -> None:
    """Inside a transaction: for so long no worker takes the process."""
    later_us = clock.now_us() + round(_TAKEN_OVER_AFTER_S * 1_000_000)
    workspace.jobs.schedule(process_id, later_us)
