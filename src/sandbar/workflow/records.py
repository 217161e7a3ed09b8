"""Reading processes and the definitions that they follow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from sandbar.errors import NotFound
from sandbar.model import Entity, Place, Workspace
from sandbar.workflow import metamodel as mm
from sandbar.workflow.machines import Machine, State, machine_of
from sandbar.workflow.views import ProcessView, Question, Status

_KEPT = 256


class Known(NamedTuple):
    """A definition, ready to be followed."""

    definition_id: int
    fingerprint: str
    machine: Machine
    state_ids: dict[str, int]
    state_names: dict[int, str]


class Record(NamedTuple):
    """A process as it was read."""

    entity: Entity
    known: Known
    state: State

    @property
    def id(self) -> int:
        """Its number."""
        return self.entity.entity_id

    @property
    def machine(self) -> Machine:
        """What it follows."""
        return self.known.machine

    @property
    def data(self) -> dict[str, Any]:
        """What it knows."""
        found: dict[str, Any] = self.entity.get(mm.DATA) or {}
        return found

    @property
    def answers(self) -> dict[str, Any]:
        """What it was told."""
        found: dict[str, Any] = self.entity.get(mm.ANSWERS) or {}
        return found

    @property
    def step(self) -> int:
        """How many transitions there have been."""
        return int(self.entity.get(mm.STEP) or 0)

    @property
    def run(self) -> int:
        """How often it was begun."""
        return int(self.entity.get(mm.RUN) or 1)

    @property
    def is_paused(self) -> bool:
        """Whether it rests."""
        return bool(self.entity.get(mm.PAUSED))


class Records:
    """The processes of one workspace. Definitions are compiled once: none of them ever changes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: OrderedDict[tuple[int | str, str], Known] = OrderedDict()
        self._current: dict[str, tuple[Place, Known]] = {}

    def read(self, process_id: int, *, as_of: int | None = None) -> Record:
        """A process, inside a transaction as that sees it."""
        try:
            return self.record(self._workspace.get(process_id, as_of=as_of))
        except NotFound:
            raise unknown_process(process_id) from None

    def record(self, entity: Entity) -> Record:
        """A process that was read already."""
        if entity.class_ not in mm.PROCESSES:
            raise unknown_process(entity.entity_id)
        definition, state = entity[mm.PROCESS_DEFINITION], entity[mm.CURRENT_STATE]
        known = self._known.get((definition, entity[mm.FINGERPRINT]))
        if known is None or state not in known.state_names:
            known = self._known_of(definition, state)
            self.keep(definition, known)
        return Record(entity, known, known.machine.states[known.state_names[state]])

    def current(self, name: str) -> Known | None:
        """The definition that bears a name now, if it is at hand."""
        try:
            place = self._workspace.locate(name)
        except NotFound:
            return None
        kept = self._current.get(name)
        return kept[1] if kept is not None and kept[0] == place else None

    def at_hand(self, name: str, version: int) -> Machine | None:
        """A version of a workflow, if processes of it were started here of late."""
        kept = self._current.get(name)
        if kept is None or kept[1].machine.version != version:
            return None
        return kept[1].machine

    def wanted(self, name: str) -> list[int | str]:
        """What starting a process of the workflow is likely to read."""
        kept = self._current.get(name)
        if kept is None:
            return [name]
        known = kept[1]
        return [name, known.definition_id, known.state_ids[known.machine.initial.name]]

    def keep_current(self, name: str, place: Place, known: Known) -> None:
        """Have at hand what bears a name now."""
        if len(self._current) > _KEPT:
            self._current.clear()
        self._current[name] = (place, known)

    def _known_of(self, definition: int | str, state: int) -> Known:
        """The definition that has this state; only the current version of a workflow has a name."""
        found = self._workspace.get(definition)
        if state not in found[mm.STATES]:  # the name has passed to a new version
            page = self._workspace.query(mm.DEFINITION, {mm.NAME: definition}, limit=1000)
            found = next(entity for entity in page.items if state in entity[mm.STATES])
        return self.known_from(found)

    def keep(self, definition: int | str, known: Known) -> None:
        """Have a definition at hand."""
        self._known[definition, known.fingerprint] = known
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    @staticmethod
    def known_from(definition: Entity) -> Known:
        """A definition, compiled."""
        spec = msgspec.json.encode(definition[mm.SPEC])
        machine = machine_of(spec.decode())
        # States are made in the order of the spec, so that is the order of their numbers.
        ids = sorted(definition[mm.STATES])
        state_ids = dict(zip(machine.states, ids, strict=True))
        names = {id: name for name, id in state_ids.items()}
        return Known(definition.entity_id, definition[mm.FINGERPRINT], machine, state_ids, names)


def views_of(workspace: Workspace, records: Sequence[Record]) -> list[ProcessView]:
    """Processes as they are shown now: those that wait for a budget say so."""
    waiting = workspace.budgets.waiting_of([one.id for one in records if one.state.is_driven])
    return [view_of(one, is_over_budget=one.id in waiting) for one in records]


def view_of(record: Record, *, is_over_budget: bool = False) -> ProcessView:
    """A process as it is shown."""
    entity, state = record.entity, record.state
    progress = entity.get(mm.PROGRESS)
    updated_at = entity.get(mm.ENTERED_AT) or entity[mm.STARTED_AT]
    if progress is not None:
        updated_at = max(updated_at, progress.get("at", ""))
    parent = entity.get(mm.PARENT)
    return ProcessView(
        process_id=record.id,
        workflow=record.machine.name,
        version=record.machine.version,
        state=state.name,
        status=_status(record),
        kind=state.kind,
        label=state.label,
        paused=record.is_paused,
        over_budget=is_over_budget,
        subject=entity.get(mm.SUBJECT),
        data=record.data,
        progress=progress,
        result=entity.get(mm.RESULT),
        error=entity.get(mm.ERROR),
        input=questions_of(record),
        started_at=entity[mm.STARTED_AT],
        started_by=entity[mm.STARTED_BY],
        updated_at=updated_at,
        completed_at=entity.get(mm.COMPLETED_AT),
        timer_at=entity.get(mm.TIMER_AT),
        step=record.step,
        run=record.run,
        attempt=int(entity.get(mm.ATTEMPT) or 0),
        parent=parent if isinstance(parent, int) else None,
        t=entity.t,
    )


def questions_of(record: Record) -> dict[str, Question]:
    """What the process waits to be told; a key is never used twice, so it bears the step."""
    wanted = record.state.input
    if wanted is None:
        return {}
    return {
        f"{key}-{record.step}": Question(request.message, request.schema, wanted.by)
        for key, request in wanted.requests.items()
        if key not in record.answers
    }


def _status(record: Record) -> Status:
    if record.state.is_terminal:
        return "complete"
    has_begun = record.step > 0 or record.entity.get(mm.PROGRESS) is not None
    return "running" if has_begun else "pending"


def unknown_process(process_id: object) -> NotFound:
    """There is no such process, or it is nobody's business."""
    return NotFound(
        "process.unknown",
        f"there is no process {str(process_id)[:80]}",
        hint="workflow.active-processes lists those that run; task.list lists yours",
    )
