"""Which way a process ends when somebody cancels it, and the three reasons why it does not."""

from __future__ import annotations

from typing import Literal

from sandbar import clock
from sandbar.errors import Conflict
from sandbar.model import Workspace
from sandbar.workflow.conditions import Act, Sight
from sandbar.workflow.machines import Transition
from sandbar.workflow.records import Record

Refusal = Literal["already-completed", "not-cancellable", "no-cancel-transition"]

_MESSAGES: dict[Refusal, tuple[str, str]] = {
    "already-completed": (
        "process already in terminal state",
        "look at its result: task.get or workflow.process-state",
    ),
    "not-cancellable": (
        "the workflow does not allow it in this state",
        "wait until the process has left this state, or ask whoever defined the workflow",
    ),
    "no-cancel-transition": (
        "no transition leads to a terminal state of kind cancel",
        "define a version with a cancel state and a transition to it",
    ),
}


def way_to_cancel(
    workspace: Workspace, record: Record, actor: str, reason: str | None
) -> tuple[Transition, str | None]:
    """The transition that cancels the process, and the reason to give for it."""
    if record.state.is_terminal:
        raise not_cancelled(record, "already-completed")
    if not record.machine.is_cancellable or not record.state.is_cancellable:
        raise not_cancelled(record, "not-cancellable")
    ways = record.machine.cancelling(record.state.name)
    if not ways:
        raise not_cancelled(record, "no-cancel-transition")
    now = clock.instant_text(clock.now_us())
    for way in ways:
        # The protocol's cancellation has no words; a transition that demands some gets these.
        said = reason or (f"cancelled by {actor}" if way.requires_reason else None)
        if Sight(workspace, record, Act(actor, said), now).allows_at_all(way):
            return way, said
    raise not_cancelled(record, "not-cancellable")


def not_cancelled(record: Record, why: Refusal) -> Conflict:
    """It cannot be cancelled."""
    message, hint = _MESSAGES[why]
    code = (
        "workflow.already-completed"
        if why == "already-completed"
        else "workflow.not-cancellable"
        if why == "not-cancellable"
        else "workflow.no-cancel-transition"
    )
    return Conflict(
        code,
        f"Cannot cancel task: {message} (reason: :{why})",
        hint=hint,
        data={"reason": why, "state": record.state.name},
    )
