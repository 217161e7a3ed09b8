"""Making a transition: everything that happens in its one transaction.

Compare-and-set of the state, guard, reason, effects, the history row, the timer and the job for
the worker: all of it or nothing. Transactions of a workspace are serial, so a guard still holds at
the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sandbar import clock
from sandbar.errors import Conflict, Fault, Forbidden, Incorrect, NotFound, Problem
from sandbar.faults import log_fault
from sandbar.model import Create, Entity, Update, Workspace, Written
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Acting, Hands
from sandbar.workflow.budgets import Budget, refuse_large_data
from sandbar.workflow.conditions import Act, Objection, Sight
from sandbar.workflow.effects import (
    CreateEntity,
    MergeData,
    SetSlots,
    StartProcess,
    resolved,
)
from sandbar.workflow.handlers import Handlers
from sandbar.workflow.machines import State, Transition
from sandbar.workflow.possible import way_named
from sandbar.workflow.records import Record, Records, view_of
from sandbar.workflow.views import ProcessView

Slots = dict[str, Any]
StartChild = Callable[[Record, StartProcess, Act, Hands], int]

NO_CODE = "activity.no-code"
_AT_ONCE = 0  # of a job: due, whatever the clocks of servers say


class Moves:
    """Transitions of the processes of one workspace; every method is for inside `run`."""

    def __init__(
        self,
        workspace: Workspace,
        records: Records,
        handlers: Callable[[], Handlers],
        acting: Acting,
        start_child: StartChild,
    ) -> None:
        self._workspace = workspace
        self._records = records
        self._handlers = handlers
        self._acting = acting
        self._start_child = start_child

    def leaving(self, record: Record, name: str) -> Transition:
        """The transition of that name, if it can be thought of now."""
        return way_named(record, name)

    def make(
        self, record: Record, transition: Transition, act: Act, outcome: Slots | None = None
    ) -> Record:
        """Make a transition that leaves the state of the process; `outcome` is set besides."""
        self._workspace.budgets.count_transition()
        now_us = clock.now_us()
        now = clock.instant_text(now_us)
        if transition.requires_reason and not act.reason:
            raise reason_required(transition)
        sight = Sight(self._workspace, record, act, now)
        objection = sight.objection(transition)
        if objection is not None:
            raise _guard_refused(record, transition, objection)
        data = self._effects(record, transition, act, sight)
        check_data(record, data)
        to = record.machine.states[transition.to]
        slots = self._entering(record, to, now_us)
        slots |= {mm.DATA: data or None, **(outcome or {})}
        written = self._write(record, to, slots, act, transition.name, now)
        if record.state.is_driven or to.is_driven:
            self._workspace.jobs.schedule(record.id, due_us(to, slots, is_paused=False))
        return written

    def note(self, record: Record, action: str, act: Act, slots: Slots) -> Record:
        """Change a process without a transition, and say so in its history."""
        now = clock.instant_text(clock.now_us())
        slots = {mm.STEP: record.step + 1, mm.ENTERED_AT: now, **slots}
        return self._write(record, record.state, slots, act, action, now)

    def amend(self, record: Record, slots: Slots, actor: str) -> Record:
        """Change a process without a trace in its history: progress, answers, attempts."""
        update = Update(entity=record.id, set=slots)
        self._workspace.transact([update], principal=actor)
        return _with(record, slots, record.state)

    def _entering(self, record: Record, to: State, now_us: int) -> Slots:
        now = clock.instant_text(now_us)
        slots: Slots = {
            mm.CURRENT_STATE: record.known.state_ids[to.name],
            mm.STEP: record.step + 1,
            mm.ENTERED_AT: now,
            mm.PAUSED: None,
            mm.TIMER_AT: timer_at(to, now_us),
        }
        for slot in (mm.ATTEMPT, mm.CRASHES, mm.DUE_AT, mm.CHECKPOINT):
            if slot in record.entity.slots:
                slots[slot] = None
        if to.is_terminal:
            slots |= {mm.ACTIVE: None, mm.COMPLETED_AT: now}
            if mm.ERROR in record.entity.slots and (to.kind == "success" or lacks_code(record)):
                slots[mm.ERROR] = None  # it was overcome, or was none of the process's own
        else:
            slots |= self._going_on(record, to)
        return slots

    @staticmethod
    def _going_on(record: Record, to: State) -> Slots:
        slots: Slots = {}
        for slot in (mm.PROGRESS, mm.ERROR):
            if slot in record.entity.slots:
                slots[slot] = None
        if to.input is not None and record.answers:
            asked = to.input.requests
            kept = {key: told for key, told in record.answers.items() if key not in asked}
            slots[mm.ANSWERS] = kept or None
        if record.state.is_terminal:  # a retry
            slots |= {mm.ACTIVE: True, mm.COMPLETED_AT: None, mm.RESULT: None}
            slots[mm.RUN] = record.run + 1
        return slots

    def _write(
        self, record: Record, to: State, slots: Slots, act: Act, action: str, now: str
    ) -> Record:
        row = {
            mm.OF_PROCESS: record.id,
            mm.N: record.step + 1,
            mm.FROM: record.state.name,
            mm.TO: to.name,
            mm.ACTION: action,
            mm.ACTOR: act.actor,
            mm.REASON: act.reason,
            mm.AT: now,
        }
        given = {slot: value for slot, value in row.items() if value is not None}
        operations = [
            Update(entity=record.id, set=slots),
            Create(class_=mm.HISTORY, slots=given),
        ]
        written = self._workspace.transact(operations, principal=act.actor, reason=act.reason)
        return _with(record, slots, to, written.t)

    # --- effects -----------------------------------------------------------------------------

    def _effects(
        self, record: Record, transition: Transition, act: Act, sight: Sight
    ) -> dict[str, Any]:
        """Apply the effects in their order; returns the data that they leave the process with."""
        data, budget = {**record.data, **act.data}, Budget()
        hands = self._hands(record, transition, act)
        for n, effect in enumerate(transition.effects):
            try:
                scope = sight.scope(data)
                if isinstance(effect, MergeData):
                    data = {**data, **resolved(effect.data, scope, budget)}
                elif hands is not None:
                    self._apply(effect, record, act, hands, scope, budget)
            except (Incorrect, NotFound, Conflict, Forbidden) as problem:
                raise self._placed(problem, record, transition, n) from problem
        if transition.handler is not None and hands is not None:
            happening = _Happening(hands, record, transition.name, act)
            self._handle(record, transition.handler, happening)
        return data

    def _hands(self, record: Record, transition: Transition, act: Act) -> Hands | None:
        """What the effects that reach beyond the process itself are done with, if there are any."""
        reaches = any(not isinstance(effect, MergeData) for effect in transition.effects)
        if transition.handler is None and not reaches:
            return None
        return self._acting.hands(record, act.mover)

    def _apply(
        self,
        effect: SetSlots | CreateEntity | StartProcess,
        record: Record,
        act: Act,
        hands: Hands,
        scope: dict[str, Any],
        budget: Budget,
    ) -> None:
        """Apply one effect that reaches beyond the process itself."""
        if isinstance(effect, StartProcess):
            subject = resolved(effect.subject, scope, budget)
            data = resolved(effect.data, scope, budget)
            start = msgspec.structs.replace(effect, subject=subject, data=data)
            self._start_child(record, start, act, hands)
        else:
            hands.transact([_operation(effect, scope, budget)])

    def _handle(self, record: Record, name: str, happening: _Happening) -> None:
        handler = self._handlers().effects.get(name)
        if handler is None:
            raise _no_handler(name)
        try:
            handler(happening)
        except Problem:
            raise
        except Exception as error:  # a defect of this transition alone
            raise _defect(record, name, log_fault("workflow.effect-failed", error)) from error

    def _placed(self, problem: Problem, record: Record, transition: Transition, n: int) -> Problem:
        """The same problem, with the effect that met it, and whose rights it has if that is why."""
        at = f"transitions.{transition.name}.effects[{n}]"
        hint = problem.hint
        if isinstance(problem, Forbidden):
            definer = self._acting.definer_of(record.known).principal
            whose = f"effects may what both their mover and {definer}, who defined them, may"
            hint = whose if hint is None else f"{hint}; {whose}"
        said, data = f"{problem.message} (in {at})", {**problem.data, "at": at}
        return type(problem)(problem.code, said, hint=hint, data=data)


class _Happening:
    """Implements `handlers.Happening`."""

    def __init__(self, hands: Hands, record: Record, transition: str, act: Act) -> None:
        self._hands = hands
        self.process: ProcessView = view_of(record)
        self.transition = transition
        self.actor = act.actor
        self.reason = act.reason
        self.context: Mapping[str, Any] = act.context

    def get(self, entity: Any) -> Entity:
        """Read an entity as the open transaction sees it."""
        return self._hands.get(entity)

    def transact(self, operations: Sequence[Any]) -> Written:
        """Write as part of the transition."""
        return self._hands.transact(operations)


def _operation(
    effect: SetSlots | CreateEntity, scope: dict[str, Any], budget: Budget
) -> Update | Create:
    if isinstance(effect, CreateEntity):
        return Create(class_=effect.class_, slots=resolved(effect.slots, scope, budget))
    entity = scope["subject"]
    if effect.entity is not None:
        entity = resolved(effect.entity, scope, budget)
    if entity is None:
        raise Conflict(
            "workflow.no-subject",
            "an effect sets slots of the subject, and the process has none",
            hint="start the process with a subject, or name the entity in the effect",
        )
    return Update(entity=entity, set=resolved(effect.slots, scope, budget))


def _with(record: Record, slots: Slots, state: State, t: int | None = None) -> Record:
    """The record as the write leaves it."""
    merged = {**record.entity.slots, **slots}
    entity = record.entity
    kept = {slot: value for slot, value in merged.items() if value is not None}
    changed = Entity(entity.entity_id, entity.ident, entity.class_, t or entity.t, kept)
    return Record(changed, record.known, state)


def lacks_code(record: Record) -> bool:
    """Whether a worker has said that it has no code for the activity."""
    return bool((record.entity.get(mm.ERROR) or {}).get("code") == NO_CODE)


def timer_at(state: State, now_us: int) -> str | None:
    """When the timer of a state fires that is entered now."""
    if state.after is None:
        return None
    return clock.instant_text(now_us + round(state.after.seconds * 1_000_000))


def due_us(state: State, slots: Mapping[str, Any], *, is_paused: bool) -> int | None:
    """When a worker has to look after a process in this state."""
    if is_paused or state.is_terminal:
        return None
    due = []
    if state.activity is not None:
        due.append(_us(slots.get(mm.DUE_AT)) or _AT_ONCE)
    if slots.get(mm.TIMER_AT) is not None:
        due.append(_us(slots[mm.TIMER_AT]))
    return min(due) if due else None


def _us(instant: str | None) -> int:
    return 0 if instant is None else clock.us_of_text(instant)


def check_data(record: Record, data: dict[str, Any]) -> None:
    """Refuse data that are too large, or that the definition's schema does not allow."""
    if data != record.data:
        refuse_large_data(data)
    refuse_data(record.machine.check_data(data))


