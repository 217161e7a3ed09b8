"""What arrives at the endpoint: bodies, and whether they hold a message of JSON-RPC 2.0."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import msgspec

from sandbar.edge import state_of
from sandbar.edge.asgi import Message, Receive, Scope, Send
from sandbar.mcp.frames import send_json
from sandbar.mcp.wire import INVALID_REQUEST, PARSE_ERROR, json_encode

UNREADABLE = object()
_LARGE_BYTES = 256 * 1024

_REFUSALS = {
    PARSE_ERROR: ("request.unreadable", "send one JSON object in UTF-8"),
    INVALID_REQUEST: ("request.malformed", "send one JSON-RPC 2.0 message per request"),
}

BODY_S = 30.0  # how long a request may take to arrive


async def decoded(body: bytes) -> Any:
    """The JSON of a body, or UNREADABLE; a large one does not keep the event loop waiting."""
    if len(body) > _LARGE_BYTES:
        return await anyio.to_thread.run_sync(_decode, body)
    return _decode(body)


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return UNREADABLE


def what_is_wrong(message: Any) -> str | None:
    """Why this is no request or notification of JSON-RPC 2.0."""
    if isinstance(message, list):
        return "Batches are not served: send one message at a time"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "Not a JSON-RPC 2.0 message"
    if not isinstance(message.get("method"), str):
        return "The method is missing"
    if "id" in message and type(message["id"]) not in (int, str):
        return "An id is a string or an integer"
    if not isinstance(message.get("params"), dict | None):
        return "Params are an object"
    return None


def completed(greeting: dict[str, Any]) -> bytes:
    """An `initialize` with the member that some clients leave out."""
    params = greeting.get("params")
    if isinstance(params, dict):
        greeting = {**greeting, "params": {"capabilities": {}, **params}}
    return json_encode(greeting)


def is_response(message: Any) -> bool:
    """Whether this answers something that a session has asked its client."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or "method" in message:
        return False
    error = message.get("error")
    is_error = (
        isinstance(error, dict)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    )
    is_answer = isinstance(message.get("result"), dict) or is_error
    return is_answer and type(message.get("id")) in (int, str)


async def whole_body(scope: Scope, receive: Receive, send: Send) -> bytes | None:
    """The whole body (the edge limits it); None if the client hung up or is too slow."""
    parts: list[bytes] = []
    with anyio.move_on_after(BODY_S):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(parts)
    # The rest of it may still come, so nothing else can come over this connection.
    late = (b"connection", b"close")
    await refuse(scope, send, INVALID_REQUEST, "The body did not come in time", 408, late)
    return None


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once more, then what comes after it."""
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if not is_given:
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


async def refuse(
    scope: Scope,
    send: Send,
    code: int,
    message: str,
    status: int = 400,
    *headers: tuple[bytes, bytes],
) -> None:
    """A message that cannot be served: nobody knows its id."""
    word, hint = _REFUSALS[code]
    data = {"code": word, "hint": hint, "request-id": state_of(scope).request_id}
    error = {"code": code, "message": message, "data": data}
    await send_json(send, {"jsonrpc": "2.0", "id": None, "error": error}, status, *headers)
