"""An endpoint of a pack: a few tools and nothing else; one POST, one JSON answer, no session.

Before 2026-07-28 its errors are those of Sandwich MCP, the first of its kind:

    200  -32601   there is no such method or tool
    200  -32002   the tool refused or failed: read error.message
    200  isError  the arguments are wrong, which a model can mend
    400  -32700   the body is no JSON
    405           anything but POST

Who may come in, and how often, is the edge's. A request of 2026-07-28 takes the SDK's road, with
the errors that it has everywhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sandbar.edge.asgi import Receive, Scope, Send, send_bytes, unless_gone
from sandbar.errors import NotFound, Problem
from sandbar.mcp.admission import acknowledge, admitted, is_still_let_in
from sandbar.mcp.envelopes import (
    UNREADABLE,
    decoded,
    refuse,
    replay,
    what_is_wrong,
    whole_body,
)
from sandbar.mcp.exchange import Exchange, exchange_in
from sandbar.mcp.folding import Fold
from sandbar.mcp.frames import send_json
from sandbar.mcp.methods import Face, Methods, wrong_params
from sandbar.mcp.sdk import Transports
from sandbar.mcp.service import Service
from sandbar.mcp.table import Result
from sandbar.mcp.tools import SAID_SO, failure, shown
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    OLD_VERSIONS,
    PARSE_ERROR,
    RefusedError,
    failed,
)
from sandbar.packs import PackEndpoint
from sandbar.verbs import Content

TOOL_FAILED = -32002

_VERSION = b"mcp-protocol-version"


class PlainEndpoint:
    """An ASGI app for one endpoint of a pack; whoever calls it has signed in."""

    def __init__(self, service: Service, pack: str, endpoint: PackEndpoint) -> None:
        self._service = service
        self._pack = pack
        self._endpoint = endpoint
        self._methods = Methods(
            service,
            Face(
                endpoint.name,
                endpoint.title,
                endpoint.version,
                frozenset(endpoint.tools),
                endpoint.instructions,
            ),
        )
        self._transports = Transports(self._methods)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the context ends."""
        async with self._transports.running():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["method"] != "POST":
            await send_bytes(send, b"", 405, [(b"allow", b"POST")])
            return
        body = await whole_body(scope, receive, send)
        if body is None:
            return
        message = await decoded(body)
        if message is UNREADABLE:
            await refuse(scope, send, PARSE_ERROR, "Parse error")
            return
        headers = [(name, value.strip()) for name, value in scope["headers"]]
        version = dict(reversed(headers)).get(_VERSION, b"").decode("latin-1")
        is_modern = bool(version) and version not in OLD_VERSIONS
        wrong = what_is_wrong(message)
        if wrong is not None and not is_modern:
            await refuse(scope, send, INVALID_REQUEST, wrong)
            return
        if not await is_still_let_in(scope):
            return
        # /mcp is asked for other lists in the URL, this one has one.
        scope = {**scope, "headers": headers, "query_string": b""}
        exchange = exchange_in(
            scope,
            self._service,
            "modern" if is_modern else "bare",
            version or DEFAULT_VERSION,
            message if wrong is None else None,
            len(body),
        )
        # What is no message the SDK refuses further on, without a row.
        if wrong is None and not await admitted(scope, send, exchange, message["method"]):
            return
        if is_modern:  # its stream is folded, since nothing is open for long here
            await self._transports.serve(exchange, scope, replay(body, receive), Fold(send))
        elif "id" not in message:
            await acknowledge(send, exchange, message)
        else:
            await self._answer(exchange, message, receive, send)

    async def _answer(
        self, exchange: Exchange, message: dict[str, Any], receive: Receive, send: Send
    ) -> None:

        async def respond() -> None:
            await send_json(send, await self._response(exchange, message))

        await unless_gone(receive, respond)

    async def _response(self, exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
        method, params = message["method"], message.get("params") or {}
        try:
            if method in ("ping", "notifications/initialized"):  # some clients number these, too
                result: dict[str, Any] = {}
            elif method == "initialize":
                result = self._greeting(params)
            elif method == "tools/list":
                result = await self._list(exchange, params)
            elif method == "tools/call":
                result = await self._call(exchange, params)
            else:
                raise exchange.error(_no_method(method), code=METHOD_NOT_FOUND)
        except RefusedError as error:
            return _refused(exchange, message, error)
        except Problem as problem:
            return _refused(exchange, message, exchange.error(problem, code=TOOL_FAILED))
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    # --- methods -----------------------------------------------------------------------------

    def _greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        wish, endpoint = params.get("protocolVersion"), self._endpoint
        known = isinstance(wish, str) and wish in OLD_VERSIONS
        greeting = {
            "protocolVersion": wish if known else DEFAULT_VERSION,
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": self._methods.info,
        }
        return greeting | ({"instructions": endpoint.instructions} if endpoint.instructions else {})

    async def _list(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:  # there is one page, so nobody was given a cursor
            raise exchange.error(wrong_params(), code=INVALID_PARAMS)
        tools = await self._service.read(exchange, lambda: self._methods.tools.listed(exchange))
        return {"tools": [{key: tool[key] for key in tool if key != "execution"} for tool in tools]}

    async def _call(self, exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise exchange.error(wrong_params(), code=INVALID_PARAMS)
        if name not in self._endpoint.tools:
            raise exchange.error(self._no_tool(name), code=METHOD_NOT_FOUND)
        try:
            call = exchange.call(name, arguments or {})
            result = await self._service.perform(exchange, call)
        except Problem as problem:
            if problem.code == "arguments.invalid":
                _fail(exchange, problem.code)
                return failure(problem)
            if problem.code == "verb.unknown":
                raise exchange.error(self._no_tool(name), code=METHOD_NOT_FOUND) from None
            raise exchange.error(problem, code=TOOL_FAILED) from None
        if isinstance(result, Content) and result.is_error:
            _fail(exchange, SAID_SO)
        return shown(result, modern=False)

    def _no_tool(self, name: str) -> NotFound:
        if name in self._endpoint.tools:
            hint = f"this workspace has no pack {self._pack}: `sandbar pack add {self._pack}`"
        else:
            hint = f"the tools are {', '.join(self._endpoint.tools)}"
        return NotFound("verb.unknown", f"Unknown tool: {name[:100]}", hint=hint)


def _no_method(method: str) -> NotFound:
    return NotFound(
        "method.unknown",
        "Method not found",
        hint="initialize, ping, tools/list and tools/call are served here",
        data={"method": method[:100]},
    )


def _refused(exchange: Exchange, message: Result, error: RefusedError) -> Result:
    _fail(exchange, error.word)
    return failed(message["id"], error)


def _fail(exchange: Exchange, code: str) -> None:
    """Tell the audit how it ended."""
    if exchange.record is not None:
        exchange.record.fail(code)
