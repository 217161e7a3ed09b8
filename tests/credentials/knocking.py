"""Knocking at the door with bytes of one's own, in every lane that a client may come by.

bare       2025-11-25 as the seeds' curl commands speak it: no session, no version header
session    2025-11-25 with the id of a session that an honest client has opened
envelope   2026-07-28: no handshake, every request carries its headers and its `_meta`
pack       like bare, at the endpoint of a pack
"""

from __future__ import annotations

import http.client
import json
import select
import socket
from dataclasses import dataclass, replace
from typing import Any, Literal

Lane = Literal["bare", "session", "envelope", "pack"]
LANES: tuple[Lane, ...] = ("bare", "session", "envelope")

TIMEOUT_S = 10.0
REQUEST_ID = b"hostile-1"
MESSAGE: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}

_BOTH = b"application/json, text/event-stream"
_PACK = b"/api/mcp"
_PIECE_BYTES = 32 * 1024
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
}
# What differs from one answer to the next, whatever is asked.
_OF_THE_MOMENT = frozenset({"date"})


@dataclass(frozen=True)
class Door:
    """Where to knock, and the session that an honest client has open there."""

    port: int
    session: str = ""

    @property
    def address(self) -> bytes:
        """What the Host header says."""
        return b"127.0.0.1:%d" % self.port


@dataclass(frozen=True)
class Knock:
    """One request: lines of the head as they are sent, without their ends."""

    lines: tuple[bytes, ...] = ()
    path: bytes = b"/mcp"
    message: Any = None
    trailers: tuple[bytes, ...] | None = None  # given: the body is sent in chunks
    verb: bytes = b"POST"
    accept: bytes = b"*/*"  # in the bare lane


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded; of a stream its first event with an id."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = self.body.decode().splitlines()
            events = [json.loads(line[5:]) for line in lines if line.startswith("data: {")]
            return next(event for event in events if "id" in event)
        return json.loads(self.body)

    def fingerprint(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        """All that an attacker can compare, but for the clock."""
        kept = sorted(item for item in self.headers.items() if item[0] not in _OF_THE_MOMENT)
        return self.status, tuple(kept), self.body


def knock(door: Door, lane: Lane, one: Knock) -> Answer:
    """Send one request on a connection of its own, and read its answer."""
    with socket.create_connection(("127.0.0.1", door.port), TIMEOUT_S) as connection:
        _send(connection, request_bytes(door, lane, one))
        return read_answer(connection, one.verb.decode())


def request_bytes(door: Door, lane: Lane, one: Knock) -> bytes:
    """The whole request."""
    message: dict[str, Any] = MESSAGE if one.message is None else one.message
    if lane == "envelope":
        message = {**message, "params": {"_meta": _META, **message.get("params", {})}}
    body = json.dumps(message).encode()
    path = one.path.replace(b"/mcp", _PACK, 1) if lane == "pack" else one.path
    head = [
        one.verb + b" " + path + b" HTTP/1.1",
        b"Host: " + door.address,
        b"X-Request-Id: " + REQUEST_ID,
        b"Content-Type: application/json",
        *_of_lane(door, lane, message, one.accept),
        *one.lines,
    ]
    if one.trailers is None:
        head.append(b"Content-Length: %d" % len(body))
    else:
        head.append(b"Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
        body += b"".join(line + b"\r\n" for line in one.trailers) + b"\r\n"
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def _of_lane(door: Door, lane: Lane, message: dict[str, Any], accept: bytes) -> list[bytes]:
    if lane in ("bare", "pack"):
        return [b"Accept: " + accept]
    if lane == "session":
        session = b"Mcp-Session-Id: " + door.session.encode()
        return [b"Accept: " + _BOTH, session, b"MCP-Protocol-Version: 2025-11-25"]
    method = b"Mcp-Method: " + message["method"].encode()
    name = message.get("params", {}).get("name")
    named = [] if name is None else [b"Mcp-Name: " + name.encode()]
    return [b"Accept: " + _BOTH, b"MCP-Protocol-Version: 2026-07-28", method, *named]


def _send(connection: socket.socket, data: bytes) -> None:
    """Send piece by piece, and stop when the answer is here: it may come before the end."""
    for start in range(0, len(data), _PIECE_BYTES):
        if start and select.select([connection], [], [], 0.02)[0]:
            return
        try:
            connection.sendall(data[start : start + _PIECE_BYTES])
        except (BrokenPipeError, ConnectionResetError):
            return  # refused before everything was read; the answer counts


def read_answer(connection: socket.socket, verb: str = "POST") -> Answer:
    """The next answer on a connection; of a stream that goes on, its events up to the answer."""
    response = http.client.HTTPResponse(connection, method=verb)
    try:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            body = _until_an_answer(response)
        else:
            body = response.read()
        return Answer(response.status, headers, body)
    finally:
        response.close()


def _until_an_answer(response: http.client.HTTPResponse) -> bytes:
    lines: list[bytes] = []
    while line := response.readline():
        lines.append(line)
        if line.startswith(b"data:") and b'"id"' in line:
            break
    return b"".join(lines)


def bearer(token: str | bytes) -> bytes:
    """The header line that signs in with a token."""
    return b"Authorization: Bearer " + (token.encode() if isinstance(token, str) else token)


def open_session(door: Door, token: str) -> Door:
    """The same door after an honest client's handshake."""
    info = {"name": "honest", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    answer = knock(door, "bare", Knock((bearer(token),), message=greeting, accept=_BOTH))
    opened = replace(door, session=answer.headers["mcp-session-id"])
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = knock(opened, "session", Knock((bearer(token),), message=ready))
    if answer.status != 202:
        raise AssertionError(answer.body)
    return opened
