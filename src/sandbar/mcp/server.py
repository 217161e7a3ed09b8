"""The SDK's server with our handlers: one object that speaks both revisions."""

from __future__ import annotations

from typing import Any, NamedTuple

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from sandbar import __version__
from sandbar.edge import state_of
from sandbar.errors import Fault, Incorrect, Problem
from sandbar.faults import log_fault
from sandbar.mcp.completion import Completion
from sandbar.mcp.exchange import exchange_of
from sandbar.mcp.instructions import instructions_for
from sandbar.mcp.prompts import Prompts
from sandbar.mcp.recording import OWN, OwnRecord, Record, tool_of
from sandbar.mcp.resources import Resources
from sandbar.mcp.service import Service
from sandbar.mcp.subscriptions import Subscriptions
from sandbar.mcp.task_words import EXTENSION, seed_envelope
from sandbar.mcp.tasks import TaskMethods
from sandbar.mcp.tools import Tools
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    code_in,
    complete,
    completed_error,
    dumped,
    is_modern,
    knows_tasks,
    protocol_error,
)


class Face(NamedTuple):
    """As what a server shows itself; with `tools` it has those alone, and nothing that changes."""

    name: str
    title: str
    version: str
    tools: frozenset[str] | None = None
    instructions: str | None = None  # None: what the workspace makes of them


OWN_FACE = Face("sandbar", "Sandbar", __version__)

_METHODS_OF_TOOLS = frozenset({"server/discover", "tools/list", "tools/call"})

_EVERYTHING_CHANGES = NotificationOptions(
    prompts_changed=True, resources_changed=True, tools_changed=True
)

