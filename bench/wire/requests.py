"""Requests as bytes, made before the clock starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

# A way to ask: the current revision with its envelope on every request; a session of the previous
# one; and a lone request, as a shell script sends it.
Road = Literal["2026-07-28", "2025-11-25", "bare"]
MODERN: Road = "2026-07-28"
SESSION: Road = "2025-11-25"
BARE: Road = "bare"

_BOTH = "application/json, text/event-stream"
_CLIENT = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}

# Stands in a prepared session request where the id of the connection's session comes.
SESSION_ID = b"{session-id}"


class Call(NamedTuple):
    """A request, and what its answer must contain."""

    request: bytes
    expected: bytes


def tool_call(
    road: Road, name: str, arguments: Mapping[str, Any], token: str | None = None
) -> bytes:
    """A `tools/call` on a road."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    headers: dict[str, str] = {}
    if road == MODERN:
        params["_meta"] = _META
        headers = {
            "Accept": _BOTH,
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        }
    elif road == SESSION:
        headers = {
            "Accept": _BOTH,
            "MCP-Protocol-Version": SESSION,
            "Mcp-Session-Id": SESSION_ID.decode(),
        }
    return _rpc("tools/call", params, {**headers, **_signed(token)})


def greeting(token: str | None = None) -> bytes:
    """The `initialize` of a session."""
    params = {"protocolVersion": SESSION, "capabilities": {}, "clientInfo": _CLIENT}
    return _rpc("initialize", params, {"Accept": _BOTH, **_signed(token)})


def greeted(session: bytes, token: str | None = None) -> bytes:
    """The `notifications/initialized` that ends the handshake."""
    headers = {
        "Accept": _BOTH,
        "MCP-Protocol-Version": SESSION,
        "Mcp-Session-Id": session.decode(),
        **_signed(token),
    }
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return post("/mcp", headers, msgspec.json.encode(body))


def post(path: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """A POST of JSON on a connection that stays open."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1:8080", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _rpc(method: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return post("/mcp", headers, msgspec.json.encode(body))


def _signed(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}
