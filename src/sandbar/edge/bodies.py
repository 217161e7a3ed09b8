"""How large a body may be: said by its header or not, no more than that is ever received."""

from __future__ import annotations

import asyncio

from sandbar.edge.answering import Answer
from sandbar.edge.asgi import Headers, Message, Receive, header
from sandbar.errors import Incorrect

# What a transaction may hold (4 MiB), and room for what is written around it.
BODY_BYTES_MAX = 4 * 1024 * 1024 + 64 * 1024

_GONE: Message = {"type": "http.disconnect"}


def is_declared(headers: Headers, bytes_max: int = BODY_BYTES_MAX) -> bool:
    """Refuse a body that says it is too large; whether one says how large it is.

    The server holds the client to its word. What says nothing is counted while it comes.
    """
    declared = header(headers, b"content-length")
    if declared is None or not declared.isdigit() or header(headers, b"transfer-encoding"):
        return False
    if int(declared[:20]) > bytes_max:
        raise body_too_large(bytes_max)
    return True


class Counted:
    """A `receive` that refuses a body as soon as it is too large.

    The application then sees a client that has left, and nothing of what it says is heard.
    """

    def __init__(self, receive: Receive, answer: Answer, bytes_max: int = BODY_BYTES_MAX) -> None:
        self._receive = receive
        self._answer = answer
        self._bytes_max = bytes_max
        self._received = 0

    async def __call__(self) -> Message:
        """The next piece."""
        if self._received > self._bytes_max:
            return _GONE
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received <= self._bytes_max:
            return message
        await self._answer.refuse(body_too_large(self._bytes_max))
        return _GONE


def body_too_large(bytes_max: int) -> Incorrect:
    """What is said of too large a body."""
    return Incorrect(
        "gate.body-too-large",
        f"a request has at most {bytes_max} bytes",
        hint="send it in several requests",
    )


async def small_body(
    headers: Headers, receive: Receive, *, bytes_max: int, wait_s: float
) -> bytes | None:
    """The body, if it is small and soon here: no waiting for a stranger's."""
    length = header(headers, b"content-length")
    if length is None or not length.isdigit() or not 0 < int(length[:20]) <= bytes_max:
        return None
    try:
        return await asyncio.wait_for(_whole(receive), wait_s)
    except TimeoutError:
        return None


async def _whole(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return b"".join(parts)
