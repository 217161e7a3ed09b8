"""Folding an event stream into one JSON answer, for clients that did not ask for a stream."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.edge.asgi import Message, Send, send_bytes


class Fold:
    """A `send` that passes JSON through and turns a stream into its last message."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        """One ASGI message of the answer."""
        if message["type"] == "http.response.start" and _is_stream(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if not message.get("more_body", False):
            await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        answer = _response_of(bytes(self._body))
        kept = [
            (name, value)
            for name, value in start["headers"]
            if name in (b"mcp-session-id", b"x-request-id")
        ]
        headers = [(b"content-type", b"application/json"), *kept]
        await send_bytes(self._send, msgspec.json.encode(answer), start["status"], headers)


def _is_stream(start: Message) -> bool:
    kind: bytes = dict(start["headers"]).get(b"content-type", b"")
    return kind.startswith(b"text/event-stream")


def _response_of(stream: bytes) -> Any:
    """The last message that answers something; notifications before it are dropped."""
    answer: Any = None
    for line in stream.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data:") and line[5:].strip():
            message = msgspec.json.decode(line[5:])
            if "id" in message:
                answer = message
    return answer
