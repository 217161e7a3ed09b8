"""ASGI in types, and answers as its messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import anyio.abc

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

_STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def header(headers: Headers, name: bytes) -> bytes | None:
    """The first header of that name."""
    for key, value in headers:
        if key == name:
            return bytes(value)
    return None


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
