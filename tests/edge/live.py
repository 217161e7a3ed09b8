"""A real server on a free loopback port, for whatever ASGI app a test brings."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import msgspec
import uvicorn

from sandbar.access import Houses
from sandbar.edge import Authenticator, Edge, Hosts, RequestState, Routes, Surface
from sandbar.edge.asgi import App, Receive, Scope, Send
from sandbar.edge.capacity import Capacity
from sandbar.edge.connections import Connection
from sandbar.edge.state import KEY
from sandbar.edge.surfaces import Say
from sandbar.mcp import id_in, say

_START_S_MAX = 10
_LOOK_S = 0.01


class Speaking(Connection):
    """Our protocol, with words for what is no request yet."""

    say = staticmethod(say)


class Everywhere(Routes):
    """Every path leads to one surface."""

    def __init__(self, surface: Surface) -> None:
        super().__init__()
        self._surface = surface

    def get(self, path: str, default: Any = None) -> Any:
        """The one."""
        return self._surface


def behind_the_edge(
    app: App,
    *,
    houses: Houses | None = None,
    is_inline: bool = True,
    hosts: Hosts | None = None,
    words: Say = say,
    **limits: int,
) -> Edge:
    """An app behind the edge, on every path; without houses nobody is asked who they are."""
    surface = Surface("test", app, words, id_in, is_open=houses is None)
    return Edge(
        Everywhere(surface),
        surface,
        hosts=hosts or Hosts(),
        authenticator=Authenticator(houses or Houses(_nowhere, "main"), is_inline=is_inline),
        recorder=None,
        running=_lifeless,
        **limits,
    )


def _nowhere(name: str) -> Any:
    raise AssertionError(f"{name} is not asked for")


@asynccontextmanager
async def _lifeless() -> AsyncIterator[dict[str, Any]]:
    yield {}


class PromptServer(uvicorn.Server):
    """uvicorn's own looks ten times a second whether it should end."""

    async def main_loop(self) -> None:
        """Serve until told to end."""
        while not await self.on_tick(0):
            await asyncio.sleep(_LOOK_S)


@contextmanager
def serving(
    app: App,
    http: type[asyncio.Protocol] | str = Speaking,
    *,
    capacity: Capacity | None = None,
    keep_alive_s: int = 5,
) -> Iterator[int]:
    """The port of a running server; `http="httptools"` is uvicorn without our limits."""
    if capacity is not None:
        http = type("Bounded", (Speaking,), {"capacity": capacity})
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app,
        http=http,
        timeout_keep_alive=keep_alive_s,
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    server = PromptServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    waited = threading.Event()
    for _ in range(_START_S_MAX * 100):
        if server.started:
            break
        waited.wait(0.01)
    assert server.started, "the server did not start"
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(_START_S_MAX)
        listener.close()
        assert not thread.is_alive()


class Answer(msgspec.Struct):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded."""
        return msgspec.json.decode(self.body)


def ask(
    port: int, body: Any = None, headers: dict[str, str] | None = None, method: str = "POST"
) -> Answer:
    """One request; a body that is an iterator is sent in chunks, without a length."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(
            method, "/mcp", body, headers or {}, encode_chunked=hasattr(body, "__next__")
        )
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, found, answer.read())
    finally:
        connection.close()


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what reached it: the caller, the id of the request, and how much of a body."""
    received, is_whole = 0, False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        received += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
    state: RequestState | None = scope.get(KEY)
    said = {
        "caller": state and state.caller,
        "request-id": state and state.request_id,
        "received": received,
        "headers": [name.decode() for name, _ in scope["headers"]],
    }
    body = msgspec.json.encode(said)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers before it has read anything."""
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})
