"""`tools/list` and `tools/call`."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import msgspec

from sandbar.database import Offer
from sandbar.errors import Fault, NotFound, Problem
from sandbar.mcp.call_asking import CallAsking
from sandbar.mcp.client import progress_token
from sandbar.mcp.cursors import read_cursor, write_cursor
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.service import Service
from sandbar.mcp.table import Method, Params, Result
from sandbar.mcp.talk import Talk, asked
from sandbar.mcp.task_asking import note_begun
from sandbar.mcp.task_words import EXTENSION, task_2025, task_2026
from sandbar.mcp.tasks import missing_extension
from sandbar.mcp.tool_lists import ToolLists
from sandbar.mcp.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    RefusedError,
    complete,
    explained,
    is_modern,
    json_encode,
    knows_tasks,
)
from sandbar.verbs import (
    Content,
    NeedsInput,
    Started,
    Verb,
    Verbatim,
    is_class_tool_name,
)

PAGE_TOOLS = 100
SAID_SO = "tool.error"  # in the audit: the tool itself answered that it failed
_NEEDS_TASK = {"code": "method.unknown", "hint": "call it with `task`"}
_NO_TASK = {"code": "method.unknown", "hint": "call it without `task`"}


def is_point_read(verb: Verb | None, arguments: object) -> bool:
    """Whether this call takes microseconds on SQLite, so that it may run on the event loop.

    Only of an entity as it is now: the past may need a schema of then, which takes a while.
    """
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

    def methods(self) -> dict[str, Method]:
        """What the protocol calls them by."""
        return {
            "tools/list": Method(types.PaginatedRequestParams, self.list_tools),
            "tools/call": Method(types.CallToolRequestParams, self.call_tool),
        }

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

    async def list_tools(self, exchange: Exchange, params: Params) -> Result:
        """One page of the tools that the caller may call."""
        start = 0
        if params.get("cursor") is not None:
            start = read_cursor(params["cursor"], "tools", int)[0]
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

    async def call_tool(self, exchange: Exchange, params: Params) -> Result:
        """Run a tool; whatever a model can mend comes back as a result, not as an error."""
        name, arguments = params["name"], params.get("arguments") or {}
        try:
            self._refuse_others(name)
            if self._service.reads_inline and is_point_read(exchange.verb, arguments):
                result = exchange.database.perform(exchange.call(name, arguments))
            else:
                begun = await self._begun(exchange, name, arguments)
                if begun is not None:
                    return begun
                result = await self._asking.resumed(exchange, params)
                if result is None:
                    result = await self._run(exchange, params, arguments)
                    task = await self._task_of(exchange, result)
                    if task is not None:
                        return task
                    result = await self._asking.asked(exchange, result)
        except Problem as problem:
            return self._failure(exchange, problem, name)
        if isinstance(result, Content) and result.is_error and exchange.record is not None:
            exchange.record.fail(SAID_SO)
        return complete(exchange.version, shown(result, is_modern(exchange.version)))

    # --- tasks -------------------------------------------------------------------------------

    async def _begun(
        self, exchange: Exchange, name: str, arguments: dict[str, Any]
    ) -> Result | None:
        """The task that a long call becomes for a client of the extension; None for all others."""
        verb = await self._verb(exchange, name)
        if verb is None or not (verb.is_long or verb.needs_task):
            return None
        if not is_modern(exchange.version):
            if verb.needs_task and knows_tasks(exchange.version):
                raise RefusedError(METHOD_NOT_FOUND, "Task augmentation required", _NEEDS_TASK)
            return None
        if not self._may_be_task(exchange):
            if verb.needs_task:
                raise missing_extension()
            return None
        if not verb.is_long:
            return None
        started = await self._later(exchange, name, arguments)
        return {"resultType": "task", **task_2026(started)}

    async def call_as_task(self, exchange: Exchange, params: Params) -> Result:
        """A call that its client wants to be a task (2025-11-25)."""
        name, arguments = params["name"], params.get("arguments") or {}
        verb = await self._verb(exchange, name)
        is_unfit = verb is not None and not (verb.is_long or verb.starts_task)
        if is_unfit or is_class_tool_name(name):
            raise RefusedError(
                METHOD_NOT_FOUND, "Tool does not support task augmentation", _NO_TASK
            )
        try:
            if verb is not None and verb.is_long:
                started = await self._later(exchange, name, arguments)
            else:
                started = await self._run(exchange, params, arguments)
        except Problem as problem:
            if problem.code == "verb.unknown":
                raise self._unknown_tool(exchange, problem, name) from problem
            raise
        assert isinstance(started, Started), f"{name} says that it starts tasks"
        connection, token = exchange.client.connection, progress_token(params)
        note_begun(connection, started.process_id)
        if token is not None and connection.is_lasting:
            connection.progress_tokens[started.process_id] = token
        return {"task": task_2025(started)}

    def _refuse_others(self, name: str) -> None:
        if self._only is not None and name not in self._only:
            raise NotFound("verb.unknown", f"there is no tool {name[:100]}", data={"available": []})

    def _may_be_task(self, exchange: Exchange) -> bool:
        """Whether the client knows tasks, and could ask for them where it called the tool."""
        return self._only is None and exchange.client.declares(EXTENSION)

    async def _later(self, exchange: Exchange, name: str, arguments: dict[str, Any]) -> Started:
        call = exchange.call(name, arguments, is_later=True)
        started: Started = await self._service.read(
            exchange, lambda: exchange.database.perform(call)
        )
        return started

    async def _verb(self, exchange: Exchange, name: str) -> Verb | None:
        if exchange.verb is not None or is_class_tool_name(name):
            return exchange.verb
        catalogue = exchange.database.catalogue
        return await self._service.read(exchange, lambda: catalogue.find(name))

    async def _task_of(self, exchange: Exchange, result: Any) -> Result | None:
        """The task that has begun just now, for who knows tasks, if it waits for no one else."""
        if not isinstance(result, Started):
            return None
        if not is_modern(exchange.version):
            note_begun(exchange.client.connection, result.process_id)
            return None
        if not self._may_be_task(exchange):
            return None
        tasks = exchange.database.tasks(exchange.caller)
        is_task = bool(result.input) and result.may_answer
        if is_task or await self._service.read(exchange, lambda: tasks.goes_on_alone(result)):
            return {"resultType": "task", **task_2026(result)}
        return None

    async def _run(self, exchange: Exchange, params: Params, arguments: dict[str, Any]) -> Any:
        call = exchange.call(params["name"], arguments, Talk(exchange, params))
        return await self._service.perform(exchange, call)

    def _failure(self, exchange: Exchange, problem: Problem, name: str) -> dict[str, Any]:
        if exchange.record is not None:
            exchange.record.fail(problem.code)
        if problem.code == "verb.unknown":
            raise self._unknown_tool(exchange, problem, name)
        if isinstance(problem, Fault):
            raise exchange.error(problem)
        if problem.code == "client.capability-missing" and is_modern(exchange.version):
            raise RefusedError(MISSING_CAPABILITY, problem.message, problem.data)
        return complete(exchange.version, failure(problem))

    def _unknown_tool(self, exchange: Exchange, problem: Problem, name: str) -> RefusedError:
        """The seeds promise the list of tools; a name is shown as far as it is short."""
        verbs = [_spelled(each, exchange) for each in problem.data["available"]]
        verbs = verbs if self._only is None else sorted(self._only)
        data: dict[str, Any] = {"available-tools": verbs, "code": problem.code}
        if problem.hint is not None:
            # The hint names the list by the key that it has in our own errors.
            data["hint"] = problem.hint.replace("data.available", "data.available-tools")
        if exchange.request_id is not None:
            data["request-id"] = exchange.request_id
        return RefusedError(INVALID_PARAMS, f"Unknown tool: {name[:100]}", data)


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
    verb = exchange.database.catalogue.at_hand(name)
    if verb is None:
        return name
    return verb.dotted if exchange.spelling == "seed" else verb.portable


def _schemas_with_headers(offer: Offer) -> dict[str, dict[str, Any]]:
    schemas = {verb.name: verb.takes for verb in offer.code.verbs}
    return {
        name: schema
        for name, schema in schemas.items()
        if any("x-mcp-header" in each for each in schema.get("properties", {}).values())
    }


def failure(problem: Problem) -> Result:
    """What a model can mend, as a result."""
    text = json_encode(explained(problem))
    return {**_told(text), "isError": True}


def shown(result: Any, modern: bool) -> Result:
    """A verb's result in the protocol's form: the same JSON as text and as structure."""
    if isinstance(result, Verbatim):
        return result.value
    if isinstance(result, NeedsInput):
        return asked(result)
    if isinstance(result, Content):
        answer: Result = {"content": result.blocks}
        if result.structured is not None and (modern or isinstance(result.structured, dict)):
            answer["structuredContent"] = result.structured
        if result.is_error:
            answer["isError"] = True
        return answer
    return _told(json_encode(result))


def _told(text: bytes) -> Result:
    """JSON as text and as structure, encoded once."""
    return {
        "content": [{"type": "text", "text": text.decode()}],
        "structuredContent": msgspec.Raw(text),
    }
