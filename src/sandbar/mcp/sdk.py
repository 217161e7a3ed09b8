"""The official SDK, for what it carries: sessions, 2026-07-28, and standard input and output.

It parses, keeps sessions and streams, and calls into our table of methods. Its private members are
used here and nowhere else; `tests/mcp/test_sdk.py` names each, and fails when the SDK changes it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import anyio
import mcp_types as types
import msgspec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection as SdkOwnConnection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.streamable_http import GET_STREAM_KEY, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

from sandbar.access import Caller
from sandbar.edge.asgi import Receive, Scope, Send
from sandbar.errors import Unavailable
from sandbar.mcp.client import Client, Connection, Params
from sandbar.mcp.exchange import Exchange, called_in
from sandbar.mcp.methods import Methods, recorded, settled, task_wish, translated
from sandbar.mcp.recording import OwnRecord
from sandbar.mcp.sessions import IDLE_S
from sandbar.mcp.table import Method, Result
from sandbar.mcp.wire import DEFAULT_VERSION, HEADER_MISMATCH, RefusedError, dumped, is_modern

ANSWER_S = 120.0  # how long a person may think; a thread waits meanwhile

_HANDED = "sandbar.mcp"  # in a scope: what the endpoint knows of a request that it hands over
_CONNECTION = "sandbar"  # in the state of the SDK's connection: ours
_BOTH = [
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
]
_QUESTIONS: dict[str, tuple[type[Any], type[Any]]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}

Ctx = ServerRequestContext[Any, Any]

_own_record: ContextVar[OwnRecord | None] = ContextVar("sandbar-own-record", default=None)


class _Handed(NamedTuple):
    exchange: Exchange
    is_folded: bool  # an answer that is folded into one JSON object has no room for questions


class _Server(Server[Any]):
    """The SDK's server, which says of itself what our methods can do."""

    def __init__(self, methods: Methods) -> None:
        super().__init__(methods.face.name, title=methods.face.title, version=methods.face.version)
        self._methods = methods

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """Stamped on every 2026-07-28 result; the SDK would copy it deeply each time."""
        return dict(self._methods.info)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        """What we can do; the SDK's own transports never say that lists change."""
        shown = self._methods.capabilities(protocol_version or DEFAULT_VERSION)
        return types.ServerCapabilities.model_validate(shown, by_name=False)


