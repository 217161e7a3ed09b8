"""Opening the audit's row of a request, and counting it against its caller's limit."""

from __future__ import annotations

from typing import Any

from sandbar.edge import state_of
from sandbar.edge.asgi import Scope, Send, send_bytes
from sandbar.errors import TooMany
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.frames import send_json
from sandbar.mcp.wire import failed


async def is_still_let_in(scope: Scope) -> bool:
    """Whether the caller of a request that took its time is let in still; else that is answered."""
    record = state_of(scope).record
    return record is None or not await record.is_refused_now()


async def admitted(scope: Scope, send: Send, exchange: Exchange, method: str) -> bool:
    """Whether to go on with a request; a caller who asks too often is told here."""
    record = state_of(scope).record
    if record is None:
        return True
    record.open(method, exchange.called, exchange.id)
    try:
        await record.admit()
    except TooMany as problem:
        error = exchange.error(problem)
        wait = str(problem.data["retry-after-s"]).encode()
        await send_json(send, failed(exchange.id, error), 429, (b"retry-after", wait))
        return False
    return True


async def acknowledge(send: Send, exchange: Exchange, message: dict[str, Any]) -> None:
    """Accept a message without an id, which asks for no answer."""
    record = exchange.record
    if record is not None and not message["method"].startswith("notifications/"):
        record.fail("request.refused")  # only a notification can go well without one
    await send_bytes(send, b"", 202, [])
