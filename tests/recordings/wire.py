"""Requests as bytes over a socket, and whatever comes back: every header, in its order."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.recordings.plain import compact, loaded

Lane = Literal["bare", "session", "envelope"]
LANES: tuple[Lane, ...] = ("bare", "session", "envelope")
BOTH = "application/json, text/event-stream"
OLD, MODERN = "2025-11-25", "2026-07-28"
EXTENSION = "io.modelcontextprotocol/tasks"
TIMEOUT_S = 30.0
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: str
    headers: list[tuple[str, str]]
    body: str
    size: int

    @property
    def code(self) -> int:
        """The HTTP status."""
        return int(self.status.split()[1])

    def header(self, name: str) -> str:
        """The first header of that name, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def messages(self) -> list[Any]:
        """The JSON-RPC messages of the body."""
        if self.header("content-type").startswith("text/event-stream"):
            lines = [line[5:] for line in self.body.splitlines() if line.startswith("data:")]
            return [json.loads(line) for line in lines if line.strip()]
        try:
            return [json.loads(self.body)]
        except ValueError:
            return []

    def result(self) -> Any:
        """The result of the last message, or its error, or nothing."""
        last = self.messages[-1] if self.messages else {}
        return last.get("result", last.get("error", {})) if isinstance(last, dict) else {}

    def payload(self) -> Any:
        """What a tool answered."""
        result = self.result()
        return result.get("structuredContent", {}) if isinstance(result, dict) else {}

    def kept(self) -> dict[str, Any]:
        """The answer as it is written down."""
        headers = [[name, self._shown(name, value)] for name, value in self.headers]
        kept: dict[str, Any] = {"status": self.status, "headers": headers}
        return kept | shown_body(self.body, self.header("content-type"))

    def _shown(self, name: str, value: str) -> str:
        """A length says nothing that the body does not, and some lists have no order."""
        if name.lower() == "allow":
            return ", ".join(sorted(value.split(", ")))
        is_right = value == str(self.size)
        return "<right>" if name.lower() == "content-length" and is_right else value


def shown_body(body: str, kind: str) -> dict[str, Any]:
    """A body as JSON if writing it again gives the same text, event by event if it is a stream."""
    if kind.startswith("text/event-stream"):
        end = "\r\n" if "\r\n" in body else "\n"
        events = [_event(block.split(end)) for block in body.split(end * 2) if block]
        return {"events": events, "lines-end-with": repr(end)}
    parsed = loaded(body)
    return {"body": body} if parsed is None else {"json": parsed}


def _event(lines: list[str]) -> list[Any]:
    found: list[Any] = []
    for line in lines:
        parsed = loaded(line[6:]) if line.startswith("data: ") else None
        found.append(line if parsed is None else {"data": parsed})
    return found


@dataclass
class Door:
    """Where to knock and as whom; with a session if one is open."""

    port: int
    token: str | None
    session: str = ""
    path: str = "/mcp"
    capabilities: dict[str, Any] = field(default_factory=dict)

    def head(self, lane: Lane, method: str, params: Any) -> dict[str, str]:
        """The headers of a request on this road."""
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if lane == "session":
            headers |= {"Accept": BOTH, "MCP-Protocol-Version": OLD}
            headers |= {"Mcp-Session-Id": self.session} if self.session else {}
        if lane == "envelope":
            headers |= {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            named = params.get(_NAMED_BY.get(method, "taskId")) if isinstance(params, dict) else ""
            if isinstance(named, str) and named:
                headers["Mcp-Name"] = named
        return headers

    def rpc(self, lane: Lane, method: str, params: Any = None, id: Any = 1) -> bytes:
        """A JSON-RPC request on this road."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if id is None:
            del message["id"]
        if lane == "envelope":
            info = {"name": "recordings", "version": "1"}
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": info,
            }
            params = {"_meta": meta, **(params or {})}
        if params is not None:
            message["params"] = params
        return self.http("POST", compact(message), self.head(lane, method, params))

    def http(
        self,
        verb: str,
        body: str | bytes = "",
        headers: dict[str, str] | None = None,
        path: str = "",
    ) -> bytes:
        """Any request."""
        content = body.encode() if isinstance(body, str) else body
        lines = [f"{verb} {path or self.path} HTTP/1.1"]
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        if content or verb == "POST":
            given.setdefault("Content-Length", str(len(content)))
        lines += [f"{name}: {value}" for name, value in given.items()]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


def sent(
    port: int, request: bytes, verb: str = "POST", events: int = 0, patience_s: float = TIMEOUT_S
) -> Answer:
    """Send bytes and read one answer; of a stream no more than so many events, if any are said."""
    with socket.create_connection(("127.0.0.1", port), patience_s) as connection:
        try:
            connection.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may refuse before it has read everything; its answer counts
        response = http.client.HTTPResponse(connection, method=verb)
        try:
            response.begin()
            is_stream = (response.getheader("content-type") or "").startswith("text/event-stream")
            body = until_an_answer(response, events) if is_stream else response.read()
        finally:
            response.close()
    version = {10: "HTTP/1.0", 11: "HTTP/1.1"}[response.version]
    return Answer(
        f"{version} {response.status} {response.reason}",
        response.getheaders(),
        body.decode("utf-8", "backslashreplace"),
        len(body),
    )


def until_an_answer(response: http.client.HTTPResponse, events: int) -> bytes:
    """A stream to its end, or to the answer of the request, or to the last event that is wanted."""
    lines: list[bytes] = []
    with suppress(TimeoutError):  # a stream on which nothing happens is shown as far as it came
        while line := response.readline():
            lines.append(line)
            if line.startswith(b"data:") and line[5:].strip():
                events -= 1
                if events == 0 or (events < 0 and _is_answer(line[5:])):
                    lines.append(response.readline())
                    break
    return b"".join(lines)


def _is_answer(data: bytes) -> bool:
    message = json.loads(data)
    return isinstance(message, dict) and "id" in message and "method" not in message
