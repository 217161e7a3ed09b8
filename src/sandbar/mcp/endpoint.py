"""The endpoint `/mcp`: normalise what lenient clients send, then choose the road.

A 2026-07-28 header leads to the SDK's modern path; `initialize` from a client that can hold a
stream, or a session id, to its sessions; any other request is bare.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from sandbar.access import Caller
from sandbar.database import Database
from sandbar.edge import state_of
from sandbar.edge.asgi import Message, Receive, Scope, Send, Whole, send_bytes, unless_gone
from sandbar.errors import Problem
from sandbar.mcp import bare
from sandbar.mcp.answers import Answer, say_nothing
from sandbar.mcp.envelopes import (
    UNREADABLE,
    completed,
    decoded,
    is_response,
    refuse,
    replay,
    what_is_wrong,
    whole_body,
)
from sandbar.mcp.exchange import (
    FOLDED,
    ROAD,
    Exchange,
    Listing,
    Road,
    exchange_in,
    query_of,
    what_is_wrong_with,
)
from sandbar.mcp.folding import Fold
from sandbar.mcp.frames import send_json
from sandbar.mcp.recording import admitted, ignore
from sandbar.mcp.server import McpServer
from sandbar.mcp.service import Service
from sandbar.mcp.sessions import IDLE_S, Transports
from sandbar.mcp.sse import open_stream, open_subscription
from sandbar.mcp.tools import is_point_read
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    INVALID_REQUEST,
    OLD_VERSIONS,
    PARSE_ERROR,
    code_in,
    failed,
    protocol_error,
)

_VERSION = b"mcp-protocol-version"
_SESSION = b"mcp-session-id"
_STREAM = b"text/event-stream"
_LISTEN = "subscriptions/listen"  # its answer is a stream, whatever a client accepts
_BOTH = b"application/json, text/event-stream"
_METHODS = b"GET, POST, DELETE"
_RESPONSE = "response"  # what the audit calls a client's answer to a question of ours

Headers = dict[bytes, bytes]


class Endpoint:
    """An ASGI app for `/mcp` and `/mcp/sse`; whoever calls it has signed in."""

    def __init__(self, database: Database, listing: Listing = "default") -> None:
        self._server = McpServer(Service(database, listing))
        # The gate has limited the body already, for all roads alike.
        self._manager = StreamableHTTPSessionManager(
            self._server.sdk, max_request_body_size=sys.maxsize, session_idle_timeout=IDLE_S
        )
        self._sessions = self._server.service.sessions
        self._sessions.follow(Transports.of(self._manager))
        # Point reads are answered at once and say nothing before: without the SDK's watch for
        # hang-ups, which costs more than the read itself.
        self._quick_manager = StreamableHTTPSessionManager(
            self._server.sdk, json_response=True, max_request_body_size=sys.maxsize
        )

    @property
    def service(self) -> Service:
        """What other endpoints of the same house share with this one."""
        return self._server.service

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the context ends; open streams are ended first."""
        async with (
            anyio.create_task_group() as tasks,
            self._manager.run(),
            self._quick_manager.run(),
        ):
            self._server.subscriptions.serve_in(tasks)
            try:
                yield
            finally:
                self.close_streams()
                tasks.cancel_scope.cancel()

    def close_streams(self) -> None:
        """End every open stream in good order."""
        self._server.service.streams.close_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = _normalised(scope)
        if (wrong := what_is_wrong_with(query_of(scope))) is not None:
            await refuse(scope, send, INVALID_REQUEST, wrong)
            return
        version = headers.get(_VERSION, b"").decode("latin-1")
        if scope["path"].rstrip("/").endswith("/sse"):
            await self._open_stream(scope, receive, send)
        elif version and version not in OLD_VERSIONS:
            await self._modern(scope, version, receive, send)
        elif scope["method"] == "POST":
            await self._post(scope, headers, receive, send)
        elif scope["method"] in ("GET", "DELETE"):
            await self._session(scope, headers, receive, send)
        else:
            await send_bytes(send, b"", 405, [(b"allow", _METHODS)])

    # --- roads -------------------------------------------------------------------------------

    async def _modern(self, scope: Scope, version: str, receive: Receive, send: Send) -> None:
        manager = self._manager
        if scope["method"] != "POST":
            if not await self._counted(scope, send, version):
                return
        else:
            body = await whole_body(scope, receive, send)
            if body is None:
                return
            message = await decoded(body)
            if message is UNREADABLE:
                await refuse(scope, send, PARSE_ERROR, "Parse error")
                return
            if not await self._admitted(scope, send, message, version):
                return
            receive = replay(body, receive)
            if self._is_point_read(message):
                manager = self._quick_manager
            elif _STREAM not in dict(scope["headers"]).get(b"accept", b""):
                if isinstance(message, dict) and message.get("method") == _LISTEN:
                    await refuse(scope, send, INVALID_REQUEST, "A stream must be accepted", 406)
                    return
                send = Fold(send)
        await self._hand_over(scope, "modern", receive, send, accept=_BOTH, manager=manager)

    async def _session(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        session, caller = _session_id(headers), _caller(scope)
        if not await self._counted(scope, send, DEFAULT_VERSION):
            return
        whole = Whole(send)

        async def begun(message: Message) -> None:
            await whole(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                self._sessions.listen(session)

        if scope["method"] == "DELETE":
            self._sessions.leave(session, caller)  # before a read can take the short way again
        await self._hand_over(scope, "session", receive, begun)
        await whole.finish()  # the SDK leaves a stream open when the server goes down

    async def _post(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        body = await whole_body(scope, receive, send)
        if body is None:
            return
        message = await decoded(body)
        if message is UNREADABLE:
            await refuse(scope, send, PARSE_ERROR, "Parse error")
            return
        accept = headers.get(b"accept", b"")
        can_stream = _STREAM in accept
        is_greeting = isinstance(message, dict) and message.get("method") == "initialize"
        if _SESSION in headers or (is_greeting and can_stream):
            wrong = None if is_response(message) else what_is_wrong(message)
            if wrong is not None:
                await refuse(scope, send, INVALID_REQUEST, wrong)
                return
            if not await admitted(
                scope, send, message.get("method", _RESPONSE), message, DEFAULT_VERSION
            ):
                return
            if await self._read_in_session(scope, headers, message, send):
                return
            onward = send if can_stream else Fold(send)
            scope = {**scope, FOLDED: not can_stream}
            receive = replay(completed(message) if is_greeting else body, receive)
            with self._sessions.serving(_session_id(headers), _caller(scope)):
                await self._hand_over(scope, "session", receive, onward, accept=_BOTH)
        else:
            await self._bare(scope, message, accept, receive, send)

    async def _read_in_session(
        self, scope: Scope, headers: Headers, message: dict[str, Any], send: Send
    ) -> bool:
        """Answer a point read of a living session as if it were bare: nothing else is needed."""
        if "id" not in message or not self._is_point_read(message):
            return False
        session = self._sessions.use(_session_id(headers), _caller(scope))
        if session is None:
            return False
        scope = {**scope, ROAD: "session"}
        request = Request(scope)
        await send_json(
            send, await bare.answer(self._server, request, message, session.version, say_nothing)
        )
        return True

    async def _hand_over(
        self,
        scope: Scope,
        road: Road,
        receive: Receive,
        send: Send,
        *,
        accept: bytes | None = None,
        manager: StreamableHTTPSessionManager | None = None,
    ) -> None:
        """Let the SDK's transports serve a request in its caller's name."""
        headers = list(scope["headers"])
        if accept is not None:
            headers = [(n, v) for n, v in headers if n not in (b"accept", b"content-type")]
            headers += [(b"accept", accept), (b"content-type", b"application/json")]
        onward = {**scope, ROAD: road, "headers": headers, "user": _user(_caller(scope))}
        await (manager or self._manager).handle_request(onward, receive, send)

    def _is_point_read(self, message: Any) -> bool:
        if not self._server.service.reads_inline or not isinstance(message, dict):
            return False
        params = message.get("params")
        if message.get("method") != "tools/call" or not isinstance(params, dict):
            return False
        return is_point_read(params.get("name"), params.get("arguments"))

    async def _open_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await send_bytes(send, b"", 405, [(b"allow", b"GET")])
            return
        if not await self._counted(scope, send, DEFAULT_VERSION):
            return
        await open_stream(self._server, self._exchange(scope, DEFAULT_VERSION), receive, send)

    async def _counted(self, scope: Scope, send: Send, version: str) -> bool:
        """A request without a message is a request as well."""
        return await admitted(scope, send, f"{scope['method']} {scope['path']}", None, version)

    async def _admitted(self, scope: Scope, send: Send, message: Any, version: str) -> bool:
        """Whether to go on; what is no message is refused further on, without a row."""
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return True
        return await admitted(scope, send, message["method"], message, version)

    # --- bare requests -----------------------------------------------------------------------

    async def _bare(
        self, scope: Scope, message: Any, accept: bytes, receive: Receive, send: Send
    ) -> None:
        wrong = what_is_wrong(message)
        if wrong is not None:
            await refuse(scope, send, INVALID_REQUEST, wrong)
            return
        headers: Headers = dict(scope["headers"])
        version = headers.get(_VERSION, b"").decode("latin-1") or DEFAULT_VERSION
        if not await admitted(scope, send, message["method"], message, version):
            return
        if "id" not in message:
            ignore(scope, message["method"])
            await send_bytes(send, b"", 202, [])
            return
        scope = {**scope, ROAD: "bare"}
        exchange = self._exchange(scope, version)
        if message["method"] == "initialize":
            await send_json(send, await bare.greet(self._server, exchange, message))
            return
        streams = _STREAM in accept and b"application/json" not in accept
        if message["method"] == "resources/subscribe" and streams:
            await self._subscribe(exchange, message, receive, send)
            return
        answer = Answer(send, can_stream=_STREAM in accept, must_stream=streams)
        await self._answer(scope, message, version, receive, answer)

    async def _subscribe(
        self, exchange: Exchange, message: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        try:
            await open_subscription(self._server, exchange, message, receive, send)
        except (MCPError, Problem) as problem:
            error = (
                problem
                if isinstance(problem, MCPError)
                else protocol_error(problem, exchange.version, exchange.request_id)
            )
            if exchange.record is not None:
                exchange.record.fail(code_in(error))
            await send_json(send, failed(message["id"], error))

    async def _answer(
        self,
        scope: Scope,
        message: dict[str, Any],
        version: str,
        receive: Receive,
        answer: Answer,
    ) -> None:

        async def respond() -> None:
            request = Request(scope)
            response = await bare.answer(self._server, request, message, version, answer.notify)
            await answer.finish(response)

        await unless_gone(receive, respond)

    def _exchange(self, scope: Scope, version: str) -> Exchange:
        return exchange_in(scope, self._server.service, version)


def _normalised(scope: Scope) -> Headers:
    """The headers without stray white space; some parsers keep it."""
    scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
    return dict(reversed(scope["headers"]))  # the first of two counts, as it does for the SDK


def _caller(scope: Scope) -> Caller:
    caller = state_of(scope).caller
    assert caller is not None, "whoever calls this has signed in"
    return caller


def _session_id(headers: Headers) -> str:
    return headers.get(_SESSION, b"").decode("latin-1")


def _user(caller: Caller) -> AuthenticatedUser:
    """The caller in the SDK's terms: a session belongs to who has opened it."""
    who = f"{caller.workspace}/{caller.principal}/{caller.account_id}"
    return AuthenticatedUser(AccessToken(token="", client_id=who, scopes=[]))
