"""`tasks/*`: processes as the tasks of MCP, in the words of each revision.

There is no registry besides the processes. A handle works for who was given it, in their workspace.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import mcp_types as types

from sandbar.errors import Conflict, Forbidden, Incorrect, TooMany, Unavailable
from sandbar.mcp import task_words as words
from sandbar.mcp.client import Client
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.task_asking import (
    ask_follower,
    being_asked,
    can_be_asked,
    next_question,
)
from sandbar.mcp.task_waiting import TaskStream
from sandbar.mcp.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    RefusedError,
    complete,
    is_modern,
    knows_tasks,
)
from sandbar.model import is_over_budget
from sandbar.verbs import TASK_METHODS, Task, TaskList
from sandbar.workflow import unknown_task

PAGE_TASKS = 50
_TRIES = 3  # of a question whose answers do not fit
_LOOK_AGAIN_S = 2.0  # in case that news of the end did not reach us
_HANDLE_CHARACTERS_MAX = 200
_SPELLINGS = ("taskId", "task-id", "task_id")


class TaskMethods:
    """The methods of tasks, of every revision."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {
            "tasks/get": Method(types.RequestParams, self.get),
            "tasks/result": Method(types.RequestParams, self.result),
            "tasks/update": Method(types.RequestParams, self.update),
            "tasks/cancel": Method(types.RequestParams, self.cancel),
            "tasks/list": Method(types.PaginatedRequestParams, self.list_tasks),
        }

    # --- methods -----------------------------------------------------------------------------

    async def get(self, exchange: Exchange, params: Params) -> Result:
        """How a task stands."""
        _admit(exchange, "tasks/get")
        handle, spelling = _handle(params, "tasks/get")
        task = await self._find(exchange, handle)
        if is_modern(exchange.version):
            seen = {**words.detailed_2026(task), "_meta": words.seen_beside(task)}
            return complete(exchange.version, seen)
        if exchange.road == "bare":
            return words.seed_task(task, asked_by=spelling)
        ask_follower(self._service, exchange.client.connection, exchange.caller, task)
        return {**words.task_2025(task), "_meta": words.seen_beside(task)}

    async def cancel(self, exchange: Exchange, params: Params) -> Result:
        """End a task. The extension only acknowledges; before, a refusal is an error."""
        _admit(exchange, "tasks/cancel")
        handle, spelling = _handle(params, "tasks/cancel")
        try:
            task: Task = await self._perform(exchange, "cancel", {"task-id": handle})
        except Conflict as refusal:
            if is_modern(exchange.version):
                return complete(exchange.version, {})
            if exchange.road == "bare" and spelling == "taskId":
                text = {"type": "text", "text": refusal.message}
                return {"content": [text], "isError": True}
            raise
        if is_modern(exchange.version):
            return complete(exchange.version, {})
        if exchange.road == "bare":
            return words.seed_task(task, asked_by=spelling)
        return words.task_2025(task)

    async def list_tasks(self, exchange: Exchange, params: Params) -> Result:
        """The caller's tasks, newest first; the extension has no such list."""
        _refuse_modern(exchange)
        _admit(exchange, "tasks/list")

        wanted = {"all": True, "limit": PAGE_TASKS, "cursor": params.get("cursor")}
        found: TaskList = await self._perform(exchange, "list", wanted)
        page: dict[str, Any] = {"tasks": [words.task_2025(task) for task in found.tasks]}
        if found.cursor is not None:
            page["nextCursor"] = found.cursor
        return page

    async def result(self, exchange: Exchange, params: Params) -> Result:
        """Wait for the end of a task, asking what it asks, and answer what its call would have."""
        _refuse_modern(exchange)
        _admit(exchange, "tasks/result")
        handle, _ = _handle(params, "tasks/result")
        task = await self._until_done(exchange, handle)
        error = words.error_of(task)
        if error is not None:
            raise words.raised(error)
        return {**words.result_of(task), "_meta": words.related(task)}

    async def update(self, exchange: Exchange, params: Params) -> Result:
        """What the client answers to the questions of a task; unknown keys are ignored."""
        _admit(exchange, "tasks/update")
        if not is_modern(exchange.version):
            raise _no_method("tasks/update")
        handle, _ = _handle(params, "tasks/update")
        given = params.get("inputResponses")
        if not isinstance(given, dict):
            raise RefusedError(
                INVALID_PARAMS,
                "inputResponses is an object of key to answer",
                {"code": "request.params", "hint": "tasks/get shows the keys"},
            )
        await self._perform(exchange, "answer", {"task-id": handle, "answers": given})
        return complete(exchange.version, {})

    # --- inside ------------------------------------------------------------------------------

    async def _perform(self, exchange: Exchange, what: str, given: Params) -> Any:
        verb = TASK_METHODS[what]
        call = exchange.call(verb.name, given, verb=verb)
        return await self._service.read(exchange, lambda: exchange.database.perform(call))

    async def _find(self, exchange: Exchange, handle: str) -> Task:
        task: Task = await self._perform(exchange, "get", {"task-id": handle})
        return task

    async def _until_done(self, exchange: Exchange, handle: str) -> Task:
        task = await self._find(exchange, handle)
        stream = TaskStream(exchange.caller, task.process_id)
        connection = exchange.client.connection
        is_asking = exchange.client.can_ask and can_be_asked(connection)
        tries: Counter[str] = Counter()
        problem = await self._service.streams.open(stream)
        if problem is not None:
            problem = problem if is_over_budget(problem) else too_many_waiting()
            raise exchange.error(problem)
        try:
            while True:
                task = await self._find(exchange, handle)
                if task.kind is not None:
                    return task
                keys = task.input if is_asking and task.may_answer and not task.paused else ()
                key = next_question(connection, task.process_id, keys)
                if key is not None and tries[key] < _TRIES:
                    tries[key] += 1
                    with being_asked(connection, task.process_id, key):
                        is_final = await self._ask(exchange, task, key)
                    tries[key] += _TRIES if is_final else 0
                elif await stream.due(_LOOK_AGAIN_S) is None:
                    raise _no_longer()
        finally:
            self._service.streams.close(stream)

    async def _ask(self, exchange: Exchange, task: Task, key: str) -> bool:
        """Ask the client; False if its answer does not fit, so that it may be asked again."""
        question = task.input[key]
        params = words.elicitation(question.message, question.schema)
        reply = await exchange.client.ask(
            "elicitation/create", {**params, "_meta": words.related(task)}
        )
        try:
            told = {"task-id": task.task_id, "answers": {key: reply}}
            await self._perform(exchange, "answer", told)
        except Incorrect:
            return False
        except (Conflict, Forbidden):
            return True  # there is no way to decline, or someone else was quicker: wait
        return True


