"""Which transitions of a process can be made now, and what to say of those that cannot."""

from __future__ import annotations

from typing import NamedTuple

from sandbar import clock
from sandbar.errors import Conflict, Forbidden
from sandbar.model import Workspace
from sandbar.workflow.answerers import (
    is_accepting,
    is_answer,
    is_declining,
    may_answer,
    said_by,
)
from sandbar.workflow.built_in import CALL, built_in_workflows
from sandbar.workflow.conditions import Act, Sight
from sandbar.workflow.machines import Transition
from sandbar.workflow.records import Record, Records

_RETRY = "retry"


class Ways(NamedTuple):
    """What leaves the present state: what is open by name, and what else the others demand."""

    open: list[str]
    blocked: dict[str, str]


def ways_on(workspace: Workspace, records: Records, record: Record, act: Act) -> Ways:
    """The transitions that this actor could make now, if they said nothing else."""
    sight: Sight | None = None
    ways = Ways([], {})
    asks = "" if record.state.input is None else said_by(record.state.input.by)
    for one in record.machine.leaving(record.state.name):
        if is_barred(record, one) or is_internal(record, one):
            continue
        if is_answer(record, one):
            if is_accepting(record, one):
                ways.blocked[one.name] = f"an answer by {asks}: workflow.answer"
            continue
        if is_declining(record, one) and not may_answer(records, record, act.actor, act.roles):
            ways.blocked[one.name] = f"it is declined by {asks}"
            continue
        if one.guard is not None:
            sight = sight or Sight(workspace, record, Act(act.actor, roles=act.roles), _now())
            if sight.objection(one) is not None:
                ways.blocked[one.name] = one.guard.text
                continue
        ways.open.append(one.name)
    return ways


def way_named(record: Record, name: str) -> Transition:
    """The transition of that name, if it can be thought of now."""
    found = record.machine.find(record.state.name, name.removeprefix(":"))
    if found is None:
        raise _no_transition(record, name)
    if is_barred(record, found):
        raise paused(record)
    return found


def is_barred(record: Record, transition: Transition) -> bool:
    """Whether the process rests: then it can only be cancelled."""
    return record.is_paused and not record.machine.is_cancelling(transition)


def is_internal(record: Record, transition: Transition) -> bool:
    """Whether only the server itself may make it: nobody else ends the server's own work well."""
    if record.machine.name not in built_in_workflows():
        return False
    if record.machine.name == CALL:
        return True  # nobody but who made the call ends it, by its handle
    return transition.name != _RETRY and not record.machine.is_cancelling(transition)


def refuse_internal(record: Record, transition: Transition, act: Act) -> None:
    """Refuse what would forge the work of the server: a transition of it, or other data for it."""
    is_forged = bool(act.data) and record.machine.name in built_in_workflows()
    if is_forged or is_internal(record, transition):
        raise Forbidden(
            "workflow.internal",
            f"{record.machine.name} is the server's own workflow: nobody else makes "
            f"{transition.name}{' with data' if is_forged else ''}",
            hint="task.cancel ends the process; validation.retry begins a failed validation anew",
        )


def _now() -> str:
    return clock.instant_text(clock.now_us())


def paused(record: Record) -> Conflict:
    """It rests."""
    return Conflict(
        "workflow.paused",
        f"process {record.id} is paused",
        hint="workflow.resume lets it go on",
    )


def _no_transition(record: Record, name: str) -> Conflict:
    leaving = record.machine.leaving(record.state.name)
    names = sorted(one.name for one in leaving if not is_internal(record, one))
    nothing = "none: it has ended" if record.state.is_terminal else "none"
    return Conflict(
        "workflow.no-transition",
        f"no transition {name[:80]} leaves {record.state.name}",
        hint=f"those that leave it: {', '.join(names) or nothing}",
        data={"state": record.state.name, "transitions": names},
    )
