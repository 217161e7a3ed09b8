"""Bare requests: one POST, one JSON answer, no handshake and no session.

This is what the seeds' commands and scripts send. The SDK's handlers serve them, without its
transports: a throw-away connection for each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError
from starlette.requests import Request

from sandbar.mcp.exchange import Exchange
from sandbar.mcp.instructions import instructions_for
from sandbar.mcp.server import McpServer, wrong_params
from sandbar.mcp.wire import (
    DEFAULT_VERSION,
    OLD_VERSIONS,
    code_in,
    dumped,
    failed,
    protocol_error,
)

Notify = Callable[[dict[str, Any]], Awaitable[None]]


class _Channel:
    """The SDK's view of one bare request: it may be told things, and cannot be asked."""

    def __init__(self, request: Request, id: int | str, token: Any, notify: Notify) -> None:
        self.transport = TransportContext(kind="streamable-http", can_send_request=False)
        self.request_id = id
        self.message_metadata = ServerMessageMetadata(request_context=request)
        self.can_send_request = False
        self.cancel_requested = anyio.Event()
        self._token = token
        self._notify = notify

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Refused: the client's answer would have nowhere to go."""
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Say something before the answer."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        await self._notify(message)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell how far the work has come, if there is a token for it."""
        if self._token is not None:
            told = {"progressToken": self._token, "progress": progress}
            told |= {} if total is None else {"total": total}
            told |= {} if message is None else {"message": message}
            await self.notify("notifications/progress", told)


async def answer(
    server: McpServer, request: Request, message: dict[str, Any], version: str, notify: Notify
) -> dict[str, Any]:
    """The response to one request, whatever it is."""
    id, method, params = message["id"], message["method"], message.get("params")
    if method == "notifications/initialized":
        return {"jsonrpc": "2.0", "id": id, "result": {}}  # some clients number these, too
    meta = (params or {}).get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    channel = _Channel(request, id, token, notify)
    connection = Connection.from_envelope(version, None, None)
    try:
        result = await serve_one(
            server.sdk, channel, method, params, connection=connection, lifespan_state=None
        )
    except MCPError as error:
        return failed(id, error)
    return {"jsonrpc": "2.0", "id": id, "result": result}


async def greet(server: McpServer, exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
    """`initialize` from a client that cannot hold a session: the answer, and nothing else."""
    params = {"capabilities": {}, **(message.get("params") or {})}
    try:
        wish = types.InitializeRequestParams.model_validate(params, by_name=False).protocol_version
    except ValidationError:
        error = protocol_error(wrong_params(), exchange.version, exchange.request_id)
        if exchange.record is not None:
            exchange.record.fail(code_in(error))
        return failed(message["id"], error)
    options = server.sdk.create_initialization_options()
    result = {
        "protocolVersion": wish if wish in OLD_VERSIONS else DEFAULT_VERSION,
        "capabilities": dumped(options.capabilities),
        "serverInfo": dumped(server.sdk.server_info),
        "instructions": await server.service.read(exchange, lambda: instructions_for(exchange)),
    }
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}
