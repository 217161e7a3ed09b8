"""How large a body may be: said by its header or not, no more than that is ever received."""

from __future__ import annotations

from sandbar.edge.asgi import App, Message, Receive, Scope, Send, header
from sandbar.edge.refusing import INVALID_REQUEST, refuse
from sandbar.errors import Incorrect

# What a transaction may hold (4 MiB), and room for what is written around it.
BODY_BYTES_MAX = 4 * 1024 * 1024 + 64 * 1024


class BodyLimit:
    """Answers 413 as soon as a body is too large; the application then sees a client that left."""

    def __init__(self, app: App, *, bytes_max: int = BODY_BYTES_MAX) -> None:
        self._app = app
        self._bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = header(scope, b"content-length")
        is_chunked = header(scope, b"transfer-encoding") is not None
        if declared is not None and declared.isdigit() and not is_chunked:
            if int(declared[:20]) > self._bytes_max:
                await self._refuse(scope, send)
            else:
                await self._app(scope, receive, send)  # the server holds the client to its word
            return
        await self._count(scope, receive, send)

    async def _count(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = 0
        is_over = has_begun = False

        async def receive_some() -> Message:
            nonlocal received, is_over
            if is_over:
                return {"type": "http.disconnect"}
            message = await receive()
            received += len(message.get("body", b""))
            if received <= self._bytes_max:
                return message
            is_over = True
            if not has_begun:
                await self._refuse(scope, send)
            return {"type": "http.disconnect"}

        async def send_unless_over(message: Message) -> None:
            nonlocal has_begun
            if not is_over or has_begun:
                has_begun = True
                await send(message)

        await self._app(scope, receive_some, send_unless_over)

    async def _refuse(self, scope: Scope, send: Send) -> None:
        problem = Incorrect(
            "gate.body-too-large",
            f"a request has at most {self._bytes_max} bytes",
            hint="send it in several requests",
        )
        # The rest of the body is not read, so nothing else can come over this connection.
        close = [(b"connection", b"close")]
        await refuse(scope, send, 413, INVALID_REQUEST, problem, headers=close)
