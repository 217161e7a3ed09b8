"""Keep-alive connections that clients of several tenants share, by hand: bytes in, bytes out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from tests.mcp.served import MODERN, OLD

BOTH = "application/json, text/event-stream"
_TIMEOUT_S = 60


@dataclass
class Reply:
    """What came back for a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    def message(self) -> dict[str, Any]:
        """The JSON-RPC response, out of a body or the last event of a stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [line[5:] for line in self.body.splitlines() if line.startswith(b"data:")]
            found: dict[str, Any] = json.loads([line for line in lines if line.strip()][-1])
        else:
            found = json.loads(self.body)
        return found


class Shared:
    """A connection to the server on which anybody's requests follow each other."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.lock = asyncio.Lock()

    async def ask(self, headers: dict[str, str], body: Any) -> Reply:
        """Send one request and read its answer; the caller holds the lock."""
        await self.send(headers, body)
        return await asyncio.wait_for(self.reply(), _TIMEOUT_S)

    async def send(self, headers: dict[str, str], body: Any) -> None:
        """Send one request."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        text = json.dumps(body).encode()
        given = {"Host": "127.0.0.1", "Content-Type": "application/json", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        head = f"POST /mcp HTTP/1.1\r\n{lines}Content-Length: {len(text)}\r\n\r\n"
        self._writer.write(head.encode() + text)
        await self._writer.drain()

    async def reply(self) -> Reply:
        """Read one answer."""
        assert self._reader is not None
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        status = int(head[0].split(" ")[1])
        if headers.get("transfer-encoding") == "chunked":
            body = await self._chunks(self._reader)
        else:
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            self.hang_up()
        return Reply(status, headers, body)

    @staticmethod
    async def _chunks(reader: asyncio.StreamReader) -> bytes:
        parts = b""
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            chunk = await reader.readexactly(size + 2)
            if size == 0:
                return parts
            parts += chunk[:-2]

    def hang_up(self) -> None:
        """Go away without a word; the next request opens a new connection."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None


def envelope(road: str, token: str, method: str, name: str, session: str) -> dict[str, str]:
    """The headers of a request by one of the roads."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    if road == "session":
        headers |= {"Accept": BOTH, "Mcp-Session-Id": session}
    elif road == "modern":
        headers |= {"Accept": BOTH, "MCP-Protocol-Version": MODERN}
        headers |= {"Mcp-Method": method, "Mcp-Name": name}
    return headers


async def begin_session(connection: Shared, token: str) -> str:
    """The id of a new session."""
    headers = {"Authorization": f"Bearer {token}", "Accept": BOTH}
    info = {"protocolVersion": OLD, "clientInfo": {"name": "t", "version": "1"}, "capabilities": {}}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    session = (await connection.ask(headers, greeting)).headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await connection.ask({**headers, "Mcp-Session-Id": session}, ready)
    return session
