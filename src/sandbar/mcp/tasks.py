"""`tasks/*`: processes as the tasks of MCP, in the words of each revision.

There is no registry besides the processes. A handle works for who was given it, in their workspace.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value

from sandbar.errors import Conflict, Forbidden, Incorrect, TooMany, Unavailable
from sandbar.mcp import task_words as words
from sandbar.mcp.exchange import Exchange, exchange_of
from sandbar.mcp.service import Service, connection_of
from sandbar.mcp.talk import ask_client, can_ask
from sandbar.mcp.task_asking import (
    CHANGING,
    answer,
    ask_follower,
    being_asked,
    can_be_asked,
    must_write,
    next_question,
)
from sandbar.mcp.task_waiting import TaskStream
from sandbar.mcp.wire import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    complete,
    is_modern,
    knows_tasks,
    protocol_error,
)
from sandbar.model import is_over_budget
from sandbar.verbs import Task, Tasks, acting
from sandbar.workflow import CALL, unknown_task

PAGE_TASKS = 50
_TRIES = 3  # of a question whose answers do not fit
_LOOK_AGAIN_S = 2.0  # in case that news of the end did not reach us
_HANDLE_CHARACTERS_MAX = 200
_SPELLINGS = ("taskId", "task-id", "task_id")

Ctx = ServerRequestContext[Any, Any]


class TaskMethods:
    """The methods of tasks, of every revision."""

    def __init__(self, service: Service) -> None:
        self._service = service

    # --- methods -----------------------------------------------------------------------------

    async def get(self, ctx: Ctx, params: types.RequestParams) -> dict[str, Any]:
        """How a task stands."""
        del params
        exchange = self._gate(ctx)
        handle, spelling = _handle(ctx, "tasks/get")
        task = await self._find(exchange, handle)
        if is_modern(exchange.version):
            seen = {**words.detailed_2026(task), "_meta": words.seen_beside(task)}
            return complete(exchange.version, seen)
        if exchange.road == "bare":
            return words.seed_task(task, asked_by=spelling)
        ask_follower(self._service, connection_of(ctx), exchange.caller, task)
        return {**words.task_2025(task), "_meta": words.seen_beside(task)}

    async def cancel(self, ctx: Ctx, params: types.RequestParams) -> dict[str, Any]:
        """End a task. The extension only acknowledges; before, a refusal is an error."""
        del params
        exchange = self._gate(ctx)
        handle, spelling = _handle(ctx, "tasks/cancel")
        try:
            task = await self._service.read(exchange, lambda: self._cancel(exchange, handle))
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

    def _cancel(self, exchange: Exchange, handle: str) -> Task:
        tasks = _tasks(exchange)
        view = tasks.find(handle)
        if view.workflow != CALL:  # whoever may make a call may also give it up
            must_write(exchange.caller)
        workflows = exchange.database.workflows
        ended = workflows.cancel(
            view.process_id,
            **acting(exchange.caller, *CHANGING),
            run=view.run,
            wordless=f"cancelled by {exchange.caller.principal}",
        )
        return tasks.shown(ended)

    async def list_tasks(self, ctx: Ctx, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """The caller's tasks, newest first; the extension has no such list."""
        _refuse_modern(ctx)
        exchange = self._gate(ctx)

        def look() -> tuple[list[Task], str | None]:
            tasks = _tasks(exchange)
            views, cursor = exchange.database.workflows.active(
                started_by=exchange.caller.principal,
                is_all=True,
                limit=PAGE_TASKS,
                cursor=params.cursor,
            )
            return [tasks.shown(view) for view in views if tasks.reaches(view)], cursor

        found, cursor = await self._service.read(exchange, look)
        page: dict[str, Any] = {"tasks": [words.task_2025(task) for task in found]}
        if cursor is not None:
            page["nextCursor"] = cursor
        return page

    async def result(self, ctx: Ctx, params: types.RequestParams) -> dict[str, Any]:
        """Wait for the end of a task, asking what it asks, and answer what its call would have."""
        del params
        _refuse_modern(ctx)
        exchange = self._gate(ctx)
        handle, _ = _handle(ctx, "tasks/result")
        task = await self._until_done(ctx, exchange, handle)
        error = words.error_of(task)
        if error is not None:
            raise words.raised(error)
        return {**words.result_of(task), "_meta": words.related(task)}

    async def update(self, ctx: Ctx, params: types.RequestParams) -> dict[str, Any]:
        """What the client answers to the questions of a task; unknown keys are ignored."""
        del params
        exchange = self._gate(ctx)
        if not is_modern(exchange.version):
            raise _no_method("tasks/update")
        handle, _ = _handle(ctx, "tasks/update")
        given = (ctx.params or {}).get("inputResponses")
        if not isinstance(given, dict):
            raise MCPError(
                INVALID_PARAMS,
                "inputResponses is an object of key to answer",
                {"code": "request.params", "hint": "tasks/get shows the keys"},
            )
        await self._answer(exchange, handle, given)
        return complete(exchange.version, {})

    # --- inside ------------------------------------------------------------------------------

    def _gate(self, ctx: Ctx) -> Exchange:
        """Who asks; since 2026-07-28 only who has declared the extension may."""
        exchange = exchange_of(ctx, self._service)
        if is_modern(exchange.version):
            if not declares_tasks(ctx):
                raise missing_extension()
            _check_name(ctx)
        elif not knows_tasks(exchange.version):
            raise _no_method(ctx.method)
        return exchange

    async def _find(self, exchange: Exchange, handle: str) -> Task:
        def look() -> Task:
            tasks = _tasks(exchange)
            return tasks.shown(tasks.find(handle))

        return await self._service.read(exchange, look)

    async def _until_done(self, ctx: Ctx, exchange: Exchange, handle: str) -> Task:
        task = await self._find(exchange, handle)
        stream = TaskStream(exchange.caller, task.process_id)
        connection = connection_of(ctx)
        is_asking = can_ask(ctx) and can_be_asked(connection)
        tries: Counter[str] = Counter()
        problem = await self._service.streams.open(stream)
        if problem is not None:
            problem = problem if is_over_budget(problem) else too_many_waiting()
            raise protocol_error(problem, exchange.version, exchange.request_id)
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
                        is_final = await self._ask(ctx, exchange, task, key)
                    tries[key] += _TRIES if is_final else 0
                elif await stream.due(_LOOK_AGAIN_S) is None:
                    raise _no_longer()
        finally:
            self._service.streams.close(stream)

    async def _ask(self, ctx: Ctx, exchange: Exchange, task: Task, key: str) -> bool:
        """Ask the client; False if its answer does not fit, so that it may be asked again."""
        question = task.input[key]
        params = words.elicitation(question.message, question.schema)
        reply = await ask_client(
            ctx, "elicitation/create", {**params, "_meta": words.related(task)}
        )
        try:
            await self._answer(exchange, task.task_id, {key: reply})
        except Incorrect:
            return False
        except (Conflict, Forbidden):
            return True  # there is no way to decline, or someone else was quicker: wait
        return True

    async def _answer(self, exchange: Exchange, handle: str, given: dict[str, Any]) -> None:
        await self._service.read(
            exchange, lambda: answer(exchange.database, exchange.caller, handle, given)
        )


