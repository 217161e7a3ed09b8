"""Sessions belong to who has opened them, also where a read takes the short way."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.mcp.served import OLD, Role, Served

_BOTH = "application/json, text/event-stream"
_FIND = {"name": "sandbar_entity_find", "arguments": {"entity": "zorp/Boot"}}
_QUERY = {"name": "sandbar_entity_query", "arguments": {"class": "zorp/Boot"}}


def _open(served: Served, role: Role = "admin") -> str:
    info = {"protocolVersion": OLD, "clientInfo": {"name": "t", "version": "1"}, "capabilities": {}}
    answer = _post(served, {"id": 1, "method": "initialize", "params": info}, role=role)
    session = answer.headers["mcp-session-id"]
    ready = _post(served, {"method": "notifications/initialized"}, session, role=role)
    assert ready.status_code == 202
    return session


def _post(
    served: Served, message: dict[str, Any], session: str | None = None, *, role: Role = "admin"
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {served.token(role)}", "Accept": _BOTH}
    if session is not None:
        headers["Mcp-Session-Id"] = session
    with httpx2.Client() as client:
        return client.post(served.url, headers=headers, json={"jsonrpc": "2.0", **message})


def _call(params: dict[str, Any]) -> dict[str, Any]:
    return {"id": 7, "method": "tools/call", "params": params}


def test_a_point_read_is_answered_as_json_and_as_everywhere_else(served: Served) -> None:
    session = _open(served)
    quick = _post(served, _call(_FIND), session)
    assert quick.headers["content-type"] == "application/json"
    bare = served.post("tools/call", _FIND)
    assert quick.json() == {**bare, "id": 7}
    slow = _post(served, _call(_QUERY), session)
    assert slow.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("params", [_FIND, _QUERY], ids=["quick", "slow"])
def test_nobody_else_can_use_a_session(served: Served, params: dict[str, Any]) -> None:
    session = _open(served)
    assert _post(served, _call(params), session).status_code == 200
    assert _post(served, _call(params), session, role="reader").status_code == 404
    assert _post(served, _call(params), "0" * 32).status_code == 404


@pytest.mark.parametrize("params", [_FIND, _QUERY], ids=["quick", "slow"])
def test_a_session_that_has_ended_is_gone(served: Served, params: dict[str, Any]) -> None:
    session = _open(served)
    headers = {"Authorization": f"Bearer {served.token()}", "Mcp-Session-Id": session}
    with httpx2.Client() as client:
        assert client.delete(served.url, headers=headers).status_code == 200
    assert _post(served, _call(params), session).status_code == 404
