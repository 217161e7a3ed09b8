"""The same server over standard input and output, for desktop clients that start it themselves."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from sandbar.database import Database
from sandbar.mcp.methods import Methods
from sandbar.mcp.sdk import Adapter
from sandbar.mcp.service import Service
from sandbar.serving import Serving

_LAST_ANSWERS_S = 30.0


def serve_stdio(database: Database, serving: Serving) -> None:
    """Serve one client until it hangs up; whoever can open the file may do everything in it."""
    database.workflows.install()
    database.start_worker()
    methods = Methods(Service(database, serving))
    anyio.run(_serve, methods, Adapter(methods))


async def _serve(methods: Methods, adapter: Adapter) -> None:
    server = adapter.server
    async with anyio.create_task_group() as tasks:
        async with stdio_server() as (incoming, outgoing):
            methods.subscriptions.serve_in(tasks)
            owed = _Owed()
            await server.run(
                _Incoming(incoming, owed),
                _Outgoing(outgoing, owed),
                server.create_initialization_options(),
            )
            methods.service.streams.close_all()
        tasks.cancel_scope.cancel()  # not before the last answer is written


class _Owed:
    """The requests that have no answer yet; streams are owed none."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._none = anyio.Event()
        self._none.set()

    def ask(self, message: Any) -> None:
        """A message has come."""
        method = getattr(message, "method", None)
        if method is not None and method != "subscriptions/listen" and hasattr(message, "id"):
            self._ids.add(message.id)
            self._none = anyio.Event()
        elif method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def answer(self, message: Any) -> None:
        """A message goes out."""
        if getattr(message, "method", None) is None:
            self._settle(getattr(message, "id", None))

    def _settle(self, id: Any) -> None:
        self._ids.discard(id)
        if not self._ids:
            self._none.set()

    async def settled(self) -> None:
        """Wait for the last answers, but not for ever."""
        with anyio.move_on_after(_LAST_ANSWERS_S):
            await self._none.wait()


class _Passing:
    """A stream of the SDK's, whatever else it can do."""

    def __init__(self, stream: Any, owed: _Owed) -> None:
        self._stream = stream
        self._owed = owed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.aclose()


class _Incoming(_Passing):
    """What the client says; it ends when all that was asked is answered, as pipes end at once."""

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._stream.__anext__()
        except StopAsyncIteration:
            await self._owed.settled()
            raise
        self._owed.ask(getattr(item, "message", None))
        return item


class _Outgoing(_Passing):
    """What we say."""

    async def send(self, item: Any) -> None:
        """Say it; then it is owed no longer."""
        await self._stream.send(item)
        self._owed.answer(item.message)
