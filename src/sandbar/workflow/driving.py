"""What a worker does with a process that is due: fire its timer, or run its activity.

Every write here is fenced: it commits only while the worker still holds the job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sandbar import clock
from sandbar.errors import Conflict, Fault, Interrupted, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import is_over_budget
from sandbar.patience import Patience, limited
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import starter_of
from sandbar.workflow.conditions import Act
from sandbar.workflow.handlers import Activity, Outcome
from sandbar.workflow.jobs import Job, left_behind, told
from sandbar.workflow.machines import Transition
from sandbar.workflow.moves import due_us
from sandbar.workflow.records import Record
from sandbar.workflow.workflows import Workflows

T = TypeVar("T")

CRASHES_MAX = 5  # servers in a row that are lost with an activity before it is held to be the cause
SUSPECT_CRASHES = 2  # from when on it may be the cause
_BACKOFF_MAX_S = 3600.0
_REASON_MAX = 1000


class Held(NamedTuple):
    """A process that this worker holds the job of."""

    workflows: Workflows
    process_id: int
    token: int


def is_timer_due(record: Record, due_us: int = 0) -> bool:
    """Whether the timer of the present state has run down: here, or by the clock of the store."""
    timer = record.entity.get(mm.TIMER_AT)
    return timer is not None and clock.us_of_text(timer) <= max(clock.now_us(), due_us)


def rest_s(record: Record, most_s: float) -> float:
    """How long a process may be left alone that this server can do nothing for now."""
    timer = record.entity.get(mm.TIMER_AT)
    if timer is None:
        return most_s
    left_s = (clock.us_of_text(timer) - clock.now_us()) / 1e6
    return min(most_s, max(left_s, 0.0))


def forget(held: Held) -> None:
    """The process is gone, deleted or purged by hand: nothing is left to do for it."""

    def work() -> None:
        held.workflows.workspace.jobs.require(held.process_id, held.token)
        held.workflows.workspace.jobs.schedule(held.process_id, None)

    held.workflows.workspace.run(work, principal=mm.SYSTEM)


def activity_of(held: Held, record: Record) -> Activity | None:
    """The code for the activity of the present state, if this server has it."""
    if record.state.activity is None:
        return None
    return held.workflows.handlers().activities.get(record.state.activity)


def note_no_code(held: Held) -> None:
    """Let whoever looks at the process know why nothing happens."""

    def work(record: Record) -> None:
        held.workflows.moves.amend(record, {mm.ERROR: told(_no_code(record))}, mm.SYSTEM)

    _fenced(held, work)


def note_code(held: Held) -> Record:
    """There is code after all: here."""

    def work(record: Record) -> Record:
        return held.workflows.moves.amend(record, {mm.ERROR: None}, mm.SYSTEM)

    return _fenced(held, work)


def fire_timer(held: Held, due_us: int = 0, *, is_beside: bool = False) -> None:
    """Make the transition that the timer calls for, maybe beside an activity that runs."""

    def work(record: Record) -> None:
        if not is_timer_due(record, due_us) or record.state.after is None:
            return
        after = record.state.after
        transition = held.workflows.moves.leaving(record, after.transition)
        act = Act(mm.SYSTEM, f"{after.seconds:g} s have passed", by=starter_of(record))
        held.workflows.moves.make(record, transition, act)

    try:
        _fenced(held, work)
    except Problem as problem:
        if is_passing(problem):
            raise
        _stop_timer(held, problem, is_beside=is_beside)


def _stop_timer(held: Held, problem: Problem, *, is_beside: bool) -> None:
    """A timer that cannot fire, because of its guard or its effects, is over all the same."""

    def work(record: Record) -> None:
        slots = {mm.TIMER_AT: None, mm.ERROR: told(problem)}
        held.workflows.moves.amend(record, slots, mm.SYSTEM)
        if not is_beside:  # else the activity that runs keeps the job
            due = due_us(record.state, {**record.entity.slots, **slots}, is_paused=record.is_paused)
            held.workflows.workspace.jobs.schedule(record.id, due)

    _fenced(held, work)


def count_crash(held: Held, record: Record) -> Record:
    """A server was lost while it ran the activity; written before we run it, too."""

    def work(found: Record) -> Record:
        before = found.entity.get(mm.CRASHES) or {}
        reached = [before.get("done"), (found.entity.get(mm.PROGRESS) or {}).get("done")]
        done = max((one for one in reached if one is not None), default=None)
        crashes = {"times": before.get("times", 0) + 1, "done": done}
        return held.workflows.moves.amend(found, {mm.CRASHES: crashes}, mm.SYSTEM)

    return record if record.state.activity is None else _fenced(held, work)


def crashes_of(record: Record) -> int:
    """How many servers in a row were lost with the activity, without its coming any further."""
    return int((record.entity.get(mm.CRASHES) or {}).get("times", 0))


def end_crashes(held: Held, record: Record) -> None:
    """It has taken enough servers with it."""
    fail_attempt(held, _crashed(record), is_last=True)


def run_activity(held: Held, record: Record, activity: Activity, patience: Patience) -> None:
    """Run the activity; its outcome, or its failure, moves the process on."""
    job = Job(held.workflows, record, held.token, patience)
    if (refusal := job.refusal()) is not None:
        fail_attempt(held, refusal, is_last=True)  # trying again would change nothing
        return
    try:
        with limited(patience):
            outcome = activity(job)
        job.when_affordable(lambda: _finish(held, record, outcome))
    except Interrupted as problem:
        if patience.is_cancelled():
            raise
        if record.state.timeout_s is None:  # it was not our patience that came to an end
            fail_attempt(held, problem)
        else:
            give_up(held, record)
    except Problem as problem:
        if is_passing(problem):
            raise
        fail_attempt(held, problem)
    except Exception as error:  # noqa: BLE001 - whatever an activity raises is its process's fate
        fault_id = log_fault("workflow.activity-failed", error)
        fail_attempt(held, _defect(record, fault_id))


def _finish(held: Held, before: Record, outcome: Outcome) -> None:
    slots = left_behind(outcome)

    def work(record: Record) -> None:
        transition = held.workflows.moves.leaving(record, outcome.transition)
        actor, reason = before.entity[mm.STARTED_BY], _reason(transition, outcome)
        act = Act(actor, reason, data=outcome.data, by=starter_of(record))
        held.workflows.moves.make(record, transition, act, slots)

    _fenced(held, work)


def _reason(transition: Transition, outcome: Outcome) -> str | None:
    if not transition.requires_reason:
        return None
    said = (outcome.error or {}).get("message") or f"the activity called for {transition.name}"
    return str(said)[:_REASON_MAX]


def give_up(held: Held, record: Record) -> None:
    """The attempt has taken too long."""
    fail_attempt(held, _timed_out(record))


def fail_attempt(held: Held, problem: Problem, *, is_last: bool = False) -> None:
    """Try again later, or take the way that the definition has for failures."""

    def work(record: Record) -> None:
        state = record.state
        attempt = int(record.entity.get(mm.ATTEMPT) or 0) + 1
        slots: dict[str, Any] = {mm.ATTEMPT: attempt, mm.ERROR: told(problem)}
        if attempt <= state.retries and not is_last:
            wait_s = min(state.backoff_s * 2 ** (attempt - 1), _BACKOFF_MAX_S)
            due_at_us = clock.now_us() + round(wait_s * 1_000_000)
            slots |= {mm.DUE_AT: clock.instant_text(due_at_us), mm.CRASHES: None}
            held.workflows.moves.amend(record, slots, mm.SYSTEM)
            due = due_us(state, {**record.entity.slots, **slots}, is_paused=False)
            held.workflows.workspace.jobs.schedule(record.id, due)
            return
        way = _way_of_failure(record)
        if way is None:
            _rest(held, record, problem)
        else:
            act = Act(mm.SYSTEM, problem.message[:_REASON_MAX], by=starter_of(record))
            held.workflows.moves.make(record, way, act, {mm.ERROR: told(problem)})

    try:
        _fenced(held, work)
    except Problem as another:
        if is_passing(another):
            raise
        barred = another  # by its guard or its effects, the way of failure too
        _fenced(held, lambda record: _rest(held, record, barred))


def _rest(held: Held, record: Record, problem: Problem) -> None:
    """Nobody has said what to do now: somebody has to look."""
    attempt = int(record.entity.get(mm.ATTEMPT) or 0) + 1
    slots = {mm.ATTEMPT: attempt, mm.ERROR: told(problem), mm.PAUSED: True}
    held.workflows.workspace.jobs.schedule(record.id, None)
    act = Act(mm.SYSTEM, problem.message[:_REASON_MAX])
    held.workflows.moves.note(record, "pause", act, slots)


def _way_of_failure(record: Record) -> Transition | None:
    state, machine = record.state, record.machine
    if state.on_error is not None:
        return machine.find(state.name, state.on_error)
    ways = machine.leaving(state.name)
    return next((way for way in ways if machine.states[way.to].kind == "failure"), None)


def is_passing(problem: Problem) -> bool:
    """Whether it says nothing of the process: the job is another's by now, the store ails, or the
    budget of the workspace is used up."""
    is_store = isinstance(problem, Unavailable) and problem.code.startswith("store.")
    return problem.code == "job.lost" or is_store or is_over_budget(problem)


def _fenced(held: Held, work: Callable[[Record], T]) -> T:
    workflows = held.workflows

    def body() -> T:
        workflows.workspace.jobs.require(held.process_id, held.token)
        return work(workflows.records.read(held.process_id))

    wanted = workflows.wanted(held.process_id)
    return workflows.workspace.run(body, principal=mm.SYSTEM, wanted=wanted)


def _timed_out(record: Record) -> Conflict:
    return Conflict(
        "activity.timeout",
        f"{record.state.activity} took longer than {record.state.timeout_s:g} s",
        hint="give the state a longer timeout, or more retries",
    )


def _no_code(record: Record) -> Conflict:
    return Conflict(
        "activity.no-code",
        f"no server that has looked has code for the activity {record.state.activity}",
        hint="install the distribution that brings it and load its pack: then it goes on by itself",
    )


def _crashed(record: Record) -> Conflict:
    times = crashes_of(record)
    return Conflict(
        "activity.crashes",
        f"{times} servers in a row were lost while they ran {record.state.activity}",
        hint="find out what ended them, such as memory or native code, before it is tried again",
        data={"crashes": times},
    )


def _defect(record: Record, fault_id: str) -> Fault:
    return Fault(
        "activity.failed",
        f"{record.state.activity} went wrong; the log has it as {fault_id}",
        hint="retry; if it happens again, report the id",
        data={"id": fault_id},
    )
