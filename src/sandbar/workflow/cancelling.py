"""Which way a process ends when somebody cancels it, and the three reasons why it does not."""

from __future__ import annotations

from typing import Literal

from sandbar import clock
from sandbar.errors import Conflict
from sandbar.model import Workspace
from sandbar.workflow.answerers import is_answer
from sandbar.workflow.conditions import Act, Sight
from sandbar.workflow.machines import Transition
from sandbar.workflow.moves import reason_required
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
    workspace: Workspace, record: Record, act: Act, wordless: str | None = None
) -> tuple[Transition, Act]:
    """The transition that cancels the process; `wordless` is the reason if one must be given."""
    if record.state.is_terminal:
        raise not_cancelled(record, "already-completed")
    if not record.machine.is_cancellable or not record.state.is_cancellable:
        raise not_cancelled(record, "not-cancellable")
    ways = [
        way for way in record.machine.cancelling(record.state.name) if not is_answer(record, way)
    ]
    if not ways:
        raise not_cancelled(record, "no-cancel-transition")
    now = clock.instant_text(clock.now_us())
    lacking: Transition | None = None
    for way in ways:
        reason = act.reason or (wordless if way.requires_reason else None)
        said = Act(act.actor, reason, by=act.by)
        if Sight(workspace, record, said, now).objection(way) is None:
            if said.reason or not way.requires_reason:
                return way, said
            lacking = lacking or way
    if lacking is not None:
        raise reason_required(lacking)
    raise not_cancelled(record, "not-cancellable")


def not_cancelled(record: Record, why: Refusal) -> Conflict:
    """It cannot be cancelled."""
    message, hint = _MESSAGES[why]
    return Conflict(
        f"workflow.{why}",
        f"Cannot cancel task: {message} (reason: :{why})",
        hint=hint,
        data={"reason": why, "state": record.state.name},
    )