def too_many_waiting() -> TooMany:
    """Whoever waits for a task holds something open: there is an end to that."""
    return TooMany(
        "task.too-many-waiting",
        "too many requests are waiting for tasks",
        hint="ask with tasks/get now and then, or end some of the requests",
    )


def declares_tasks(client: Client) -> bool:
    """Whether the client of this request speaks the extension."""
    return client.declares(words.EXTENSION)


def missing_extension() -> RefusedError:
    """The refusal of whoever has not declared the extension."""
    needed: dict[str, Any] = {"extensions": {words.EXTENSION: {}}}
    return RefusedError(
        MISSING_CAPABILITY,
        "Missing required client capability",
        {
            "requiredCapabilities": needed,
            "code": "client.capability-missing",
            "hint": "declare data.requiredCapabilities; or use the tools task.get, task.cancel",
        },
    )


def _handle(given: Params, method: str) -> tuple[str, str]:
    """The handle that the request names, and how it spells the parameter."""
    for spelling in _SPELLINGS:
        if spelling in given:
            handle = given[spelling]
            if isinstance(handle, int) and not isinstance(handle, bool):
                handle = str(handle)
            if not isinstance(handle, str) or len(handle) > _HANDLE_CHARACTERS_MAX:
                raise unknown_task(handle)
            return handle, spelling
    raise RefusedError(
        INVALID_PARAMS,
        f"{method} requires :taskId parameter",
        {"code": "request.params", "hint": "give the handle that starting the task answered"},
    )


def _admit(exchange: Exchange, method: str) -> None:
    """Since 2026-07-28 only for clients that have declared the extension."""
    if is_modern(exchange.version):
        if not declares_tasks(exchange.client):
            raise missing_extension()
    elif not knows_tasks(exchange.version):
        raise _no_method(method)


def _refuse_modern(exchange: Exchange) -> None:
    if is_modern(exchange.version):
        raise _no_method("this method")


def _no_method(method: str) -> RefusedError:
    return RefusedError(
        METHOD_NOT_FOUND,
        "Method not found",
        {"code": "method.unknown", "hint": f"{method} is not of this revision"},
    )


def _no_longer() -> Unavailable:
    return Unavailable(
        "stream.ended",
        "the wait for this task is over: the account has changed, or the server is stopping",
        hint="the task goes on; ask for it again",
    )
