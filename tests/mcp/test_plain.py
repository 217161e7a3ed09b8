"""The endpoint of a pack: its methods, its own table of errors, and nothing besides."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sandbar.access import mint
from sandbar.database import open_database, prepare_postgres
from sandbar.packs import load_pack
from tests.mcp.planting import Endless
from tests.mcp.served import MODERN, OLD, Served, serving
from tests.mcp.without_tls import WITHOUT_TLS

TOOLS = ["ping", "get_user_profile", "list_loved_ones", "list_care_events"]
ODD_IDS = [1, 0, -7, 2**53, "x", "", "ü"]


class Door:
    """One key at the endpoint of the pack."""

    def __init__(self, served: Served, token: str) -> None:
        self.url = served.url.replace("/mcp", "/api/mcp")
        self.headers = {"Authorization": f"Bearer {token}"}

    def send(self, body: Any, **headers: str) -> httpx2.Response:
        """Post a body as it is."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        with httpx2.Client(verify=WITHOUT_TLS) as client:
            return client.post(
                self.url, headers={**self.headers, **headers}, content=content, timeout=30
            )

    def ask(self, method: str, params: Any = None, **headers: str) -> Any:
        """The response to a request, which is served."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method}
        if params is not None:
            body["params"] = params
        answer = self.send(body, **headers)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        message = answer.json()
        assert (message["jsonrpc"], message["id"]) == ("2.0", 1)
        return message

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        message = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in message, message
        return message["result"]


@pytest.fixture(scope="module")
def cared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two families, and a workspace `beside` that has no pack."""
    path: Path = tmp_path_factory.mktemp("cared") / "care.db"
    open_database(path, workspace="beside").close()
    with serving(path, packs=("care",)) as running:
        yield running


def key_of(served: Served, name: str, workspace: str = "main", **more: Any) -> Door:
    """A key without a limit."""
    home = served.db.in_workspace(workspace).workspace
    return Door(served, mint(home, name, rate_limit=0, **more).token)


@pytest.fixture(scope="module")
def door(cared: Served) -> Door:
    """The key of the workspace's owner."""
    return key_of(cared, "plain")


# --- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "agreed"),
    [("2025-11-25", "2025-11-25"), ("2024-11-05", "2024-11-05"), ("1999-01-01", OLD), (None, OLD)],
)
def test_initialize_agrees_upon_an_old_version(door: Door, wish: Any, agreed: str) -> None:
    params = {} if wish is None else {"protocolVersion": wish, "capabilities": {}}
    result = door.ask("initialize", params)["result"]
    assert result["protocolVersion"] == agreed
    assert result["serverInfo"] == {"name": "sandwich", "title": "Sandwich MCP", "version": "1"}
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert "list_loved_ones" in result["instructions"]


def test_initialize_opens_no_session(door: Door) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    answer = door.send(body, Accept="application/json, text/event-stream")
    assert answer.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/whatever", "ping"])
def test_notifications_are_accepted_and_ignored(door: Door, method: str) -> None:
    answer = door.send({"jsonrpc": "2.0", "method": method})
    assert (answer.status_code, answer.content) == (202, b"")


def test_a_numbered_initialized_and_a_ping_are_answered_with_nothing(door: Door) -> None:
    assert door.ask("notifications/initialized")["result"] == {}
    assert door.ask("ping")["result"] == {}


def test_tools_list_has_just_these_tools(door: Door) -> None:
    tools = door.ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    schema = tools[-1]["inputSchema"]["properties"]
    assert schema["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "default": 10,
        "description": schema["limit"]["description"],
    }
    assert schema["lovedOneId"]["type"] == "string"
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    assert door.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602


def test_the_url_cannot_ask_for_other_lists(door: Door) -> None:
    other = Door.__new__(Door)
    other.url, other.headers = f"{door.url}?tools=core&names=seed", door.headers
    assert len(other.ask("tools/list")["result"]["tools"]) == 4


def test_the_tool_ping_is_not_the_method_ping(door: Door) -> None:
    (block,) = door.call("ping")["content"]
    assert block["text"].startswith("pong from sandwich platform — uid=user/owner tenant=main")
    assert block["text"].endswith(" via=api-key")


def test_results_come_as_text_and_as_structure(door: Door) -> None:
    result = door.call("list_loved_ones")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert len(result["structuredContent"]["lovedOnes"]) == 2


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "tasks/list", "nope", ""])
def test_other_methods_do_not_exist(door: Door, method: str) -> None:
    error = door.ask(method)["error"]
    assert (error["code"], error["data"]["code"]) == (-32601, "method.unknown")


@pytest.mark.parametrize("tool", ["nope", "", "sandbar_entity_find", "sandbar.entity.find"])
def test_other_tools_do_not_exist_not_even_ours(door: Door, tool: str) -> None:
    error = door.ask("tools/call", {"name": tool, "arguments": {}})["error"]
    assert error["code"] == -32601
    assert "list_care_events" in error["data"]["hint"]
    assert error["data"]["request-id"]


