"""Request ids: taken from the client if it has one, echoed, and written wherever we log."""

from __future__ import annotations

import uuid_utils

from sandbar.audit import nameable_id
from sandbar.edge.asgi import App, Message, Receive, Scope, Send, header
from sandbar.edge.state import state_of

_HEADER = b"x-request-id"


class RequestId:
    """Gives every request an id and every answer the header `X-Request-Id`."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = header(scope, _HEADER)
        id = "" if given is None else given.decode("latin-1")
        if not nameable_id(id):
            id = str(uuid_utils.uuid7())
        state_of(scope).request_id = id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (_HEADER, id.encode())]
            await send(message)

        await self._app(scope, receive, send_with_id)
