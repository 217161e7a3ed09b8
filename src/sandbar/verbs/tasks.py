"""Tasks: processes as those see them who started them, under a handle of their own."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from sandbar.access import Caller, Guarded, refuse_outside, remembered
from sandbar.errors import Incorrect, NotFound
from sandbar.verbs.answers import Answer
from sandbar.workflow import (
    CALL,
    CALLER,
    VALIDATION,
    Handles,
    HistoryRow,
    Kind,
    ProcessView,
    Question,
    Reply,
    Status,
    Workflows,
    unknown_process,
    unknown_task,
)

_DIGITS_MAX = 18  # of the number of a process
_SOON_S = 60.0  # a timer that a caller may wait for


class Task(Answer, frozen=True, kw_only=True):
    """A process and its handle."""

    task_id: str
    process_id: int
    workflow: str
    version: int
    state: str
    status: Status
    kind: Kind | None = None
    label: str | None = None
    paused: bool = False
    over_budget: bool = False  # it waits until the budget of the workspace has room
    progress: dict[str, Any] | None = None
    result: Any = None
    error: dict[str, Any] | None = None
    input: dict[str, Question] = msgspec.field(default_factory=dict)
    may_answer: bool = True  # false: others are asked
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    started_at: str
    updated_at: str
    completed_at: str | None = None


class Started(Task, frozen=True, kw_only=True):
    """A task that was begun just now: doors that know tasks say so in their own words."""

    transitions: list[str]  # that can be made now
    hint: str


class Tasks:
    """The tasks of one caller."""

    def __init__(self, workflows: Workflows, db: Guarded) -> None:
        self._workflows = workflows
        self._db = db
        self._caller = db.caller

    @property
    def acting(self) -> dict[str, Any]:
        """Who acts by the verb that was called, as the workflows ask for it."""
        return acting(self._caller, *self._db.door)

    @property
    def _handles(self) -> Handles:
        return self._workflows.handles

    def start(
        self,
        workflow: str,
        subject: Any = None,
        data: Mapping[str, Any] | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> ProcessView:
        """Begin a process in the caller's name."""
        return self._workflows.start(
            workflow,
            subject,
            data,
            **self.acting,
            reason=reason,
            idempotency_key=idempotency_key,
        )

    def handle_of(self, view: ProcessView) -> str:
        """The handle of a process."""
        return self._handles.of(view.process_id, view.run, view.started_by)

    def find(self, handle: object) -> ProcessView:
        """The process behind a handle; as it ended, if it was begun anew since."""
        opened = self._handles.parsed(handle)
        if opened is None or not isinstance(handle, str):
            raise unknown_task(handle)
        is_mine = self._handles.is_right(handle, opened, self._caller.principal)
        if not is_mine and not self._caller.may("admin"):
            raise unknown_task(handle)
        try:
            view = self._workflows.view(opened.process_id)
        except NotFound:
            raise unknown_task(handle) from None
        if not is_mine and not self._handles.is_right(handle, opened, view.started_by):
            raise unknown_task(handle)
        if not self.reaches(view):
            raise unknown_task(handle)
        return self._at_run(view, opened.run, handle)

    def _at_run(self, view: ProcessView, run: int, handle: str) -> ProcessView:
        if view.run == run:
            return view
        if view.run < run:
            raise unknown_task(handle)
        return self._workflows.view(view.process_id, as_of=self._end_of(view, run))

    def _end_of(self, view: ProcessView, run: int) -> int:
        """The transaction before the one that began the next run."""
        machine = self._workflows.find(view.workflow, view.version)
        begun = 1
        rows: list[HistoryRow] = self._workflows.history(view.process_id)
        for before, row in pairwise(rows):
            if machine.states[before.to].is_terminal:
                begun += 1
                if begun == run + 1:
                    return row.t - 1
        raise unknown_task(view.process_id)

    def process_named(self, given: int | str, *, is_changed: bool = False) -> int:
        """The process of a number or a handle, if the caller may see it, or work on it."""
        id = self._process_id(given)
        if self._is_limited and not self.reaches(self._workflows.view(id), is_changed=is_changed):
            raise refuse_outside(f"process {id}")
        return id

    def reaches(self, view: ProcessView, *, is_changed: bool = False) -> bool:
        """Whether a process is within what the caller's key and roles are limited to."""
        if not self._is_limited:
            return True
        kept = self._workflows.records.read(view.process_id).entity.get(CALLER) or {}
        if self._caller.key_id is not None and kept.get("key") == self._caller.key_id:
            return True  # begun by this very key, whose rights it has
        if view.subject is None:
            return self._reaches_subjectless(view)
        if view.workflow == VALIDATION:
            return self._db.sees(str(view.subject))
        return self._db.sees_entity(view.subject, is_changed=is_changed)

    @property
    def _is_limited(self) -> bool:
        return self._db.is_scoped or self._caller.rights.is_narrowed

    def _reaches_subjectless(self, view: ProcessView) -> bool:
        """Whether they see what is about nothing: no one can tell which classes it touches.

        A key that only has a lesser role sees it as an account of that role does; but a long call
        may have been made with all rights of the owner.
        """
        rights = self._caller.rights
        is_limited = self._db.is_scoped or rights.is_scoped or rights.verbs is not None
        return view.workflow != CALL and not is_limited

    def _process_id(self, given: int | str) -> int:
        if isinstance(given, str) and not _is_number(given):
            if self._handles.parsed(given) is None:
                raise Incorrect(
                    "process.malformed",
                    f"{given[:80]} is neither the number of a process nor the handle of a task",
                    hint="give the process-id or the task-id that starting it answered",
                )
            return self.find(given).process_id
        return int(given)

    def visible(self, view: ProcessView) -> ProcessView:
        """The process, unless it is a long call of somebody else: those are nobody's business."""
        is_mine = view.started_by == self._caller.principal or self._caller.may("admin")
        if view.workflow == CALL and not is_mine:
            raise unknown_process(view.process_id)
        return view

    def shown(self, view: ProcessView) -> Task:
        """A process as its task."""
        return Task(**self._members(view))

    def started(self, view: ProcessView) -> Started:
        """A process that was begun just now."""
        if view.is_complete:
            hint = "it has ended; task.get shows what came of it"
        elif self.goes_on_alone(view):
            hint = "task.get follows it, task.cancel ends it"
        elif view.input and self._may_answer(view):
            hint = "workflow.answer tells it what it asks; task.cancel ends it"
        elif view.input:
            hint = "it asks others: task.get follows it, task.cancel ends it"
        else:
            hint = "workflow.transition moves it on, workflow.process-state shows how"
        return Started(**self._members(view), transitions=view.transitions or [], hint=hint)

    def _may_answer(self, view: ProcessView) -> bool:
        caller = self._caller
        return self._workflows.may_answer(view, principal=caller.principal, roles=caller.roles)

    def goes_on_alone(self, view: ProcessView | Started) -> bool:
        """Whether an activity, or a timer that soon fires, leads on: one can only wait."""
        version = view.version
        machine = self._workflows.records.at_hand(view.workflow, version)
        machine = machine or self._workflows.find(view.workflow, version)
        state = machine.states[view.state]
        if state.after is None or state.after.seconds > _SOON_S:
            return state.activity is not None
        others = [way for way in machine.leaving(state.name) if way.name != state.after.transition]
        return state.input is None and all(map(machine.is_cancelling, others))

    def _members(self, view: ProcessView) -> dict[str, Any]:
        return {
            "task_id": self.handle_of(view),
            "process_id": view.process_id,
            "workflow": view.workflow,
            "version": view.version,
            "state": view.state,
            "status": view.status,
            "kind": view.kind,
            "label": view.label,
            "paused": view.paused,
            "over_budget": view.over_budget,
            "progress": view.progress,
            "result": view.result,
            "error": view.error,
            "input": view.input,
            "may_answer": self._may_answer(view),
            "data": view.data,
            "started_at": view.started_at,
            "updated_at": view.updated_at,
            "completed_at": view.completed_at,
        }


def acting(caller: Caller, group: str, verb: str) -> dict[str, Any]:
    """Who acts by a verb, and what is kept of them: what the calls of workflows take."""
    kept = remembered(caller, (group, verb))
    return {"principal": caller.principal, "roles": caller.roles, "caller": kept}


def _is_number(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) <= _DIGITS_MAX


def replies_in(given: Mapping[str, Any], asked: Container[str]) -> dict[str, Reply]:
    """What a client answers to what was asked; the rest is ignored."""
    return {key: _reply(reply) for key, reply in given.items() if key in asked}


def _reply(given: Any) -> Reply:
    action = given.get("action") if isinstance(given, dict) else None
    content = given.get("content") if isinstance(given, dict) else None
    if action not in ("accept", "decline", "cancel") or not isinstance(content, dict | None):
        raise Incorrect(
            "request.params",
            "an answer is an object of action and content",
            hint='for example {"action": "accept", "content": {"name": "Ada"}}',
        )
    return Reply(action, content or {})