def test_a_refusal_is_an_error_with_a_message(door: Door) -> None:
    arguments = {"lovedOneId": "no-such"}
    error = door.ask("tools/call", {"name": "list_care_events", "arguments": arguments})["error"]
    assert (error["code"], error["message"]) == (-32002, "not authorized")
    assert error["data"]["code"] == "care.not-authorized"


def test_a_foreign_id_and_an_unknown_one_get_the_same_bytes(cared: Served, door: Door) -> None:
    adaeze = cared.db.get("loved-one/adaeze").entity_id
    answers = set()
    for id in [
        adaeze,
        str(adaeze),
        "loved-one/adaeze",
        cared.db.get("pack/care").entity_id,
        *ODD_IDS,
    ]:
        params = {"name": "list_care_events", "arguments": {"lovedOneId": id}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = door.send(body, **{"X-Request-Id": "same"})
        kept = {name: value for name, value in answer.headers.items() if name != "date"}
        answers.add((answer.status_code, answer.content, tuple(sorted(kept.items()))))
    assert len(answers) == 1, answers


def test_wrong_arguments_are_a_result_that_a_model_can_mend(door: Door) -> None:
    result = door.call("list_care_events", limit=51, lovedOnesId="1")
    assert result["isError"] is True
    findings = result["structuredContent"]["findings"]
    assert {finding["argument"] for finding in findings} == {"limit", "lovedOnesId"}


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "ping", "arguments": []}])
def test_a_call_without_a_tool_is_wrong(door: Door, params: Any) -> None:
    assert door.ask("tools/call", params)["error"]["code"] == -32602


def test_a_defect_leaves_as_a_number(
    cared: Served, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(context: Any) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr("sandbar.packs.care.code.own_family", broken)
    error = door.ask("tools/call", {"name": "list_loved_ones"})["error"]
    assert (error["code"], error["data"]["code"]) == (-32002, "verb.failed")
    assert "secret" not in json.dumps(error)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"{'a': 1}", b"[" * 200_000])
