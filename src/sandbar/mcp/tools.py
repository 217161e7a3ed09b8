"""`tools/list` and `tools/call`."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from sandbar.database import Offer
from sandbar.errors import Fault, NotFound, Problem
from sandbar.mcp.call_asking import CallAsking
from sandbar.mcp.cursors import read_cursor, write_cursor
from sandbar.mcp.exchange import Exchange, exchange_of
from sandbar.mcp.service import Service, connection_of
from sandbar.mcp.subscriptions import TOKENS
from sandbar.mcp.talk import Talk, asked
from sandbar.mcp.task_asking import note_begun
from sandbar.mcp.task_words import task_2025, task_2026
from sandbar.mcp.tasks import declares_tasks, missing_extension
from sandbar.mcp.tool_lists import ToolLists
from sandbar.mcp.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    complete,
    explained,
    is_modern,
    json_encode,
    knows_tasks,
    protocol_error,
)
from sandbar.verbs import (
    Call,
    Content,
    NeedsInput,
    Started,
    Verb,
    Verbatim,
    base_catalogue,
    input_schema,
    is_class_tool_name,
)

PAGE_TOOLS = 100
SAID_SO = "tool.error"  # in the audit: the tool itself answered that it failed
_NEEDS_TASK = {"code": "method.unknown", "hint": "call it with `task`"}
_NO_TASK = {"code": "method.unknown", "hint": "call it without `task`"}


def is_point_read(name: object, arguments: object) -> bool:
    """Whether this call takes microseconds on SQLite, so that it may run on the event loop.

    Only of an entity as it is now: the past may need a schema of then, which takes a while.
    """
    verb = base_catalogue().find(name) if isinstance(name, str) else None
    if verb is None or not verb.is_point_read:
        return False
    if not isinstance(arguments, dict) or len(arguments) != 1:
        return False
    return isinstance(next(iter(arguments.values())), int | str)


class Tools:
    """The tools of every workspace that is being served; `only` these, if some are named."""

    def __init__(self, service: Service, only: frozenset[str] | None = None) -> None:
        self._service = service
        self._only = only
        self._asking = CallAsking(service)
        self._lists: dict[str, ToolLists] = {}
        self._with_headers: dict[str, dict[str, Any]] = {}
        self._known_packs: set[str] = set()
        self._learn(service.database(service.local_caller).offer)

    # --- listing -----------------------------------------------------------------------------

    def listed(self, exchange: Exchange) -> list[dict[str, Any]]:
        """All tools that the caller sees."""
        workspace = exchange.caller.workspace
        self._learn(exchange.database.offer)
        lists = self._lists.get(workspace)
        if lists is None or lists.database is not exchange.database:  # a new one of that name
            lists = self._lists[workspace] = ToolLists(exchange.database)
        if self._only is None:
            return lists.tools(exchange.caller, exchange.listing, exchange.spelling)
        tools = lists.tools(exchange.caller, "default", exchange.spelling)
        return [tool for tool in tools if tool["name"] in self._only]

    async def list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> dict[str, Any]:
        """One page of the tools that the caller may call."""
        exchange = exchange_of(ctx, self._service)
        start = 0
        if params.cursor is not None:
            start = read_cursor(params.cursor, "tools", int)[0]
        tools = await self._service.read(exchange, lambda: self.listed(exchange))
        end = start + PAGE_TOOLS
        page: dict[str, Any] = {"tools": _fit_to(exchange.version, tools[start:end])}
        if end < len(tools):
            page["nextCursor"] = write_cursor("tools", end)
        return complete(exchange.version, page, cacheable=True)

    def schema_with_headers(self, name: str) -> dict[str, Any] | None:
        """The schema of a tool that wants arguments repeated in headers; None for all others.

        The SDK asks before anybody knows who is calling, so this is what packs have brought.
        """
        return self._with_headers.get(name)

    def _learn(self, offer: Offer) -> None:
        names = {pack.name for pack in offer.packs}
        if not names <= self._known_packs:
            self._known_packs |= names
            self._with_headers |= _schemas_with_headers(offer)

    # --- calling -----------------------------------------------------------------------------

    async def call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        """Run a tool; whatever a model can mend comes back as a result, not as an error."""
        exchange = exchange_of(ctx, self._service)
        arguments = params.arguments or {}
        try:
            self._refuse_others(params.name)
            if not (self._service.reads_inline and is_point_read(params.name, arguments)):
                begun = await self._begun(ctx, exchange, params.name, arguments)
                if begun is not None:
                    return begun
            result = await self._asking.resumed(exchange, params)
            if result is None:
                result = await self._run(ctx, exchange, params, arguments)
                task = await self._task_of(ctx, exchange, result)
                if task is not None:
                    return task
                result = await self._asking.asked(ctx, exchange, params.name, result)
        except Problem as problem:
            return self._failure(exchange, problem, params.name)
        if isinstance(result, Content) and result.is_error and exchange.record is not None:
            exchange.record.fail(SAID_SO)
        return complete(exchange.version, shown(result, is_modern(exchange.version)))

    # --- tasks -------------------------------------------------------------------------------

    async def _begun(
        self,
        ctx: ServerRequestContext[Any, Any],
        exchange: Exchange,
        name: str,
        arguments: dict[str, Any],
    ) -> dict[str, Any] | None:
        """The task that a long call becomes for a client of the extension; None for all others."""
        verb = await self._verb(exchange, name)
        if verb is None or not (verb.is_long or verb.needs_task):
            return None
        if not is_modern(exchange.version):
            if verb.needs_task and knows_tasks(exchange.version):
                raise MCPError(METHOD_NOT_FOUND, "Task augmentation required", _NEEDS_TASK)
            return None
        if not self._may_be_task(ctx):
            if verb.needs_task:
                raise missing_extension()
            return None
        if not verb.is_long:
            return None
        started = await self._later(exchange, name, arguments)
        return {"resultType": "task", **task_2026(started)}

    async def call_as_task(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> dict[str, Any]:
        """A call that its client wants to be a task (2025-11-25)."""
        exchange = exchange_of(ctx, self._service)
        arguments = params.arguments or {}
        verb = await self._verb(exchange, params.name)
        is_unfit = verb is not None and not (verb.is_long or verb.starts_task)
        if is_unfit or is_class_tool_name(params.name):
            raise MCPError(METHOD_NOT_FOUND, "Tool does not support task augmentation", _NO_TASK)
        try:
            if verb is not None and verb.is_long:
                started = await self._later(exchange, params.name, arguments)
            else:
                started = await self._run(ctx, exchange, params, arguments)
        except Problem as problem:
            if problem.code == "verb.unknown":
                raise self._unknown_tool(exchange, problem, params.name) from problem
            raise
        assert isinstance(started, Started), f"{params.name} says that it starts tasks"
        state, token = connection_of(ctx).state, (ctx.meta or {}).get("progress_token")
        note_begun(connection_of(ctx), started.process_id)
        if token is not None and TOKENS in state:
            state[TOKENS][started.process_id] = token
        return {"task": task_2025(started)}

    def _refuse_others(self, name: str) -> None:
        if self._only is not None and name not in self._only:
            raise NotFound("verb.unknown", f"there is no tool {name[:100]}", data={"available": []})

    def _may_be_task(self, ctx: ServerRequestContext[Any, Any]) -> bool:
        """Whether the client knows tasks, and could ask for them where it called the tool."""
        return self._only is None and declares_tasks(ctx)

    async def _later(self, exchange: Exchange, name: str, arguments: dict[str, Any]) -> Started:
        call = Call(
            exchange.caller, name, arguments, surface="mcp", note=exchange.note, is_later=True
        )
        started: Started = await self._service.read(
            exchange, lambda: exchange.database.perform(call)
        )
        return started

    async def _verb(self, exchange: Exchange, name: str) -> Verb | None:
        catalogue = exchange.database.catalogue
        verb = catalogue.at_hand(name)
        if verb is not None or is_class_tool_name(name):
            return verb
        return await self._service.read(exchange, lambda: catalogue.find(name))

    async def _task_of(
        self, ctx: ServerRequestContext[Any, Any], exchange: Exchange, result: Any
    ) -> dict[str, Any] | None:
        """The task that has begun just now, for who knows tasks, if it waits for no one else."""
        if not isinstance(result, Started):
            return None
        if not is_modern(exchange.version):
            note_begun(connection_of(ctx), result.process_id)
            return None
        if not self._may_be_task(ctx):
            return None
        tasks = exchange.database.tasks(exchange.caller)
        is_task = bool(result.input) and result.may_answer
        if is_task or await self._service.read(exchange, lambda: tasks.goes_on_alone(result)):
            return {"resultType": "task", **task_2026(result)}
        return None

    async def _run(
        self,
        ctx: ServerRequestContext[Any, Any],
        exchange: Exchange,
        params: types.CallToolRequestParams,
        arguments: dict[str, Any],
    ) -> Any:
        if self._service.reads_inline and is_point_read(params.name, arguments):
            return self._call(exchange, params.name, arguments, None)
        talk = Talk(ctx, params, self._service.log_level(ctx))
        return await self._service.read(
            exchange, lambda: self._call(exchange, params.name, arguments, talk)
        )

    def _call(
        self, exchange: Exchange, name: str, arguments: dict[str, Any], talk: Talk | None
    ) -> Any:
        call = Call(
            exchange.caller,
            name,
            arguments,
            surface="mcp",
            request_id=exchange.request_id,
            note=exchange.note,
            channel=talk,
        )
        return exchange.database.perform(call)

    def _failure(self, exchange: Exchange, problem: Problem, name: str) -> dict[str, Any]:
        if exchange.record is not None:
            exchange.record.fail(problem.code)
        if problem.code == "verb.unknown":
            raise self._unknown_tool(exchange, problem, name)
        if isinstance(problem, Fault):
            raise protocol_error(problem, exchange.version, exchange.request_id)
        if problem.code == "client.capability-missing" and is_modern(exchange.version):
            raise MCPError(MISSING_CAPABILITY, problem.message, problem.data)
        return complete(exchange.version, failure(problem))

    def _unknown_tool(self, exchange: Exchange, problem: Problem, name: str) -> MCPError:
        """The seeds promise the list of tools; a name is shown as far as it is short."""
        verbs = [_spelled(each, exchange) for each in problem.data["available"]]
        verbs = verbs if self._only is None else sorted(self._only)
        data: dict[str, Any] = {"available-tools": verbs, "code": problem.code}
        if problem.hint is not None:
            # The hint names the list by the key that it has in our own errors.
            data["hint"] = problem.hint.replace("data.available", "data.available-tools")
        if exchange.request_id is not None:
            data["request-id"] = exchange.request_id
        return MCPError(INVALID_PARAMS, f"Unknown tool: {name[:100]}", data)


def _fit_to(version: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools without what a revision has no word for."""
    if knows_tasks(version):
        return tools
    return [
        {key: value for key, value in tool.items() if key != "execution"}
        if "execution" in tool
        else tool
        for tool in tools
    ]


