"""Starting processes: by somebody's wish, or as the effect of another's transition."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from sandbar import clock
from sandbar.errors import Conflict, Incorrect
from sandbar.model import Create, Entity, Update, Workspace, Written
from sandbar.workflow import metamodel as mm
from sandbar.workflow.acting import Acting, Hands
from sandbar.workflow.budgets import refuse_large_data
from sandbar.workflow.built_in import CALL, internal_workflow
from sandbar.workflow.conditions import Act
from sandbar.workflow.defining import Defining
from sandbar.workflow.effects import StartProcess
from sandbar.workflow.moves import due_us, refuse_data, timer_at
from sandbar.workflow.records import Known, Record, Records

DEPTH_MAX = 10  # processes that start each other
DESCENDANTS_MAX = 10_000  # processes that one has started, and they, and so on
_HINTS_MAX = 10_000


class Starting:
    """Begins processes of one workspace; its methods but `wanted` are for inside `run`."""

    def __init__(
        self,
        workspace: Workspace,
        records: Records,
        defining: Defining,
        acting: Acting,
    ) -> None:
        self._workspace = workspace
        self._records = records
        self._defining = defining
        self._acting = acting
        # What a transaction about a process will read. Only a hint: it saves round trips.
        self._hints: OrderedDict[int, tuple[int, ...]] = OrderedDict()

    def start(
        self,
        workflow: str,
        subject: Any,
        act: Act,
        caller: Mapping[str, Any] | None,
        parent: Record | None,
        key: str | None,
    ) -> Record:
        """Begin a process; with a key, a retry finds the one that it began the first time."""
        if workflow.removeprefix(":") == CALL and (caller is None or parent is not None):
            raise internal_workflow(CALL)
        known = self._current(workflow)
        machine, now_us = known.machine, clock.now_us()
        if machine.name != CALL:  # whose arguments are as large as a request may be
            refuse_large_data(act.data)
        refuse_data(machine.check_data(dict(act.data)))
        initial, now = machine.initial, clock.instant_text(now_us)
        subject_id = None if subject is None else self._workspace.locate(subject).id
        depth = 0 if parent is None else int(parent.entity.get(mm.DEPTH) or 0) + 1
        counted = [] if parent is None else [self._count(parent, depth)]
        slots = {
            mm.PROCESS_DEFINITION: known.definition_id,
            mm.FINGERPRINT: known.fingerprint,
            mm.CURRENT_STATE: known.state_ids[initial.name],
            mm.ACTIVE: True,
            mm.SUBJECT: subject_id,
            mm.DATA: dict(act.data) or None,
            mm.STARTED_AT: now,
            mm.STARTED_BY: act.actor,
            mm.ENTERED_AT: now,
            mm.TIMER_AT: timer_at(initial, now_us),
            mm.CALLER: dict(caller) if caller else None,
            mm.PARENT: None if parent is None else parent.id,
            mm.DEPTH: depth or None,
        }
        asked = [machine.name, subject_id, dict(act.data)]
        class_ = mm.CALL_PROCESS if machine.name == CALL else mm.PROCESS
        create = Create(class_=class_, slots=_given(slots), temp="process")
        written = self._write([create, *counted], initial.name, act, now, key, asked)
        id = written.temps["process"]
        if written.replayed:
            return self._records.read(id)
        self._hint(id, known, subject_id, parent)
        due = due_us(initial, slots, is_paused=False)
        if due is not None:
            self._workspace.jobs.schedule(id, due)
        given = {slot: value for slot, value in slots.items() if value is not None}
        if isinstance(subject, str):
            given[mm.SUBJECT] = subject.removeprefix(":")  # as it is shown ever after
        entity = Entity(id, None, class_, written.t, given)
        return Record(entity, known, initial)

    def _count(self, parent: Record, depth: int) -> Update:
        """Counts one more that goes back to the first of those who started each other."""
        if depth > DEPTH_MAX:
            raise _too_deep()
        # Not as the parent was read: an effect before this one may have counted.
        root = self._workspace.get(parent.entity.get(mm.PARENT) or parent.id)
        while (before := root.get(mm.PARENT)) is not None:
            root = self._workspace.get(before)
        count = int(root.get(mm.DESCENDANTS) or 0) + 1
        if count > DESCENDANTS_MAX:
            raise _too_many(root.entity_id)
        return Update(entity=root.entity_id, set={mm.DESCENDANTS: count})

    def _write(
        self,
        changes: list[Create | Update],
        state: str,
        act: Act,
        now: str,
        key: str | None,
        asked: list[Any],
    ) -> Written:
        row = {
            mm.OF_PROCESS: "process",
            mm.N: 0,
            mm.TO: state,
            mm.ACTION: "start",
            mm.ACTOR: act.actor,
            mm.REASON: act.reason,
            mm.AT: now,
        }
        operations = [*changes, Create(class_=mm.HISTORY, slots=_given(row))]
        # A retry is known by what it asks for; the moment of the first call is no part of that.
        return self._workspace.transact(
            operations,
            principal=act.actor,
            reason=act.reason,
            idempotency_key=key,
            asked=asked,
        )

    def start_child(self, parent: Record, effect: StartProcess, by: Act, hands: Hands) -> int:
        """Begin a process as an effect of a transition of its parent: its mover has started it."""
        hands.admit_subject(effect.subject)
        self._workspace.budgets.count_transition()
        act = Act(by.actor, f"started by process {parent.id}", data=effect.data)
        caller = self._acting.child_of(parent, by.mover)
        return self.start(effect.workflow, effect.subject, act, caller, parent, None).id

    def _current(self, workflow: str) -> Known:
        """The definition that a process begins to follow now."""
        name = workflow.removeprefix(":")
        known = self._records.current(name)
        if known is None:
            known = self._records.known_from(self._defining.find(name))
            self._records.keep_current(name, self._workspace.locate(name), known)
        return known

    def wanted(self, process_id: int) -> Sequence[int]:
        """What a transaction about a process is likely to read."""
        return self._hints.get(process_id, (process_id,))

    def _hint(self, id: int, known: Known, subject_id: int | None, parent: Record | None) -> None:
        ids = [id, known.definition_id, *known.state_ids.values()]
        ids += [other for other in (subject_id, parent and parent.id) if other is not None]
        self._hints[id] = tuple(ids)
        if len(self._hints) > _HINTS_MAX:
            self._hints.popitem(last=False)


def _given(slots: Mapping[str, Any]) -> dict[str, Any]:
    return {slot: value for slot, value in slots.items() if value is not None}


def _too_deep() -> Incorrect:
    return Incorrect(
        "workflow.too-deep",
        f"processes start each other at most {DEPTH_MAX} levels deep",
        hint="a workflow that starts itself needs an end: look at its effects",
    )


def _too_many(root: int) -> Conflict:
    return Conflict(
        "process.too-many",
        f"process {root}, and those that it has started, have started {DESCENDANTS_MAX:,} others",
        hint="begin another process with workflow.start-process, or look at the effects that start",
        data={"process": root},
    )