def test_what_is_no_json_is_400(door: Door, body: bytes) -> None:
    answer = door.send(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("body", [[], 5, {}, {"jsonrpc": "2.0", "id": None, "method": "ping"}])
def test_what_is_no_request_is_400(door: Door, body: Any) -> None:
    answer = door.send(body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH", "HEAD"])
def test_there_is_only_post(door: Door, method: str) -> None:
    with httpx2.Client(verify=WITHOUT_TLS) as client:
        answer = client.request(method, door.url, headers=door.headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_whoever_is_not_known_does_not_come_in(cared: Served) -> None:
    answer = Door(cared, "sk-sand-" + "0" * 64).send({"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, -32001)
    assert answer.json()["id"] == 7


def test_whoever_hangs_up_stops_the_tool(
    cared: Served, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = Endless()
    monkeypatch.setattr(
        "sandbar.packs.care.code.own_family", lambda context: endless(context, None)
    )
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "list_loved_ones"},
    }
    with (
        httpx2.Client(verify=WITHOUT_TLS, timeout=0.5) as client,
        pytest.raises(httpx2.TimeoutException),
    ):
        client.post(door.url, headers=door.headers, json=body)
    assert endless.begun.is_set()
    assert endless.stopped.wait(5)


def test_too_many_requests_are_told_when_to_come_back(cared: Served) -> None:
    token = mint(cared.db.workspace, "hasty", rate_limit=6, burst=1).token
    hasty = Door(cared, token)
    body = {"jsonrpc": "2.0", "id": 5, "method": "ping"}
    assert hasty.send(body).status_code == 200
    for answer, code in ((hasty.send(body), -32029), (modern(hasty, "tools/list"), 429)):
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, code)
        assert 8 <= int(answer.headers["retry-after"]) <= 10
    assert hasty.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status_code == 429


# --- workspaces, roles ----------------------------------------------------------------------------


def test_a_workspace_without_the_pack_has_no_tools(cared: Served) -> None:
    beside = key_of(cared, "beside", "beside")
    assert beside.ask("tools/list")["result"]["tools"] == []
    error = beside.ask("tools/call", {"name": "ping"})["error"]
    assert (error["code"], error["data"]["code"]) == (-32601, "verb.unknown")
    assert "sandbar pack add care" in error["data"]["hint"]


def test_other_workspaces_have_other_families(cared: Served, door: Door) -> None:
    open_database(cared.path, workspace="other").close()
    other = cared.db.in_workspace("other")
    load_pack(other.workspace, "care")
    for n in range(50):  # until it has an id that our workspace has not come to
        slots = {"loved-one/name": f"Canary {n}", "loved-one/family": "family/rivera"}
        id = other.create("care/LovedOne", slots).entity_id
    theirs = key_of(cared, "theirs", "other")
    assert "Canary" in str(theirs.call("list_loved_ones"))
    assert "Canary" not in str(door.call("list_loved_ones"))
    assert theirs.call("list_care_events", lovedOneId=id)["structuredContent"] == {"events": []}
    params = {"name": "list_care_events", "arguments": {"lovedOneId": id}}
    assert door.ask("tools/call", params)["error"]["message"] == "not authorized"


def test_a_caregiver_has_these_tools_and_nothing_else(cared: Served) -> None:
    chidi = key_of(cared, "chidi", user="chidi")
    assert len(chidi.call("list_loved_ones")["structuredContent"]["lovedOnes"]) == 1
    chidi.url = cared.url
    tools = [tool["name"] for tool in chidi.ask("tools/list")["result"]["tools"]]
    assert [name for name in tools if name in TOOLS] == TOOLS
    assert not [name for name in tools if "entity" in name]
    refused = chidi.call("sandbar.entity.find", entity="loved-one/rosa")
    assert refused["isError"] is True


def test_a_key_that_is_narrowed_to_other_verbs_is_refused(cared: Served) -> None:
    narrow = key_of(cared, "narrow", verbs=["entity.find"])
    assert narrow.ask("tools/list")["result"]["tools"] == []
    assert narrow.ask("tools/call", {"name": "ping"})["error"]["code"] == -32002


# --- the same tools at the ordinary endpoint ------------------------------------------------------


def test_the_tools_are_at_the_ordinary_endpoint_with_its_errors(cared: Served, door: Door) -> None:
    usual = Door(cared, "")
    usual.url, usual.headers = cared.url, door.headers
    names = [tool["name"] for tool in usual.ask("tools/list")["result"]["tools"]]
    assert set(TOOLS) < set(names)
    assert usual.ask("ping")["result"] == {}
    assert usual.call("ping")["content"][0]["text"].startswith("pong")
    refused = usual.call("list_care_events", lovedOneId="no-such")
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"] == "care.not-authorized"


# --- 2026-07-28 -----------------------------------------------------------------------------------


def modern(door: Door, method: str, **params: Any) -> httpx2.Response:
    """A request of the revision without a handshake."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return door.send(body, **headers)


def test_2026_07_28_has_just_these_tools(door: Door) -> None:
    found = modern(door, "server/discover").json()["result"]
    assert found["capabilities"] == {"tools": {}} or found["capabilities"] == {
        "tools": {"listChanged": False}
    }
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "sandwich"
    assert "list_loved_ones" in found["instructions"]
    tools = modern(door, "tools/list").json()["result"]["tools"]
    assert [tool["name"] for tool in tools] == TOOLS


def test_2026_07_28_has_its_own_errors(door: Door) -> None:
    called = modern(door, "tools/call", name="ping", arguments={})
    assert called.headers["content-type"] == "application/json"
    assert called.json()["result"]["content"][0]["text"].startswith("pong")
    unknown = modern(door, "tools/call", name="sandbar_entity_find", arguments={"entity": 1}).json()
    assert unknown["error"]["code"] == -32602
    assert unknown["error"]["data"]["available-tools"] == sorted(TOOLS)
    refused = modern(door, "tools/call", name="list_care_events", arguments={"lovedOneId": "1"})
    assert refused.json()["result"]["isError"] is True
    missing = modern(door, "resources/list")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, -32601)


def test_every_road_writes_its_row(cared: Served) -> None:
    audited = key_of(cared, "audited")
    audited.call("ping")
    audited.call("list_care_events", limit=0)
    modern(audited, "tools/call", name="ping", arguments={})
    modern(audited, "tools/call", name="nope", arguments={})
    modern(audited, "server/discover")
    audited.send(b"{")
    trail, ws = cared.db.journal.trail, cared.db.workspace.number
    rows = [row for row in trail.rows(ws, limit=50) if row.key == "audited"]
    assert [(row.method, row.verb, row.code) for row in reversed(rows)] == [
        ("tools/call", "ping", None),
        ("tools/call", "list_care_events", "arguments.invalid"),
        ("tools/call", "ping", None),
        ("tools/call", "nope", "verb.unknown"),
        ("server/discover", None, None),
    ]


def test_it_is_the_same_on_postgresql(fresh_postgres: str) -> None:
    with serving(prepare_postgres(fresh_postgres, role="sandbar_app"), packs=("care",)) as served:
        owner, chidi = key_of(served, "owner"), key_of(served, "chidi", user="chidi")
        assert len(owner.call("list_care_events")["structuredContent"]["events"]) == 7
        assert len(chidi.call("list_care_events")["structuredContent"]["events"]) == 2
        rosa = owner.call("list_loved_ones")["structuredContent"]["lovedOnes"][0]["id"]
        params = {"name": "list_care_events", "arguments": {"lovedOneId": rosa}}
        assert chidi.ask("tools/call", params)["error"]["message"] == "not authorized"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy", MODERN])
async def test_the_sdks_client_connects_and_calls(door: Door, mode: str) -> None:
    async with httpx2.AsyncClient(verify=WITHOUT_TLS, headers=door.headers, timeout=30) as http:
        transport = streamable_http_client(door.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            result = await client.call_tool("ping", {})
    assert "via=api-key" in str(result.content)
