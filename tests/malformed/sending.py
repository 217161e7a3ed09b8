"""Sending a case as bytes over a socket, and reading whatever comes back."""

from __future__ import annotations

import http.client
import json
import socket
import time
from dataclasses import dataclass
from typing import Any

from tests.malformed.cases import Case, Lane

BOTH = "application/json, text/event-stream"
TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Door:
    """Where to knock, as whom, and the session that is open."""

    host: str
    port: int
    token: str
    session: str = ""

    @property
    def address(self) -> str:
        """What the Host header says."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Answer:
    """What came back, and how soon."""

    status: int
    headers: dict[str, str]
    body: str
    seconds: float

    @property
    def message(self) -> Any:
        """The JSON-RPC message of the body, also if it came as an event; None if there is none."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            found = [line[5:] for line in self.body.splitlines() if line.startswith("data:")]
            events = [json.loads(data) for data in found if data.strip()]
            return next((event for event in events if "id" in event), None)
        if self.headers.get("content-type", "").startswith("application/json"):
            return json.loads(self.body) if self.body else None
        return None


def request_bytes(case: Case, lane: Lane, door: Door) -> bytes:
    """The whole request."""
    if case.raw is not None:
        return _filled(case.raw, lane, door)
    body = case.payload(lane)
    headers: dict[str, Any] = {
        "Host": door.address,
        "Authorization": f"Bearer {door.token}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **_of_lane(case, lane, door),
    }
    names = {name.lower(): name for name in headers}
    for name, value in case.headers.items():
        headers[names.get(name.lower(), name)] = value
    lines = [f"{case.verb} {case.path} HTTP/1.1"]
    for name, value in headers.items():
        values = value if isinstance(value, list) else [value]
        lines += [f"{name}: {one}" for one in values if one is not None]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def _of_lane(case: Case, lane: Lane, door: Door) -> dict[str, str]:
    if lane == "bare":
        return {"Accept": "*/*"}
    if lane == "envelope":
        return {"Accept": BOTH, **case.routing()}
    return {
        "Accept": BOTH,
        "Mcp-Session-Id": door.session,
        "MCP-Protocol-Version": "2025-11-25",
    }


def _filled(raw: bytes, lane: Lane, door: Door) -> bytes:
    plain = Case("", {}, message={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    body = plain.payload(lane)
    lines = "".join(f"{name}: {value}\r\n" for name, value in _of_lane(plain, lane, door).items())
    for placeholder, value in {
        b"HOST": door.address.encode(),
        b"TOKEN": door.token.encode(),
        b"LANE": lines.encode(),
        b"LENGTH": b"%d" % len(body),
        b"SIZE": b"%x" % len(body),
        b"BODY": body,
    }.items():
        raw = raw.replace(placeholder, value)
    return raw


def send(case: Case, lane: Lane, door: Door) -> Answer:
    """Send the bytes and read one answer."""
    started = time.perf_counter()
    with socket.create_connection((door.host, door.port), TIMEOUT_S) as connection:
        try:
            connection.sendall(request_bytes(case, lane, door))
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may refuse before it has read everything; its answer counts
        answer = read_answer(connection, case.verb)
    return Answer(*answer, time.perf_counter() - started)


def read_answer(connection: socket.socket, verb: str = "POST") -> tuple[int, dict[str, str], str]:
    """The next answer on a connection; of a stream that goes on, its first event."""
    response = http.client.HTTPResponse(connection, method=verb)
    try:
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        if headers.get("content-type", "").startswith("text/event-stream"):
            body = _until_an_answer(response)
        else:
            body = response.read()
        return response.status, headers, body.decode("utf-8", "replace")
    finally:
        response.close()


def _until_an_answer(response: http.client.HTTPResponse) -> bytes:
    lines: list[bytes] = []
    while line := response.readline():
        lines.append(line)
        if line.startswith(b"data:") and b'"id"' in line:
            break
    return b"".join(lines)
