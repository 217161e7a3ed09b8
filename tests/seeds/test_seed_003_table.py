"""Seed 003, Sandwich: limits, audit and the table of errors, line by line."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

from tests.mcp.without_tls import WITHOUT_TLS
from tests.seeds.caring import PATH, Caregiver, minted
from tests.seeds.typing_it import post, rpc

PER_MINUTE = 60
CAPACITY = 60
CANARY = "canary-5f1e0c"
CALL = {"name": "list_care_events", "arguments": {"limit": 10}}


def rows_of(caregiver: Caregiver, key: str) -> list[dict[str, Any]]:
    """The rows of the audit that were written for a key, oldest first."""
    lines = caregiver.server.sandbar("audit", "export").splitlines()
    return [row for line in lines if (row := json.loads(line)).get("key") == key]


# --- limits ---------------------------------------------------------------------------------------


def test_a_bucket_of_60_is_emptied_and_fills_by_one_a_second(caregiver: Caregiver) -> None:
    """Sustained 60 a minute and a burst of 60; on exceed 429, Retry-After and -32029."""
    greedy = minted(caregiver.server, "greedy")
    body, headers = rpc("ping"), {"Authorization": f"Bearer {greedy.token}"}
    url = f"http://{greedy.address}{PATH}"
    began = time.monotonic()
    with httpx.Client(verify=WITHOUT_TLS, headers=headers, timeout=30) as client:
        answers = [client.post(url, json=body)]
        while answers[-1].status_code == 200:
            passed = time.monotonic() - began
            assert len(answers) <= CAPACITY + int(passed * PER_MINUTE / 60) + 1
            answers.append(client.post(url, json=body))
        refused = answers[-1]
        assert len(answers) > CAPACITY
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, -32029)
        assert refused.json()["id"] == 1
        assert refused.headers["retry-after"] == "1"
        time.sleep(1)
        assert client.post(url, json=body).status_code == 200


def test_every_key_has_a_bucket_of_its_own(caregiver: Caregiver) -> None:
    """Also two keys of one person."""
    one = minted(caregiver.server, "one", "--rate-limit", "1", "--burst", "1")
    other = minted(caregiver.server, "other", "--rate-limit", "1", "--burst", "1")
    assert [one.ask("ping").status, one.ask("ping").status] == [200, 429]
    assert other.ask("ping").status == 200


def test_whoever_respects_retry_after_is_served(caregiver: Caregiver) -> None:
    """Retry-After is whole seconds, rounded up: 61 a minute would be too fast."""
    steady = minted(caregiver.server, "steady", "--rate-limit", "40", "--burst", "1")
    assert steady.ask("ping").status == 200
    refused = steady.ask("ping")
    assert refused.headers["retry-after"] == "2"
    time.sleep(2)
    assert steady.ask("ping").status == 200


# --- audit ----------------------------------------------------------------------------------------


def test_every_request_writes_one_row(caregiver: Caregiver) -> None:
    """Who, tenant, method, tool, success and duration; refused and limited ones as well."""
    audited = minted(caregiver.server, "audited", "--rate-limit", "1", "--burst", "7")
    audited.ask("initialize")
    audited.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    audited.ask("tools/list")
    audited.ask("tools/call", CALL)
    audited.call("list_care_events", lovedOneId=CANARY)
    audited.call("list_care_events", limit=99)
    audited.ask("no/such")
    audited.ask("ping")
    rows = rows_of(caregiver, "audited")
    assert [(row["method"], row["verb"], row["success"], row["code"]) for row in rows] == [
        ("initialize", None, True, None),
        ("notifications/initialized", None, True, None),
        ("tools/list", None, True, None),
        ("tools/call", "list_care_events", True, None),
        ("tools/call", "list_care_events", False, "care.not-authorized"),
        ("tools/call", "list_care_events", False, "arguments.invalid"),
        ("no/such", None, False, "method.unknown"),
        ("ping", None, False, "limit.exceeded"),
    ]
    assert {row["principal"] for row in rows} == {"user/owner"}
    exported = caregiver.server.sandbar("audit", "export").splitlines()
    assert json.loads(exported[-1])["workspace"] == "main", "the tenant of every row"
    assert all(row["duration-us"] >= 0 and row["at"] and row["request-id"] for row in rows)


def test_arguments_and_results_are_not_stored(caregiver: Caregiver) -> None:
    private = minted(caregiver.server, "private", "--rate-limit", "0")
    private.call("list_care_events", lovedOneId=f"{CANARY}-id")
    private.call(f"{CANARY} as a tool", note=f"{CANARY}-note")
    assert "Rosa" in private.call("list_care_events").body
    rows = rows_of(caregiver, "private")
    assert len(rows) == 3
    told = json.dumps(rows)
    assert CANARY not in told
    assert "Rosa" not in told
    assert CANARY not in caregiver.server.log()


def test_the_row_stands_before_the_answer_and_the_log_is_intact(caregiver: Caregiver) -> None:
    early = minted(caregiver.server, "early", "--rate-limit", "0")
    early.ask("ping")
    assert len(rows_of(caregiver, "early")) == 1
    assert caregiver.server.sandbar("audit", "verify").startswith("intact")


def test_what_was_not_authenticated_or_not_parsed_has_no_row(caregiver: Caregiver) -> None:
    quiet = minted(caregiver.server, "quiet")
    quiet.post("{")
    post(quiet.address, rpc("ping"), token="sk-sand-" + "0" * 64, path=PATH)
    assert rows_of(caregiver, "quiet") == []
    quiet.ask("ping")
    assert len(rows_of(caregiver, "quiet")) == 1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "token",
    [
        None,
        "sk-sand-",
        "sk-sand-4c2fa8e1b7d9",
        "sk-sand-" + "0" * 64,
        "sk-sand-" + "g" * 64,
        "nonsense",
        "nobody:nothing",
    ],
)
def test_401_for_a_missing_malformed_or_unknown_key(
    caregiver: Caregiver, token: str | None
) -> None:
    answer = post(caregiver.address, rpc("ping"), token=token, path=PATH)
    assert (answer.status, answer.error()["code"]) == (401, -32001)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_403_for_a_key_that_was_revoked(caregiver: Caregiver) -> None:
    ended = minted(caregiver.server, "ended")
    caregiver.server.sandbar("key", "revoke", "ended")
    answer = ended.ask("ping")
    assert (answer.status, answer.error()["code"]) == (403, -32001)
    assert "new one" in answer.error()["data"]["hint"]


@pytest.mark.parametrize("body", ["", "{", "{'jsonrpc': '2.0'}", "\u0000"])
def test_400_for_a_body_that_is_no_json(caregiver: Caregiver, body: str) -> None:
    answer = caregiver.post(body)
    assert (answer.status, answer.error()["code"]) == (400, -32700)


@pytest.mark.parametrize("method", ["no/such", "resources/list", "tools/Call"])
def test_200_and_32601_for_a_method_that_does_not_exist(caregiver: Caregiver, method: str) -> None:
    answer = caregiver.ask(method)
    assert (answer.status, answer.error()["code"]) == (200, -32601)


@pytest.mark.parametrize("tool", ["nope", "Ping", "sandbar_entity_create", "list_care_events "])
def test_200_and_32601_for_a_tool_that_does_not_exist(caregiver: Caregiver, tool: str) -> None:
    answer = caregiver.call(tool)
    assert (answer.status, answer.error()["code"]) == (200, -32601)


def test_200_and_32002_for_a_tool_that_refuses(caregiver: Caregiver) -> None:
    answer = caregiver.call("list_care_events", lovedOneId="somebody-else")
    assert (answer.status, answer.error()["code"]) == (200, -32002)
    assert answer.error()["message"] == "not authorized"