def refuse_data(findings: list[dict[str, Any]]) -> None:
    """Refuse data for these findings, if there are any."""
    if findings:
        raise Incorrect(
            "process.data-invalid",
            f"the data of the process would not fit its schema: {findings[0]['message']}",
            hint="workflow.find shows the data-schema of the workflow",
            data={"findings": findings},
        )


def reason_required(transition: Transition) -> Incorrect:
    """It is not made without one."""
    return Incorrect(
        "workflow.reason-required",
        f"transition {transition.name} needs a reason",
        hint="say why with `reason`",
    )


def _guard_refused(record: Record, transition: Transition, objection: Objection) -> Conflict:
    assert transition.guard is not None
    why = f": {objection.why}" if objection.why else ""
    missing = (
        "; give it in `context` or `data`, or see to it that the subject has it"
        if objection.is_missing
        else ""
    )
    return Conflict(
        "workflow.guard-refused",
        f"the guard of {transition.name} does not let process {record.id} pass{why}",
        hint=f"it demands: {transition.guard.text}{missing}",
        data={
            "transition": transition.name,
            "state": record.state.name,
            "guard": transition.guard.text,
        },
    )


def _no_handler(name: str) -> Conflict:
    return Conflict(
        "workflow.no-handler",
        f"this server has no code for the effect {name}",
        hint="install the distribution that brings it, and load its pack",
    )


def _defect(record: Record, name: str, fault_id: str) -> Fault:
    return Fault(
        "workflow.effect-failed",
        f"the effect {name} of process {record.id} went wrong; the log has it as {fault_id}",
        hint="nothing of the transition was kept; if it happens again, report the id",
        data={"id": fault_id},
    )
