"""The server's life as ASGI tells it: what runs from the start to the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from sandbar.edge.asgi import Receive, Scope, Send

Running = Callable[[], AbstractAsyncContextManager[dict[str, Any]]]


async def live(running: Running, scope: Scope, receive: Receive, send: Send) -> None:
    """Run until the server ends; what `running` gives is the server's to keep.

    Whatever it raises is the server's to tell, too, which then ends.
    """
    await receive()  # lifespan.startup
    async with running() as kept:
        scope["state"].update(kept)
        await send({"type": "lifespan.startup.complete"})
        await receive()  # lifespan.shutdown
    await send({"type": "lifespan.shutdown.complete"})
