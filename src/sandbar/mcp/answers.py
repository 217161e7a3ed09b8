"""How a bare request is answered."""

from __future__ import annotations

from typing import Any

from sandbar.edge.asgi import Send, begin_stream, end_stream, send_part
from sandbar.mcp.frames import frame, send_json


class Answer:
    """A bare answer: JSON, or a stream as soon as there is something to say before the end."""

    def __init__(self, send: Send, *, can_stream: bool, must_stream: bool) -> None:
        self._send = send
        self._can_stream = can_stream
        self._must_stream = must_stream
        self._begun = False

    async def notify(self, message: dict[str, Any]) -> None:
        """Say something before the answer, if the client can hear it."""
        if self._can_stream:
            await self._begin()
            await send_part(self._send, frame(message))

    async def finish(self, response: dict[str, Any]) -> None:
        """Send the response itself."""
        if not self._begun and not self._must_stream:
            await send_json(self._send, response)
            return
        await self._begin()
        await send_part(self._send, frame(response))
        await end_stream(self._send)

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            await begin_stream(self._send)
