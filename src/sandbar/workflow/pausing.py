"""Whether a process may rest, and whether it may go on."""

from __future__ import annotations

from sandbar.errors import Conflict
from sandbar.workflow.records import Record


def refuse_pause(record: Record) -> None:
    """Whether a process may be paused."""
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


def refuse_resume(record: Record) -> None:
    """Whether a process can go on."""
    if not record.is_paused:
        raise Conflict(
            "workflow.not-paused",
            f"process {record.id} is not paused",
            hint="nothing has to be done",
        )


def paused(record: Record) -> Conflict:
    """It rests."""
    return Conflict(
        "workflow.paused",
        f"process {record.id} is paused",
        hint="workflow.resume lets it go on",
    )
