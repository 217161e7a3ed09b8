"""How large the headers may be, to the byte; `connections` limits them while they arrive."""

from __future__ import annotations

from sandbar.edge.asgi import App, Receive, Scope, Send
from sandbar.edge.refusing import INVALID_REQUEST, refuse
from sandbar.errors import Incorrect

HEADER_BYTES_MAX = 64 * 1024


class HeaderLimit:
    """Answers 431 to a request with too much in its headers."""

    def __init__(self, app: App, *, bytes_max: int = HEADER_BYTES_MAX) -> None:
        self._app = app
        self._bytes_max = bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            size = sum(len(name) + len(value) for name, value in scope["headers"])
            if size + len(scope.get("query_string", b"")) > self._bytes_max:
                await self._refuse(scope, send)
                return
        await self._app(scope, receive, send)

    async def _refuse(self, scope: Scope, send: Send) -> None:
        problem = headers_too_large(self._bytes_max)
        close = [(b"connection", b"close")]
        await refuse(scope, send, 431, INVALID_REQUEST, problem, headers=close)


def headers_too_large(bytes_max: int) -> Incorrect:
    """What is said of too much in the headers."""
    return Incorrect(
        "gate.headers-too-large",
        f"the headers of a request have at most {bytes_max} bytes",
        hint="send what is large in the body",
    )
