"""Point reads of 2026-07-28, answered without the SDK, in the same bytes.

Whatever is unusual about such a request is left to the SDK, which says what is wrong with it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types import methods as protocol
from pydantic import ValidationError

from sandbar.edge.asgi import Scope, Send
from sandbar.mcp.envelopes import what_is_wrong
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.methods import Methods
from sandbar.mcp.wire import json_encode

_PLAIN = frozenset({"name", "arguments", "_meta"})
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


def is_in_order(scope: Scope, message: dict[str, Any]) -> bool:
    """Whether nothing about a tool call asks for more than its answer, or is wrong."""
    if "id" not in message or what_is_wrong(message) is not None:
        return False
    params = message["params"]
    if not params.keys() <= _PLAIN:
        return False
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    if find_duplicated_routing_header(headers) is not None:
        return False
    route = classify_inbound_request(message, headers=dict(headers))
    if not isinstance(route, InboundModernRoute):
        return False
    try:
        protocol.validate_client_request("tools/call", route.protocol_version, params)
    except (KeyError, ValidationError):
        return False
    return True


async def send_modern(
    send: Send, methods: Methods, exchange: Exchange, message: dict[str, Any]
) -> None:
    """Answer a tool call that is in order."""
    given = message["params"]
    params = {"name": given["name"], "arguments": given["arguments"]}
    answer = await methods.answer(exchange, {**message, "params": params})
    status, result = 200, answer.get("result")
    if result is None:
        status = ERROR_CODE_HTTP_STATUS.get(answer["error"]["code"], status)
    else:
        result["_meta"] = {_SERVER_INFO: methods.info}
    body = json_encode(answer)
    if not body.isascii():  # the SDK escapes what is not
        body = json.dumps(msgspec.json.decode(body), separators=(",", ":")).encode()
    length = (b"content-length", str(len(body)).encode())
    headers = [length, (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
