"""The endpoint `/mcp`: normalise what lenient clients send, then choose one of two roads.

Bare requests and point reads are answered from the table of methods, right here. A session (or the
beginning of one) and 2026-07-28 go through the SDK, which calls into the same table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from sandbar.database import Database
from sandbar.edge.asgi import Message, Receive, Scope, Send, Whole, send_bytes, unless_gone
from sandbar.errors import Problem
from sandbar.mcp.admission import acknowledge, admitted, is_still_let_in
from sandbar.mcp.answers import Answer
from sandbar.mcp.client import BareClient, progress_token
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
from sandbar.mcp.exchange import Exchange, Road, exchange_in, query_of, what_is_wrong_with
from sandbar.mcp.folding import Fold
from sandbar.mcp.frames import send_json
from sandbar.mcp.methods import Methods
from sandbar.mcp.point_reads import is_in_order, send_modern
from sandbar.mcp.sdk import Transports
from sandbar.mcp.service import Service
from sandbar.mcp.sse import open_stream, open_subscription
from sandbar.mcp.tools import is_point_read
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    INVALID_REQUEST,
    OLD_VERSIONS,
    PARSE_ERROR,
    RefusedError,
    failed,
)
from sandbar.serving import Serving

_VERSION = b"mcp-protocol-version"
_SESSION = b"mcp-session-id"
_STREAM = b"text/event-stream"
_LISTEN = "subscriptions/listen"  # its answer is a stream, whatever a client accepts
_METHODS = b"GET, POST, DELETE"
_RESPONSE = "response"  # what the audit calls a client's answer to a question of ours

Headers = dict[bytes, bytes]


class Endpoint:
    """An ASGI app for `/mcp` and `/mcp/sse`; whoever calls it has signed in."""

    def __init__(self, database: Database, serving: Serving) -> None:
        self._service = Service(database, serving)
        self._methods = Methods(self._service)
        self._transports = Transports(self._methods)
        self._sessions = self._service.sessions
        self._sessions.follow(self._transports)

    @property
    def service(self) -> Service:
        """What other endpoints of the same house share with this one."""
        return self._service

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the context ends; open streams are ended first."""
        async with anyio.create_task_group() as tasks, self._transports.running():
            self._methods.subscriptions.serve_in(tasks)
            try:
                yield
            finally:
                self.close_streams()
                tasks.cancel_scope.cancel()

    def close_streams(self) -> None:
        """End every open stream in good order."""
        self._service.streams.close_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = _normalised(scope)
        if scope["query_string"] and (wrong := what_is_wrong_with(query_of(scope))) is not None:
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

    # --- POST before 2026-07-28 --------------------------------------------------------------

    async def _post(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        body = await whole_body(scope, receive, send)
        if body is None:
            return
        message = await decoded(body)
        if message is UNREADABLE:
            await refuse(scope, send, PARSE_ERROR, "Parse error")
            return
        accept = headers.get(b"accept", b"")
        is_greeting = isinstance(message, dict) and message.get("method") == "initialize"
        is_in_session = _SESSION in headers or (is_greeting and _STREAM in accept)
        wrong = None if is_in_session and is_response(message) else what_is_wrong(message)
        if wrong is not None:
            await refuse(scope, send, INVALID_REQUEST, wrong)
            return
        road: Road = "session" if is_in_session else "bare"
        version = DEFAULT_VERSION
        if not is_in_session:
            version = headers.get(_VERSION, b"").decode("latin-1") or DEFAULT_VERSION
        exchange = await self._admitted(scope, send, road, version, message, body)
        if exchange is None:
            return
        must_stream = _STREAM in accept and not (is_in_session or b"application/json" in accept)
        if self._is_point_read(exchange, message) and "id" in message and not must_stream:
            # It is answered at once, says nothing before, and needs no watch for hang-ups: also in
            # a session, if that lives.
            known = self._of_session(exchange, headers) if is_in_session else exchange
            if known is not None:
                await send_json(send, await self._methods.answer(known, message))
                return
        if is_in_session:
            if is_greeting:
                body = completed(message)
            await self._in_session(exchange, scope, headers, replay(body, receive), send)
        else:
            await self._bare(exchange, message, accept, receive, send, must_stream=must_stream)

    async def _bare(
        self,
        exchange: Exchange,
        message: dict[str, Any],
        accept: bytes,
        receive: Receive,
        send: Send,
        *,
        must_stream: bool,
    ) -> None:
        method = message["method"]
        if "id" not in message:
            await acknowledge(send, exchange, message)
            return
        if method == "initialize":
            await send_json(send, await self._methods.greet(exchange, message))
            return
        if method == "resources/subscribe" and must_stream:
            await self._subscribe(exchange, message, receive, send)
            return
        answer = Answer(send, can_stream=_STREAM in accept, must_stream=must_stream)
        client = BareClient(answer.notify, progress_token(message.get("params") or {}))
        heard = msgspec.structs.replace(exchange, client=client)

        async def respond() -> None:
            await answer.finish(await self._methods.answer(heard, message))

        await unless_gone(receive, respond)

    async def _subscribe(
        self, exchange: Exchange, message: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        try:
            await open_subscription(self._methods, exchange, message, receive, send)
        except (RefusedError, Problem) as problem:
            error = problem if isinstance(problem, RefusedError) else exchange.error(problem)
            if exchange.record is not None:
                exchange.record.fail(error.word)
            await send_json(send, failed(message["id"], error))

    # --- sessions ----------------------------------------------------------------------------

    def _of_session(self, exchange: Exchange, headers: Headers) -> Exchange | None:
        """A request of a living session, which has agreed on a version."""
        session = self._sessions.use(_session_id(headers), exchange.caller)
        if session is None:
            return None
        return msgspec.structs.replace(exchange, version=session.version)

    async def _in_session(
        self, exchange: Exchange, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        is_folded = _STREAM not in headers.get(b"accept", b"")
        onward = Fold(send) if is_folded else send
        with self._sessions.serving(_session_id(headers), exchange.caller):
            await self._transports.serve(exchange, scope, receive, onward, is_folded=is_folded)

    async def _session(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """`GET` opens the session's own stream, `DELETE` ends the session."""
        exchange = await self._counted(scope, send, "session", DEFAULT_VERSION)
        if exchange is None:
            return
        session = _session_id(headers)
        whole = Whole(send)

        async def begun(message: Message) -> None:
            await whole(message)
            if message["type"] == "http.response.start" and message["status"] == 200:
                self._sessions.listen(session)

        if scope["method"] == "DELETE":
            self._sessions.leave(session, exchange.caller)  # before a read takes the short way
        await self._transports.serve(exchange, scope, receive, begun)
        await whole.finish()  # the SDK leaves a stream open when the server goes down

    # --- 2026-07-28 --------------------------------------------------------------------------

    async def _modern(self, scope: Scope, version: str, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            exchange = await self._counted(scope, send, "modern", version)
            if exchange is not None:
                await self._transports.serve(exchange, scope, receive, send)
            return
        body = await whole_body(scope, receive, send)
        if body is None:
            return
        message = await decoded(body)
        if message is UNREADABLE:
            await refuse(scope, send, PARSE_ERROR, "Parse error")
            return
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            exchange = await self._admitted(scope, send, "modern", version, message, body)
            if exchange is None:
                return
        else:  # what is no message the SDK refuses further on, without a row
            exchange = exchange_in(scope, self._service, "modern", version)
        if self._is_point_read(exchange, message) and is_in_order(scope, message):
            await send_modern(send, self._methods, exchange, message)
            return
        if _STREAM not in dict(scope["headers"]).get(b"accept", b""):
            if isinstance(message, dict) and message.get("method") == _LISTEN:
                await refuse(scope, send, INVALID_REQUEST, "A stream must be accepted", 406)
                return
            send = Fold(send)
        await self._transports.serve(exchange, scope, replay(body, receive), send)

    # --- both --------------------------------------------------------------------------------

    async def _open_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await send_bytes(send, b"", 405, [(b"allow", b"GET")])
            return
        exchange = await self._counted(scope, send, "bare", DEFAULT_VERSION)
        if exchange is not None:
            await open_stream(self._methods, exchange, receive, send)

    def _is_point_read(self, exchange: Exchange, message: Any) -> bool:
        if exchange.verb is None or not self._service.reads_inline:
            return False
        return is_point_read(exchange.verb, message["params"].get("arguments"))

    async def _counted(self, scope: Scope, send: Send, road: Road, version: str) -> Exchange | None:
        """A request without a message is a request as well."""
        if not await is_still_let_in(scope):
            return None
        exchange = exchange_in(scope, self._service, road, version)
        name = f"{scope['method']} {scope['path']}"
        return exchange if await admitted(scope, send, exchange, name) else None

    async def _admitted(
        self,
        scope: Scope,
        send: Send,
        road: Road,
        version: str,
        message: dict[str, Any],
        body: bytes,
    ) -> Exchange | None:
        if not await is_still_let_in(scope):
            return None
        exchange = exchange_in(scope, self._service, road, version, message, len(body))
        is_admitted = await admitted(scope, send, exchange, message.get("method", _RESPONSE))
        return exchange if is_admitted else None


def _normalised(scope: Scope) -> Headers:
    """The headers without stray white space; some parsers keep it."""
    scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
    return dict(reversed(scope["headers"]))  # the first of two counts, as it does for the SDK


def _session_id(headers: Headers) -> str:
    return headers.get(_SESSION, b"").decode("latin-1")
