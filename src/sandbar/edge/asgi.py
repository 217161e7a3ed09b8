"""ASGI in types, answers as bytes, and the edge's own refusals: JSON-RPC errors over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import anyio.abc
import msgspec

from sandbar.errors import Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603

RETRY_SOON: Headers = [(b"retry-after", b"5")]  # with every 503: what ails may take a while

_STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

_MODERN = (b"mcp-protocol-version", b"2026-07-28")


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that name."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


def state_of(scope: Scope) -> dict[str, Any]:
    """What the layers tell each other about a request."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return state


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
    body = error_body(code, problem, id=id, request_id=state_of(scope).get("request_id"))
    fixed = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send(
        {"type": "http.response.start", "status": status, "headers": fixed + (headers or [])}
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_bytes(send: Send, body: bytes, status: int, headers: Headers) -> None:
    """A whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def begin_stream(send: Send) -> None:
    """The head of an event stream."""
    await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})


async def send_part(send: Send, part: bytes) -> None:
    """Some more of a stream."""
    await send({"type": "http.response.body", "body": part, "more_body": True})


async def end_stream(send: Send) -> None:
    """The end of a stream."""
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def gone(receive: Receive) -> None:
    """Return when the client has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(receive: Receive, answer: Callable[[], Awaitable[None]]) -> None:
    """Answer, unless the client hangs up: then its work stops."""

    async def hang_up(tasks: anyio.abc.TaskGroup) -> None:
        await gone(receive)
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hang_up, tasks)
        await answer()
        tasks.cancel_scope.cancel()


class Whole:
    """A `send` that knows whether an answer was ended, and can end it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False

    async def __call__(self, message: Message) -> None:
        """One ASGI message of the answer."""
        is_start = message["type"] == "http.response.start"
        self._is_open = is_start or bool(message.get("more_body", False))
        await self._send(message)

    async def finish(self) -> None:
        """End the answer, unless it has ended."""
        if self._is_open:
            await end_stream(self._send)