_TASKS = types.ServerTasksCapability.model_validate(
    {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
)


class SandbarServer(Server[Any]):
    """A server whose lists all change while it runs, unless it has a face of its own."""

    def __init__(self, face: Face) -> None:
        super().__init__(face.name, version=face.version, title=face.title)
        self._is_whole = face.tools is None

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """Stamped on every 2026-07-28 result; nothing in ours is nested, so a copy will do."""
        return dict(self._server_info_stamp_source)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """What we can do; the SDK's own transports never say that lists change."""
        found = super().get_capabilities(
            _EVERYTHING_CHANGES if self._is_whole else NotificationOptions(),
            experimental_capabilities,
            extensions,
            protocol_version=protocol_version,
        )
        # Extensions are words of the revisions without a handshake; there, tasks are one.
        if protocol_version is not None and is_modern(protocol_version):
            return found
        tasks = _TASKS if knows_tasks(protocol_version or DEFAULT_VERSION) else None
        return found.model_copy(update={"extensions": None, "tasks": tasks})


class McpServer:
    """The handlers, the SDK's server that calls them, and what they share."""

    def __init__(self, service: Service, face: Face = OWN_FACE) -> None:
        self.service = service
        self._face = face
        tools, prompts = Tools(service, face.tools), Prompts(service)
        resources, completion = Resources(service), Completion(service)
        tasks = TaskMethods(service)
        self.tools = tools
        self.subscriptions = Subscriptions(service, resources)
        self.resources = resources
        self.sdk = SandbarServer(face)
        handlers: list[tuple[str, type[Any], Any]] = [
            ("ping", types.RequestParams, _ping),
            ("server/discover", types.RequestParams, self._discover),
            ("tools/list", types.PaginatedRequestParams, tools.list_tools),
            ("tools/call", types.CallToolRequestParams, tools.call_tool),
            ("resources/list", types.PaginatedRequestParams, resources.list_resources),
            ("resources/templates/list", types.PaginatedRequestParams, resources.list_templates),
            ("resources/read", types.ReadResourceRequestParams, resources.read_resource),
            ("resources/subscribe", types.SubscribeRequestParams, self.subscriptions.subscribe),
            (
                "resources/unsubscribe",
                types.UnsubscribeRequestParams,
                self.subscriptions.unsubscribe,
            ),
            (
                "subscriptions/listen",
                types.SubscriptionsListenRequestParams,
                self.subscriptions.listen,
            ),
            ("prompts/list", types.PaginatedRequestParams, prompts.list_prompts),
            ("prompts/get", types.GetPromptRequestParams, prompts.get_prompt),
            ("completion/complete", types.CompleteRequestParams, completion.complete),
            ("tasks/get", types.RequestParams, tasks.get),
            ("tasks/result", types.RequestParams, tasks.result),
            ("tasks/update", types.RequestParams, tasks.update),
            ("tasks/cancel", types.RequestParams, tasks.cancel),
            ("tasks/list", types.PaginatedRequestParams, tasks.list_tasks),
            ("logging/setLevel", types.SetLevelRequestParams, self._set_level),
        ]
        for method, params, handler in handlers:
            if face.tools is None or method in _METHODS_OF_TOOLS:
                self.sdk.add_request_handler(method, params, handler)
        # Otherwise every call with arguments lists all tools, to look for parameters in headers.
        self.sdk.get_tool_input_schema = tools.schema_with_headers
        keys = RequestStateSecurity(keys=[service.shared_key()], bind_principal=self._principal)
        self.sdk.middleware[:] = [
            self._guard,
            RequestStateBoundary(keys, default_audience=face.name),
            self._attend,
            self._tell_of_task,
        ]
        if face.tools is None:
            self.sdk.extensions[EXTENSION] = {}

    def _principal(self, ctx: ServerRequestContext[Any, Any]) -> str:
        """Whoever was asked must be who answers."""
        caller = exchange_of(ctx, self.service).caller
        return f"{caller.workspace}/{caller.principal}/{caller.account_id}"

    async def _set_level(
        self, ctx: ServerRequestContext[Any, Any], params: types.SetLevelRequestParams
    ) -> dict[str, Any]:
        self.service.set_log_level(ctx, params.level)
        return {}

    async def _discover(
        self, ctx: ServerRequestContext[Any, Any], params: types.RequestParams
    ) -> dict[str, Any]:
        del params
        exchange = exchange_of(ctx, self.service)
        capabilities = self.sdk.get_capabilities(protocol_version=ctx.protocol_version)
        instructions = self._face.instructions
        if instructions is None:
            instructions = await self.service.read(exchange, lambda: instructions_for(exchange))
        result = {
            "supportedVersions": list(MODERN_PROTOCOL_VERSIONS),
            "capabilities": dumped(capabilities),
            "instructions": instructions,
        }
        return complete(exchange.version, result, cacheable=True)

    # --- around every message ----------------------------------------------------------------

    async def _guard(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Say problems in the protocol's words, and keep the row of the audit before the answer."""
        record = self._record(ctx)
        try:
            result = await self._translated(ctx, call_next)
        except MCPError as error:
            if record is not None:
                record.fail(code_in(error))
                await self._settled(ctx, record)
            raise
        except anyio.get_cancelled_exc_class():
            if isinstance(record, OwnRecord):  # over HTTP the gate sees to it
                with anyio.CancelScope(shield=True):
                    record.fail("client.gone")
                    await record.settle()
            raise
        if record is not None:
            await self._settled(ctx, record)
        return result

    def _record(self, ctx: ServerRequestContext[Any, Any]) -> Record | None:
        if ctx.request is not None:
            return state_of(ctx.request.scope).record
        caller = self.service.local_caller
        database = self.service.database(caller)
        own = OwnRecord(database, caller, ctx.method, tool_of(ctx.method, ctx.params))
        OWN.set(own)
        return own

    async def _settled(self, ctx: ServerRequestContext[Any, Any], record: Record) -> None:
        try:
            await record.settle()
        except Problem as problem:
            raise protocol_error(problem, ctx.protocol_version, _request_id(ctx)) from None

    async def _translated(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Nothing internal leaves."""
        try:
            return await call_next(ctx)
        except MCPError as error:
            raise completed_error(error, _request_id(ctx)) from None
        except ValidationError:
            raise protocol_error(wrong_params(), ctx.protocol_version, _request_id(ctx)) from None
        except Problem as problem:
            raise protocol_error(problem, ctx.protocol_version, _request_id(ctx)) from None
        except Exception as error:  # noqa: BLE001 - the door: a defect leaves as a number only
            fault_id = log_fault("mcp.handler-failed", error)
            fault = Fault(
                "server.fault",
                "Internal error",
                hint="retry; if it happens again, report the id",
                data={"id": fault_id},
            )
            raise protocol_error(fault, ctx.protocol_version, _request_id(ctx)) from None

    async def _attend(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Begin a session's stream, and tell newcomers what this workspace holds."""
        if ctx.method in ("initialize", "notifications/initialized"):
            await self.subscriptions.begin_session(ctx)
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            exchange = exchange_of(ctx, self.service)
            text = await self.service.read(exchange, lambda: instructions_for(exchange))
            self.subscriptions.agree(ctx, result["protocolVersion"])
            return {**result, "instructions": text}
        return result

    async def _tell_of_task(
        self, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """Answer a call that a client of 2025-11-25 wants to be a task, and say it as the seeds do.

        Here and not in the handler, because the SDK knows of no such results: it refuses the one
        and strips the other.
        """
        if ctx.method != "tools/call" or is_modern(ctx.protocol_version):
            return await call_next(ctx)
        wish = (ctx.params or {}).get("task")
        if isinstance(wish, dict) and knows_tasks(ctx.protocol_version):
            params = types.CallToolRequestParams.model_validate(ctx.params, by_name=False)
            return await self.tools.call_as_task(ctx, params)
        result = await call_next(ctx)
        if isinstance(result, dict) and exchange_of(ctx, self.service).road == "bare":
            return {**result, **seed_envelope(result)}
        return result


def wrong_params() -> Incorrect:
    """Params that the protocol's schema does not allow; what is wrong is not repeated."""
    return Incorrect(
        "request.params",
        "Invalid request parameters",
        hint="look the method up in the protocol's schema of your revision",
    )


async def _ping(ctx: ServerRequestContext[Any, Any], params: types.RequestParams) -> dict[str, Any]:
    del params
    return complete(ctx.protocol_version, {})


def _request_id(ctx: ServerRequestContext[Any, Any]) -> str | None:
    return None if ctx.request is None else state_of(ctx.request.scope).request_id
