"""The refusals that the edge answers by itself: JSON-RPC errors over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.edge.asgi import Headers, Scope, Send
from sandbar.edge.state import state_of
from sandbar.errors import Problem

INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603

RETRY_SOON: Headers = [(b"retry-after", b"5")]  # with every 503: what ails may take a while

_MODERN = (b"mcp-protocol-version", b"2026-07-28")


def is_modern(scope: Scope) -> bool:
    """Whether the request is of the revision that reserves the range of our old codes."""
    return any(key == _MODERN[0] and value.strip() == _MODERN[1] for key, value in scope["headers"])


def error_body(
    code: int, problem: Problem, *, id: Any = None, request_id: str | None = None
) -> bytes:
    """A JSON-RPC error."""
    data = {**problem.data, "code": problem.code, "hint": problem.hint}
    if request_id is not None:
        data["request-id"] = request_id
    error = {"code": code, "message": problem.message, "data": data}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": error})


async def refuse(
    scope: Scope,
    send: Send,
    status: int,
    code: int,
    problem: Problem,
    *,
    id: Any = None,
    headers: Headers | None = None,
) -> None:
    """Answer with a JSON-RPC error; its data says under which id the log knows the request."""
    body = error_body(code, problem, id=id, request_id=state_of(scope).request_id)
    fixed = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send(
        {"type": "http.response.start", "status": status, "headers": fixed + (headers or [])}
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