def too_many_waiting() -> TooMany:
    """Whoever waits for a task holds something open: there is an end to that."""
    return TooMany(
        "task.too-many-waiting",
        "too many requests are waiting for tasks",
        hint="ask with tasks/get now and then, or end some of the requests",
    )


def declares_tasks(ctx: Ctx) -> bool:
    """Whether the client of this request speaks the extension."""
    wanted = types.ClientCapabilities(extensions={words.EXTENSION: {}})
    return bool(ctx.session.check_client_capability(wanted))


def missing_extension() -> MCPError:
    """The refusal of whoever has not declared the extension."""
    needed: dict[str, Any] = {"extensions": {words.EXTENSION: {}}}
    return MCPError(
        MISSING_CAPABILITY,
        "Missing required client capability",
        {
            "requiredCapabilities": needed,
            "code": "client.capability-missing",
            "hint": "declare data.requiredCapabilities; or use the tools task.get, task.cancel",
        },
    )


def _tasks(exchange: Exchange) -> Tasks:
    return exchange.database.tasks(exchange.caller)


def _handle(ctx: Ctx, method: str) -> tuple[str, str]:
    """The handle that the request names, and how it spells the parameter."""
    given = ctx.params or {}
    for spelling in _SPELLINGS:
        if spelling in given:
            handle = given[spelling]
            if isinstance(handle, int) and not isinstance(handle, bool):
                handle = str(handle)
            if not isinstance(handle, str) or len(handle) > _HANDLE_CHARACTERS_MAX:
                raise unknown_task(handle)
            return handle, spelling
    raise MCPError(
        INVALID_PARAMS,
        f"{method} requires :taskId parameter",
        {"code": "request.params", "hint": "give the handle that starting the task answered"},
    )


def _check_name(ctx: Ctx) -> None:
    """The header that repeats the task's id must be right; some clients leave it out."""
    header = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
    if header is not None and decode_header_value(header) != (ctx.params or {}).get("taskId"):
        raise MCPError(
            HEADER_MISMATCH,
            "Mcp-Name does not match params.taskId",
            {"code": "request.header-mismatch", "hint": "send the same in both, or no header"},
        )


def _refuse_modern(ctx: Ctx) -> None:
    if is_modern(ctx.protocol_version):
        raise _no_method("this method")


def _no_method(method: str) -> MCPError:
    return MCPError(
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
