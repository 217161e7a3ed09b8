"""Letting a process rest, and letting it go on."""

from __future__ import annotations

from sandbar.errors import Conflict
from sandbar.model import Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.conditions import Act
from sandbar.workflow.moves import Moves, due_us
from sandbar.workflow.possible import paused
from sandbar.workflow.records import Record


def rest(workspace: Workspace, moves: Moves, act: Act, record: Record) -> Record:
    """No activity, no timer, no transition but to cancel it."""
    if record.state.is_terminal:
        raise Conflict(
            "workflow.already-completed",
            f"process {record.id} has ended in {record.state.name}",
            hint="nothing is left to pause",
        )
    if not record.machine.is_pausable:
        raise Conflict(
            "workflow.not-pausable",
            f"{record.machine.name} says that its processes cannot be paused",
            hint="cancel the process, or define a version with pausable? true",
        )
    if record.is_paused:
        raise paused(record)
    workspace.budgets.use_reserve()
    workspace.jobs.schedule(record.id, None)
    return moves.note(record, "pause", act, {mm.PAUSED: True})


def go_on(workspace: Workspace, moves: Moves, act: Act, record: Record) -> Record:
    """A timer that would have fired meanwhile fires now; attempts are counted anew."""
    if not record.is_paused:
        raise Conflict(
            "workflow.not-paused",
            f"process {record.id} is not paused",
            hint="nothing has to be done",
        )
    slots = dict.fromkeys((mm.PAUSED, mm.ATTEMPT, mm.CRASHES, mm.DUE_AT, mm.ERROR))
    due = due_us(record.state, {**record.entity.slots, **slots}, is_paused=False)
    workspace.jobs.schedule(record.id, due)
    return moves.note(record, "resume", act, slots)
