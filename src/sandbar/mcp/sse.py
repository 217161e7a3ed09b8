"""Streams that need no session: `GET /mcp/sse`, and a subscription that stays open."""

from __future__ import annotations

from typing import Any

import anyio

from sandbar.edge.asgi import Receive, Send, begin_stream, end_stream, gone, send_part
from sandbar.edge.streams import PROMPTS, RESOURCES, TOOLS, Stream
from sandbar.mcp.exchange import Exchange
from sandbar.mcp.frames import KEEP_ALIVE, frame, send_json
from sandbar.mcp.methods import Methods
from sandbar.mcp.notices import said
from sandbar.mcp.subscriptions import OpenStream
from sandbar.mcp.task_news import TaskNews, said_as_seeds
from sandbar.mcp.wire import INVALID_PARAMS, RefusedError, failed, notification

_QUIET_S = 15.0
_RETRY_AFTER_S = b"10"


async def open_stream(methods: Methods, exchange: Exchange, receive: Receive, send: Send) -> None:
    """`GET /mcp/sse`: every list that changes, and what its caller subscribes to meanwhile."""
    stream = OpenStream(exchange.caller, frozenset({TOOLS, PROMPTS, RESOURCES}))
    stream.follow_tasks(None)
    await _serve(methods, exchange, stream, None, receive, send)


async def open_subscription(
    methods: Methods,
    exchange: Exchange,
    message: dict[str, Any],
    receive: Receive,
    send: Send,
) -> None:
    """`resources/subscribe` that streams: first the response, then the resource's news."""
    uri = (message.get("params") or {}).get("uri")
    if not isinstance(uri, str):
        raise RefusedError(INVALID_PARAMS, "Invalid request parameters")
    watched = await methods.service.read(exchange, lambda: methods.resources.watched(exchange, uri))
    stream = Stream(exchange.caller, frozenset())
    stream.watch(uri, watched)
    first = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    await _serve(methods, exchange, stream, first, receive, send)


async def _serve(
    methods: Methods,
    exchange: Exchange,
    stream: Stream,
    first: dict[str, Any] | None,
    receive: Receive,
    send: Send,
) -> None:
    problem = await methods.service.streams.open(stream)
    if problem is not None:
        error = exchange.error(problem)
        body = failed(None if first is None else first["id"], error)
        await send_json(send, body, 429, (b"retry-after", _RETRY_AFTER_S))
        return
    try:
        if exchange.record is not None:
            await exchange.record.settle()  # its answer begins now, and may last for days
        await begin_stream(send)
        await send_part(send, KEEP_ALIVE if first is None else frame(first))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hang_up, stream, receive)
            await _tell(stream, TaskNews(methods.service, stream, said_as_seeds), send)
            tasks.cancel_scope.cancel()
        await end_stream(send)
    finally:
        methods.service.streams.close(stream)


async def _tell(stream: Stream, task_news: TaskNews, send: Send) -> None:
    while (due := await stream.due(_QUIET_S)) is not None:
        for method, params in (*said(due), *await task_news.due()):
            await send_part(send, frame(notification(method, params)))
        if not due:
            await send_part(send, KEEP_ALIVE)


async def _hang_up(stream: Stream, receive: Receive) -> None:
    await gone(receive)
    stream.close()
