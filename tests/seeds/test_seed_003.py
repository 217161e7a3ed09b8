"""Seed 003, Sandwich: what it prints is typed, and what it says of keys, methods and tools is so.

Limits, audit and errors are in test_seed_003_table.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

import sandbar
from tests.live_server import sandbar as run_sandbar
from tests.seeds.caring import KEY, PATH, PRINTED_KEY, PRINTED_SITE, Caregiver, minted
from tests.seeds.printing import printed, replaced
from tests.seeds.typing_it import PRINTED_ADDRESS, Answer, payload, rpc, shell

TOOLS = ["ping", "get_user_profile", "list_loved_ones", "list_care_events"]
PONG = "pong from sandwich platform — uid=user/owner tenant=main via=api-key"


def seen_by(config: dict[str, Any]) -> tuple[list[str], str]:
    """What a client with this configuration finds: the tools, and what `ping` answers."""

    async def look() -> tuple[list[str], str]:
        async with Client(config) as client:
            tools = [tool.name for tool in await client.list_tools()]
            return tools, (await client.call_tool("ping", {})).content[0].text

    return asyncio.run(look())


def sent_raw(address: str, head: str, body: str) -> Answer:
    """The answer to a request that was written by hand."""
    host, _, port = address.partition(":")
    lines = [*head.splitlines(), f"Content-Length: {len(body.encode())}", "Connection: close"]
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    first, _, text = answer.partition("\r\n\r\n")
    status, *fields = first.splitlines()
    headers = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
    return Answer(int(status.split()[1]), headers, text)


# --- keys -----------------------------------------------------------------------------------------


def test_a_key_is_sk_sand_and_64_hex_digits_and_is_shown_once(caregiver: Caregiver) -> None:
    shown = caregiver.server.sandbar("key", "mint", "--name", "shown")
    assert len(KEY.findall(shown)) == 1
    assert KEY.findall(caregiver.server.sandbar("key", "list")) == []


def test_a_key_is_stored_as_its_sha_256_and_nowhere_else(caregiver: Caregiver) -> None:
    stored = b"".join(
        path.read_bytes() for path in Path(caregiver.server.database).parent.glob("*.db*")
    )
    secret = caregiver.token.removeprefix("sk-sand-")
    assert secret.encode() not in stored
    assert bytes.fromhex(secret) not in stored
    assert hashlib.sha256(caregiver.token.encode()).digest() in stored
    assert secret not in caregiver.server.log()


def test_the_printed_header_signs_in(caregiver: Caregiver) -> None:
    block = printed("seed-003/authorization.txt")
    header = re.sub(r"sk-sand-[0-9a-f]*…", caregiver.token, block)
    assert header == f"Authorization: Bearer {caregiver.token}"
    head = f"POST {PATH} HTTP/1.1\nHost: {caregiver.address}\n{header}"
    assert sent_raw(caregiver.address, head, json.dumps(rpc("ping"))).result() == {}


def test_a_revoked_key_is_refused_on_the_very_next_request(caregiver: Caregiver) -> None:
    lost = minted(caregiver.server, "lost")
    assert lost.ask("ping").status == 200
    caregiver.server.sandbar("key", "revoke", "lost")
    answer = lost.ask("ping")
    assert (answer.status, answer.error()["code"]) == (403, -32001)


def test_a_caregiver_mints_a_key_and_reads_the_own_workspace_only(caregiver: Caregiver) -> None:
    chidi = minted(caregiver.server, "chidi", "--user", "chidi", "--rate-limit", "0")
    theirs, ours = chidi.told("list_loved_ones"), caregiver.told("list_loved_ones")
    assert [one["name"] for one in theirs["lovedOnes"]] == ["Adaeze Okafor"]
    assert [one["name"] for one in ours["lovedOnes"]] == ["Rosa Rivera", "Ernesto Rivera"]


def test_agents_inside_share_the_tools_and_need_no_key(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "inside.db") as db:
        db.load_pack("care")
        assert db.call("ping").blocks[0]["text"].endswith("via=local")
        assert db.call("get_user_profile").uid == "local"


# --- endpoint and transport -----------------------------------------------------------------------


def test_the_printed_request_is_answered_with_one_json_response(caregiver: Caregiver) -> None:
    head, _, body = printed("seed-003/call-tool.http").partition("\n\n")
    head = replaced(head, "app.joinsandwich.com", caregiver.address)
    answer = sent_raw(caregiver.address, replaced(head, PRINTED_KEY, caregiver.token), body)
    assert answer.json()["id"] == 1
    events = payload(answer.result())["events"]
    assert len(events) == 7
    assert "mcp-session-id" not in answer.headers


def test_every_post_stands_alone(caregiver: Caregiver) -> None:
    """No handshake before a call, and none after it counts."""
    assert caregiver.call("ping").status == 200
    first, second = caregiver.ask("initialize"), caregiver.ask("initialize")
    assert first.body == second.body
    assert "mcp-session-id" not in first.headers


def test_nothing_is_streamed(caregiver: Caregiver) -> None:
    head = (
        f"GET {PATH} HTTP/1.1\nHost: {caregiver.address}\nAccept: text/event-stream\n"
        f"Authorization: Bearer {caregiver.token}"
    )
    answer = sent_raw(caregiver.address, head, "")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    head = (
        f"POST {PATH} HTTP/1.1\nHost: {caregiver.address}\nAccept: text/event-stream\n"
        f"Authorization: Bearer {caregiver.token}"
    )
    assert sent_raw(caregiver.address, head, json.dumps(rpc("ping"))).result() == {}


def test_initialize_says_who_and_what_it_is(caregiver: Caregiver) -> None:
    result = caregiver.ask("initialize", {"protocolVersion": "2025-06-18"}).result()
    assert result["protocolVersion"] == "2025-06-18"
    assert result["serverInfo"]["name"] == "sandwich"
    assert result["serverInfo"]["version"] == "1"
    assert list(result["capabilities"]) == ["tools"]


def test_initialized_is_accepted_and_ignored(caregiver: Caregiver) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = caregiver.post(body)
    assert (answer.status, answer.body) == (202, "")


def test_tools_list_shows_the_tools(caregiver: Caregiver) -> None:
    tools = caregiver.ask("tools/list").result()["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)


def test_tools_call_takes_a_name_and_arguments(caregiver: Caregiver) -> None:
    body = rpc("tools/call", {"name": "ping", "arguments": {}})
    assert caregiver.post(body).result()["content"] == [{"type": "text", "text": PONG}]


def test_ping_is_a_method_and_also_a_tool(caregiver: Caregiver) -> None:
    assert caregiver.ask("ping").result() == {}
    assert caregiver.call("ping").result() != {}


# --- tools ----------------------------------------------------------------------------------------


def test_ping_has_no_side_effects(caregiver: Caregiver) -> None:
    with sandbar.open(caregiver.server.database) as db:
        before = db.t
        assert caregiver.call("ping").result()["content"][0]["text"] == PONG
        assert db.t == before


def test_get_user_profile(caregiver: Caregiver) -> None:
    assert caregiver.told("get_user_profile") == {
        "uid": "user/owner",
        "email": None,
        "tenantType": "family",
        "workspaceName": "The Rivera family",
        "familyMemberCount": 1,
    }


def test_list_loved_ones_is_for_families(caregiver: Caregiver) -> None:
    ours = caregiver.told("list_loved_ones")["lovedOnes"]
    assert [set(one) for one in ours] == [{"id", "name"}] * 2
    boss = Caregiver(caregiver.server, caregiver.server.token)
    error = boss.call("list_loved_ones").error()
    assert error["code"] == -32002
    assert "not authorized" in error["message"]


def test_list_care_events_of_one_and_of_all(caregiver: Caregiver) -> None:
    """The limit counts for each loved one when it is about all."""
    rosa, ernesto = (one["id"] for one in caregiver.told("list_loved_ones")["lovedOnes"])
    of_one = caregiver.told("list_care_events", lovedOneId=rosa, limit=1)["events"]
    of_all = caregiver.told("list_care_events", limit=1)["events"]
    assert [event["lovedOneId"] for event in of_one] == [rosa]
    assert [event["lovedOneId"] for event in of_all] == [ernesto, rosa]
    newest_first = [event["at"] for event in caregiver.told("list_care_events")["events"]]
    assert newest_first == sorted(newest_first, reverse=True)


@pytest.mark.parametrize(("limit", "is_right"), [(0, False), (1, True), (50, True), (51, False)])
def test_the_limit_is_from_1_to_50(caregiver: Caregiver, limit: int, is_right: bool) -> None:
    result = caregiver.call("list_care_events", limit=limit).result()
    assert result.get("isError", False) is not is_right


def test_a_loved_one_of_others_is_not_authorized_like_one_that_does_not_exist(
    caregiver: Caregiver,
) -> None:
    with sandbar.open(caregiver.server.database) as db:
        theirs = db.get("loved-one/adaeze").entity_id
    errors = [caregiver.call("list_care_events", lovedOneId=id).error() for id in (theirs, 987654)]
    for error in errors:
        assert (error["code"], error["message"]) == (-32002, "not authorized")
        del error["data"]["request-id"]
    assert errors[0] == errors[1]


# --- connecting -----------------------------------------------------------------------------------


def connected(client: str, *words: str) -> str:
    """What `sandbar connect` prints for a client, as the seed prints it."""
    return run_sandbar("connect", client, "--pack", "care", "--as-printed", *words).rstrip("\n")


def test_claude_desktop_with_the_printed_configuration_connects(caregiver: Caregiver) -> None:
    block = printed("seed-003/claude-desktop.json")
    assert seen_by(json.loads(caregiver.filled(block))) == (TOOLS, PONG)
    assert connected("claude-desktop", "--url", f"{PRINTED_SITE}{PATH}") == block


def test_cursor_has_the_same_url_and_header(caregiver: Caregiver) -> None:
    url = f"http://{caregiver.address}{PATH}"
    config = json.loads(connected("cursor", "--url", url, "--token", caregiver.token))
    assert config["mcpServers"]["sandwich"] == {
        "url": url,
        "headers": {"Authorization": f"Bearer {caregiver.token}"},
    }
    assert seen_by(config) == (TOOLS, PONG)


def test_the_printed_smoke_test_is_answered_as_it_says(caregiver: Caregiver, folder: Path) -> None:
    block = printed("seed-003/ping.sh")
    command = replaced(block, PRINTED_SITE, f"http://{PRINTED_ADDRESS}")
    answer = shell(replaced(command, PRINTED_KEY, caregiver.token), caregiver.address, folder)
    (expected,) = re.findall(r'^# Expect: "(.*)"$', block, re.MULTILINE)
    shape = re.escape(expected).replace("…", "[^ ]+")
    assert re.fullmatch(shape, answer.result()["content"][0]["text"])
    assert connected("curl", "--url", f"{PRINTED_SITE}{PATH}") == block


def test_codex_with_the_printed_configuration_connects(caregiver: Caregiver) -> None:
    block = printed("seed-003/codex.toml")
    table = tomllib.loads(caregiver.filled(block))["mcp_servers"]["sandwich"]
    headers = {"Authorization": table["auth_header"]}
    config = {"mcpServers": {"sandwich": {"url": table["url"], "headers": headers}}}
    assert seen_by(config) == (TOOLS, PONG)
    assert connected("codex", "--url", f"{PRINTED_SITE}{PATH}") == block


def test_the_snippets_take_the_servers_own_address_and_the_key(caregiver: Caregiver) -> None:
    shown = connected("claude-desktop", "--token", caregiver.token)
    assert json.loads(shown)["mcpServers"]["sandwich"] == {
        "url": "http://127.0.0.1:8080/api/mcp",
        "headers": {"Authorization": f"Bearer {caregiver.token}"},
    }
