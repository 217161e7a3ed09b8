"""News of tasks: which of them a stream follows, and what it is told of each.

A stream notes only the numbers of the processes that have changed. When it is told, each is read
as it stands then; what a stream has been told already is not told again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar.edge.streams import Stream
from sandbar.errors import NotFound
from sandbar.mcp import task_words as words
from sandbar.mcp.notices import Notice
from sandbar.mcp.service import Service
from sandbar.verbs import Task

STATUS = "notifications/tasks/status"
PROGRESS = "notifications/progress"
TASKS = "notifications/tasks"

_TOLD_MAX = 1000  # tasks of which a stream remembers what it was told last

Words = Callable[[Task], list[Notice]]


class TaskNews:
    """What one stream is told of its caller's tasks, in the words of its dialect."""

    def __init__(
        self, service: Service, stream: Stream, said: Words, *, is_chosen: bool = False
    ) -> None:
        """`is_chosen`: the stream follows tasks whose handles its caller has shown."""
        self._service = service
        self._stream = stream
        self._said = said
        self._is_chosen = is_chosen
        self._told: dict[int, tuple[Any, ...]] = {}
        self._last: list[int] = []

    async def due(self) -> list[Notice]:
        """What to tell now of the tasks that have changed."""
        ids = self._last = self._stream.take_tasks()
        if not ids:
            return []
        caller = self._stream.caller
        tasks = await self._service.runner.run(caller, lambda: self._read(ids))
        return [notice for task in tasks if self._is_new(task) for notice in self._said(task)]

    def give_back(self) -> None:
        """What was said last may not have arrived: rather twice than never."""
        for id in self._last:
            self._told.pop(id, None)
        self._stream.note_tasks(self._last)

    def _read(self, ids: list[int]) -> list[Task]:
        caller = self._stream.caller
        database = self._service.database(caller)
        tasks = database.tasks(caller)
        found = []
        for id in ids:
            try:
                view = database.workflows.view(id)
            except NotFound:
                continue  # gone meanwhile
            is_wanted = self._is_chosen or view.started_by == caller.principal
            if is_wanted and tasks.reaches(view):
                found.append(tasks.shown(view))
        return found

    def _is_new(self, task: Task) -> bool:
        state = (task.task_id, task.state, task.status, task.progress, tuple(task.input))
        if self._told.get(task.process_id) == state:
            return False
        if len(self._told) >= _TOLD_MAX:
            self._told.clear()
        self._told[task.process_id] = state
        return True


def said_in_session(tokens: dict[int, Any], begun: set[int], ask: Callable[[Task], None]) -> Words:
    """2025-11-25: the status, and progress under the token of the call that began the task.

    What a task asks is asked as well; the others are forgotten when they have ended.
    """
    last: dict[int, float] = {}

    def said(task: Task) -> list[Notice]:
        notices: list[Notice] = [(STATUS, words.task_2025(task))]
        token, amounts = tokens.get(task.process_id), _amounts(task)
        # Progress must grow with every word of it.
        is_more = amounts["progress"] > last.get(task.process_id, -1.0)
        if token is not None and task.progress and is_more:
            last[task.process_id] = amounts["progress"]
            told = {"progressToken": token, **amounts, "_meta": words.related(task)}
            notices.insert(0, (PROGRESS, told))
        if task.kind is not None:
            tokens.pop(task.process_id, None)
            last.pop(task.process_id, None)
            begun.discard(task.process_id)
        elif task.input and task.may_answer:
            ask(task)
        return notices

    return said


def said_to_listener(meta: dict[str, Any]) -> Words:
    """The extension: the whole task, on the stream that asked for it."""

    def said(task: Task) -> list[Notice]:
        return [(TASKS, {**words.detailed_2026(task), "_meta": meta})]

    return said


def said_as_seeds(task: Task) -> list[Notice]:
    """The seeds' words, with both spellings of the id."""
    ids = {"taskId": task.task_id, "task-id": task.task_id}
    status: dict[str, Any] = {**ids, "status": task.status, "state": f":{task.state}"}
    if task.kind is not None:
        status["kind"] = task.kind
    progress = {
        **ids,
        "progressToken": task.task_id,
        "status": "completed" if task.kind is not None else "running",
        "workflow": f":{task.workflow}",
        **_amounts(task),
    }
    return [(PROGRESS, progress), (STATUS, status)]


def _amounts(task: Task) -> dict[str, Any]:
    told = task.progress or {}
    amounts: dict[str, Any] = {"progress": told.get("done", 0)}
    if task.kind is not None and "total" not in told:
        amounts = {"progress": 1, "total": 1}
    if "total" in told:
        amounts["total"] = told["total"]
    if "message" in told:
        amounts["message"] = told["message"]
    return amounts
