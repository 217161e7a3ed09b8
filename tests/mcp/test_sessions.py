"""Sessions belong to who has opened them, also where a read takes the short way; and they end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sandbar.mcp import sdk, sessions
from tests.mcp.in_session import BOTH, open_session, post
from tests.mcp.listening import streaming
from tests.mcp.served import Role, Served, serving
from tests.mcp.without_tls import WITHOUT_TLS

_FIND = {"name": "sandbar_entity_find", "arguments": {"entity": "zorp/Boot"}}
_QUERY = {"name": "sandbar_entity_query", "arguments": {"class": "zorp/Boot"}}


def _call(params: dict[str, Any]) -> dict[str, Any]:
    return {"id": 7, "method": "tools/call", "params": params}


def test_a_point_read_is_answered_as_json_and_as_everywhere_else(served: Served) -> None:
    session = open_session(served)
    quick = post(served, _call(_FIND), session)
    assert quick.headers["content-type"] == "application/json"
    bare = served.post("tools/call", _FIND)
    assert quick.json() == {**bare, "id": 7}
    slow = post(served, _call(_QUERY), session)
    assert slow.headers["content-type"].startswith("text/event-stream")


@pytest.mark.parametrize("params", [_FIND, _QUERY], ids=["quick", "slow"])
def test_nobody_else_can_use_a_session(served: Served, params: dict[str, Any]) -> None:
    session = open_session(served)
    assert post(served, _call(params), session).status_code == 200
    assert post(served, _call(params), session, role="reader").status_code == 404
    assert post(served, _call(params), "0" * 32).status_code == 404


@pytest.mark.parametrize("params", [_FIND, _QUERY], ids=["quick", "slow"])
def test_a_session_that_has_ended_is_gone(served: Served, params: dict[str, Any]) -> None:
    session = open_session(served)
    headers = {"Authorization": f"Bearer {served.token()}", "Mcp-Session-Id": session}
    with httpx2.Client(verify=WITHOUT_TLS) as client:
        assert client.delete(served.url, headers=headers).status_code == 200
    assert post(served, _call(params), session).status_code == 404


def test_no_read_comes_through_after_the_end(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token()}", "Accept": BOTH}
    call = {"jsonrpc": "2.0", **_call(_FIND)}
    with httpx2.Client(verify=WITHOUT_TLS, headers=headers) as client:
        for _ in range(12):
            mine = {"Mcp-Session-Id": open_session(served)}
            assert client.post(served.url, headers=mine, json=call).status_code == 200
            assert client.delete(served.url, headers=mine).status_code == 200
            assert client.post(served.url, headers=mine, json=call).status_code == 404


def test_nobody_can_end_the_session_of_another(served: Served) -> None:
    session = open_session(served)
    headers = {"Authorization": f"Bearer {served.token('reader')}", "Mcp-Session-Id": session}
    with httpx2.Client(verify=WITHOUT_TLS) as client:
        assert client.delete(served.url, headers=headers).status_code == 404
    quick = post(served, _call(_FIND), session)
    assert quick.status_code == 200
    assert quick.headers["content-type"] == "application/json"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18"])
def test_the_version_of_a_session_is_the_one_it_began_with(served: Served, version: str) -> None:
    """A header that names another old version changes nothing, by either way."""
    session = open_session(served)
    for params in (_FIND, _QUERY):
        plain = post(served, _call(params), session)
        other = post(served, _call(params), session, version=version)
        assert (other.status_code, other.text) == (200, plain.text)


# --- how many, and for how long --------------------------------------------------------------


_FEW = 8


def _is_alive(served: Served, session: str, role: Role) -> bool:
    return post(served, {"id": 2, "method": "ping"}, session, role=role).status_code == 200


def test_an_account_has_so_many_sessions_and_the_longest_idle_makes_room(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_PER_ACCOUNT", _FEW)
    other = open_session(served, "writer")
    mine = [open_session(served, "reader") for _ in range(_FEW)]
    listener = {"Authorization": f"Bearer {served.token('reader')}", "Accept": BOTH}
    listener["Mcp-Session-Id"] = mine[0]
    with (
        httpx2.Client(verify=WITHOUT_TLS, timeout=20) as client,
        client.stream("GET", served.url, headers=listener),
    ):
        assert post(served, _call(_FIND), mine[1], role="reader").status_code == 200
        mine += [open_session(served, "reader") for _ in range(2)]
        ended = {n for n, one in enumerate(mine) if not _is_alive(served, one, "reader")}
        assert ended == {2, 3}  # the first has an open stream, the second was used since
    assert _is_alive(served, other, "writer")


def test_an_initialize_that_failed_counts(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SESSIONS_PER_ACCOUNT", _FEW)
    greeting = {"id": 1, "method": "initialize", "params": {"protocolVersion": 5}}
    failed = [post(served, greeting, role="writer") for _ in range(_FEW + 1)]
    assert all("error" in one.text for one in failed)
    ids = [one.headers["mcp-session-id"] for one in failed]
    assert not _is_alive(served, ids[0], "writer")
    assert _is_alive(served, ids[-1], "writer")


def test_a_session_that_never_listened_is_kept_for_a_short_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "IDLE_S", 1.0)
    with serving(tmp_path / "idle.db") as served:
        silent, heard = open_session(served), open_session(served)
        headers = {"Mcp-Session-Id": heard}
        with streaming(served, "GET", "/mcp", headers=headers):
            time.sleep(0.1)
        time.sleep(1.5)
        assert post(served, _call(_FIND), silent).status_code == 404
        assert post(served, _call(_FIND), heard).status_code == 200


def test_a_listener_that_accepts_no_stream_is_told_so(served: Served) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {
        "Authorization": f"Bearer {served.token()}",
        "Accept": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "subscriptions/listen",
    }
    with httpx2.Client(verify=WITHOUT_TLS, timeout=5) as client:
        assert client.post(served.url, headers=headers, json=body).status_code == 406