class Adapter:
    """Our methods behind the SDK's transports."""

    def __init__(self, methods: Methods) -> None:
        self._methods = methods
        self._service = methods.service
        self.server = _Server(methods)
        for name, method in methods.table.items():
            self.server.add_request_handler(name, method.params, self._handler(name, method))
        # Otherwise every call with arguments lists all tools, to look for parameters in headers.
        self.server.get_tool_input_schema = methods.tools.schema_with_headers
        keys = RequestStateSecurity(
            keys=[self._service.shared_key()], bind_principal=self._principal
        )
        self.server.middleware[:] = [
            self._guard,
            RequestStateBoundary(keys, default_audience=methods.face.name),
            self._attend,
            self._as_task,
        ]

    def _handler(
        self, name: str, method: Method
    ) -> Callable[[Ctx, types.RequestParams], Awaitable[Result]]:
        async def handle(ctx: Ctx, params: types.RequestParams) -> Result:
            del params  # it was checked against them; ours are as they came
            exchange = self._exchange(ctx)
            if name.startswith("tasks/") and is_modern(exchange.version):
                _check_name(ctx)
            return _decoded(await method.run(exchange, dict(ctx.params or {})))

        return handle

    def _exchange(self, ctx: Ctx) -> Exchange:
        """A request as our methods see it."""
        version, id = ctx.protocol_version, ctx.request_id
        if ctx.request is not None:
            handed: _Handed = ctx.request.scope[_HANDED]
            client = _SdkClient(ctx, is_folded=handed.is_folded)
            return msgspec.structs.replace(handed.exchange, version=version, client=client, id=id)
        service = self._service
        caller = service.local_caller
        database = service.database(caller)
        called, verb = called_in(database, ctx.method, ctx.params)
        return Exchange(
            caller,
            database,
            "stdio",
            version,
            "portable",
            service.listing,
            _SdkClient(ctx, is_folded=False),
            record=_own_record.get(),
            id=id,
            called=called,
            verb=verb,
        )

    def _principal(self, ctx: Ctx) -> str:
        """Whoever was asked must be who answers."""
        return _who(self._exchange(ctx).caller)

    # --- around every message ----------------------------------------------------------------

    async def _guard(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Say problems in the protocol's words, and keep the row of the audit before the answer."""
        own = self._record(ctx) if ctx.request is None else None
        exchange = self._exchange(ctx)
        try:
            result = await translated(exchange, _ours(call_next(ctx)))
            if exchange.record is not None:
                await settled(exchange)
        except RefusedError as error:
            told = await recorded(exchange, error)
            raise MCPError(told.code, told.message, told.data) from None
        except anyio.get_cancelled_exc_class():
            if own is not None:  # over HTTP the edge sees to it
                with anyio.CancelScope(shield=True):
                    own.fail("client.gone")
                    await own.settle()
            raise
        return result

    def _record(self, ctx: Ctx) -> OwnRecord:
        caller = self._service.local_caller
        database = self._service.database(caller)
        called, _ = called_in(database, ctx.method, ctx.params)
        own = OwnRecord(database, caller, ctx.method, called)
        _own_record.set(own)
        return own

    async def _attend(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Begin a session's stream, and tell newcomers what this workspace holds."""
        if ctx.method not in ("initialize", "notifications/initialized"):
            return await call_next(ctx)
        exchange, subscriptions = self._exchange(ctx), self._methods.subscriptions
        await subscriptions.begin_session(exchange)
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            text = await self._methods.instructions(exchange)
            subscriptions.agree(exchange.client.connection, result["protocolVersion"])
            return {**result, "instructions": text}
        return result

    async def _as_task(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Answer a call that a client of 2025-11-25 wants to be a task.

        Here and not in the table, because the SDK knows of no such results and refuses them.
        """
        if ctx.method == "tools/call":
            wish = task_wish(ctx.protocol_version, dict(ctx.params or {}))
            if wish is not None:
                return await self._methods.tools.call_as_task(self._exchange(ctx), wish)
        return await call_next(ctx)


class Transports:
    """The SDK's HTTP transports: sessions, and requests of 2026-07-28."""

    def __init__(self, methods: Methods) -> None:
        self.adapter = Adapter(methods)
        # The edge has limited the body already, for all roads alike.
        self._manager = StreamableHTTPSessionManager(
            self.adapter.server, max_request_body_size=sys.maxsize, session_idle_timeout=IDLE_S
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the context ends."""
        async with self._manager.run():
            yield

    async def serve(
        self,
        exchange: Exchange,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        is_folded: bool = False,
    ) -> None:
        """Serve a request in its caller's name."""
        headers = list(scope["headers"])
        if scope["method"] == "POST":
            headers = [(n, v) for n, v in headers if n not in (b"accept", b"content-type")] + _BOTH
        onward = {
            **scope,
            "headers": headers,
            # The SDK's terms: a session belongs to who has opened it.
            "user": AuthenticatedUser(
                AccessToken(token="", client_id=_who(exchange.caller), scopes=[])
            ),
            _HANDED: _Handed(exchange, is_folded),
        }
        await self._manager.handle_request(onward, receive, send)

    # --- what the SDK's sessions know, and give no public name -----------------------------------

    def is_listening(self, id: str) -> bool:
        """Whether the session's own stream is open, so that what is sent now arrives."""
        transport = self._of(id)
        return transport is not None and GET_STREAM_KEY in transport._request_streams

    def keep(self, id: str, idle_s: float) -> None:
        """Let a session be idle for so long from the end of its present request on."""
        transport = self._of(id)
        if transport is not None:
            transport._idle_timeout = idle_s

    async def end(self, id: str) -> None:
        """End a session: its stream ends, and whoever comes with its id finds nothing."""
        transport = self._of(id)
        if transport is not None and not transport.is_terminated:
            await transport.terminate()

    def _of(self, id: str) -> StreamableHTTPServerTransport | None:
        return self._manager._server_instances.get(id)


class _SdkConnection(Connection):
    """A connection of the SDK's: a session, a client behind standard input, or one request."""

    def __init__(self, inner: SdkOwnConnection) -> None:
        super().__init__()
        self._inner = inner
        self.id = inner.session_id
        self.is_lasting = inner.has_standalone_channel

    @property
    def version(self) -> str:
        """The revision that client and server have agreed upon."""
        return self._inner.protocol_version

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the client has declared."""
        declared = self._inner.client_capabilities
        return {} if declared is None else dumped(declared)

    async def until_initialized(self) -> None:
        """Wait until the client may be told things."""
        await self._inner.initialized.wait()

    async def notify(self, method: str, params: Params | None) -> None:
        """Tell it something on its own stream."""
        await self._inner.notify(method, params)

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask it something on its own stream, and wait for the answer."""
        request_type, _ = _QUESTIONS[method]
        request = request_type.model_validate({"method": method, "params": params})
        return await _answered(lambda: self._inner.send_request(request))

    def on_close(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call back when it is over."""
        self._inner.exit_stack.callback(callback, *arguments)


class _SdkClient(Client):
    """The client of a request that came by the SDK."""

    def __init__(self, ctx: Ctx, *, is_folded: bool) -> None:
        inner = ctx.session._connection  # the SDK gives its life and its state no public name
        ours = inner.state.get(_CONNECTION)
        if ours is None:
            ours = inner.state[_CONNECTION] = _SdkConnection(inner)
        super().__init__(ours)
        self._ctx = ctx
        self.can_ask = ctx.session.can_send_request and not is_folded

    async def notify(self, method: str, params: Params | None) -> None:
        """Tell it something on the stream of this request."""
        told = _Notification(method=method, params=params)
        await self._ctx.session.send_notification(told, related_request_id=self._ctx.request_id)  # type: ignore[arg-type]

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell it how far the work has come, if it gave a token for that."""
        await self._ctx.session.report_progress(done, total, message)

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """Ask it something on the stream of this request, and wait for the answer."""
        request_type, result_type = _QUESTIONS[method]
        request = request_type.model_validate({"method": method, "params": params})
        about = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        return await _answered(
            lambda: self._ctx.session.send_request(request, result_type, metadata=about)
        )

    async def close_stream(self) -> None:
        """End the stream of this request early: it polls for the rest."""
        if self._ctx.close_sse_stream is not None:
            await self._ctx.close_sse_stream()


class _Notification(types.Notification[dict[str, Any] | None, str]):
    """Any notification: the SDK has no type for some of ours."""


async def _answered(ask: Callable[[], Awaitable[BaseModel]]) -> dict[str, Any]:
    try:
        with anyio.fail_after(ANSWER_S):
            return dumped(await ask())
    except (MCPError, TimeoutError, ValidationError) as error:
        raise Unavailable(
            "client.refused",
            "the client did not answer a question of this tool",
            hint="answer it, or call the tool with all that it needs",
        ) from error


async def _ours(result: Awaitable[HandlerResult]) -> HandlerResult:
    """The SDK's own refusals, as ours."""
    try:
        return await result
    except MCPError as error:
        said = error.error
        raise RefusedError(said.code, said.message, said.data) from None


def _decoded(result: Result) -> Result:
    """A result that the SDK can check: it does not take what is encoded already."""
    structured = result.get("structuredContent")
    if type(structured) is msgspec.Raw:
        return {**result, "structuredContent": msgspec.json.decode(structured)}
    return result


def _check_name(ctx: Ctx) -> None:
    """The header that repeats the task's id must be right; some clients leave it out."""
    header = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
    if header is not None and decode_header_value(header) != (ctx.params or {}).get("taskId"):
        raise RefusedError(
            HEADER_MISMATCH,
            "Mcp-Name does not match params.taskId",
            {"code": "request.header-mismatch", "hint": "send the same in both, or no header"},
        )


def _who(caller: Caller) -> str:
    return f"{caller.workspace}/{caller.principal}/{caller.account_id}"
