"""Events and JSON answers as bytes."""

from __future__ import annotations

from typing import Any

from sandbar.edge.asgi import Send, send_bytes
from sandbar.mcp.wire import json_encode

KEEP_ALIVE = b": keep-alive\n\n"

_JSON_HEADERS = [(b"content-type", b"application/json")]


def frame(message: dict[str, Any]) -> bytes:
    """One event."""
    return b"event: message\ndata: " + json_encode(message) + b"\n\n"


async def send_json(send: Send, body: Any, status: int = 200, *more: tuple[bytes, bytes]) -> None:
    """A whole JSON answer."""
    await send_bytes(send, json_encode(body), status, [*_JSON_HEADERS, *more])
