"""A proxy that signs in for a client that cannot: it adds one header to every request.

Everything else passes byte for byte, so that Host, Origin and every oddity of the client's headers
reach the server, and nothing is held back in either direction. When one side hangs up, so does the
other: a client's disconnect reaches the server as one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

_CHUNK_BYTES = 65536
_HEAD_MAX_BYTES = 65536
_START_TIMEOUT_S = 10


class SigningProxy:
    """Listens on a free port of loopback and passes on to `port`, in a thread of its own."""

    def __init__(self, port: int, token: str) -> None:
        self.port = 0
        self.faults: list[str] = []
        self._target = port
        self._header = f"Authorization: Bearer {token}\r\n".encode()
        self._loop = asyncio.new_event_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="signing-proxy", daemon=True)

    @property
    def url(self) -> str:
        """The MCP endpoint behind the proxy; the suites insist on localhost."""
        return f"http://localhost:{self.port}/mcp"

    def __enter__(self) -> SigningProxy:
        self._thread.start()
        assert self._ready.wait(_START_TIMEOUT_S), "the proxy did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_START_TIMEOUT_S)
        assert kind is not None or not self.faults, self.faults

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_MAX_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._connect(near, back))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connect(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        async with _hanging_up(back):
            far, forth = await asyncio.open_connection("127.0.0.1", self._target)
            async with _hanging_up(forth):
                ways = [
                    asyncio.create_task(self._pass_requests(near, forth)),
                    asyncio.create_task(_pass_bytes(far, back)),
                ]
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    await self._end_all(ways)

    async def _end_all(self, ways: list[asyncio.Task[None]]) -> None:
        for way in ways:
            way.cancel()
        for outcome in await asyncio.gather(*ways, return_exceptions=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, ConnectionError):
                self.faults.append(repr(outcome))

    async def _pass_requests(self, near: asyncio.StreamReader, forth: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await near.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return  # the client has hung up
            forth.write(head[:-2] + self._header + b"\r\n")
            left = _body_bytes(head)
            while left:
                chunk = await near.read(min(left, _CHUNK_BYTES))
                if not chunk:
                    return
                forth.write(chunk)
                left -= len(chunk)
            await forth.drain()


def _body_bytes(head: bytes) -> int:
    """The length of the body that follows; the clients of the tests say it beforehand."""
    fields = [line.partition(b":") for line in head.lower().split(b"\r\n")[1:]]
    named = {name.strip(): value.strip() for name, _, value in fields}
    if b"transfer-encoding" in named:
        raise ValueError("a request of unknown length; teach the proxy chunks")
    return int(named.get(b"content-length", b"0"))


@asynccontextmanager
async def _hanging_up(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        try:
            await writer.wait_closed()
        except ConnectionError:
            pass  # the other side was faster


async def _pass_bytes(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(_CHUNK_BYTES):
        sink.write(chunk)
        await sink.drain()