def _spelled(name: str, exchange: Exchange) -> str:
    """A verb's name as this client sees it; those of packs have one spelling only."""
    verb = base_catalogue().find(name)
    if verb is None:
        return name
    return verb.dotted if exchange.spelling == "seed" else verb.portable


def _schemas_with_headers(offer: Offer) -> dict[str, dict[str, Any]]:
    schemas = {verb.name: input_schema(verb) for verb in offer.code.verbs}
    return {
        name: schema
        for name, schema in schemas.items()
        if any("x-mcp-header" in each for each in schema.get("properties", {}).values())
    }


def failure(problem: Problem) -> dict[str, Any]:
    """What a model can mend, as a result."""
    payload = explained(problem)
    return {
        "content": [{"type": "text", "text": json_encode(payload).decode()}],
        "structuredContent": payload,
        "isError": True,
    }


def shown(result: Any, modern: bool) -> dict[str, Any]:
    """A verb's result in the protocol's form: the same JSON as text and as structure."""
    if isinstance(result, Verbatim):
        return result.value
    if isinstance(result, NeedsInput):
        return asked(result)
    if isinstance(result, Content):
        answer: dict[str, Any] = {"content": result.blocks}
        if result.structured is not None and (modern or isinstance(result.structured, dict)):
            answer["structuredContent"] = result.structured
        if result.is_error:
            answer["isError"] = True
        return answer
    text = json_encode(result)
    return {
        "content": [{"type": "text", "text": text.decode()}],
        "structuredContent": msgspec.json.decode(text),
    }
