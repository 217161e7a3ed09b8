"""A session of 2025-11-25 by hand, so that a test sees every message of it."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from tests.mcp.served import OLD, Role, Served
from tests.mcp.without_tls import WITHOUT_TLS

BOTH = "application/json, text/event-stream"


def open_session(
    served: Served, role: Role = "admin", capabilities: dict[str, Any] | None = None
) -> str:
    """The id of a new session."""
    session = initialize(served, role, capabilities)
    greet(served, session, role)
    return session


def initialize(
    served: Served, role: Role = "admin", capabilities: dict[str, Any] | None = None
) -> str:
    """The first half of the handshake."""
    who = {"name": "t", "version": "1"}
    info = {"protocolVersion": OLD, "clientInfo": who, "capabilities": capabilities or {}}
    answer = post(served, {"id": 1, "method": "initialize", "params": info}, role=role)
    session: str = answer.headers["mcp-session-id"]
    return session


def greet(served: Served, session: str, role: Role = "admin") -> None:
    """The second half."""
    ready = post(served, {"method": "notifications/initialized"}, session, role=role)
    assert ready.status_code == 202


def post(
    served: Served,
    message: dict[str, Any],
    session: str | None = None,
    *,
    role: Role = "admin",
    version: str | None = None,
) -> httpx2.Response:
    """Send one message."""
    headers = {"Authorization": f"Bearer {served.token(role)}", "Accept": BOTH}
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    if session is not None:
        headers["Mcp-Session-Id"] = session
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        return client.post(served.url, headers=headers, json={"jsonrpc": "2.0", **message})


def ask(
    served: Served, session: str, method: str, params: dict[str, Any], id: int = 7
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to a request, and what was said on its stream before."""
    response = post(served, {"id": id, "method": method, "params": params}, session)
    assert response.status_code == 200, response.text
    if response.headers["content-type"] == "application/json":
        answer: dict[str, Any] = response.json()
        return answer, []
    lines = [line[5:] for line in response.text.splitlines() if line.startswith("data:")]
    messages = [json.loads(line) for line in lines if line.strip()]
    (answer,) = [message for message in messages if message.get("id") == id]
    return answer, [message for message in messages if "method" in message]
