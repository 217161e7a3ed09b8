"""Sessions belong to who has opened them, also where a read takes the short way."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.mcp.in_session import open_session, post
from tests.mcp.served import Served

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
    with httpx2.Client() as client:
        assert client.delete(served.url, headers=headers).status_code == 200
    assert post(served, _call(params), session).status_code == 404
