"""What the refused are told, whether they can rely on it, and who has which bucket."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from sandbar.access import add_account
from sandbar.model import Create, Update
from tests.conftest import Say
from tests.limits.fleet import Fleet, on_each
from tests.limits.traffic import Client, Stream, Told, run

_ASK_EVERY_S = 0.01  # often, and yet others get to work meanwhile
MODERN, SESSION = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}


@pytest.fixture(scope="module", autouse=True)
def waiting(one: Fleet, four: Fleet) -> Iterator[dict[str, list[Future[str]]]]:
    """Stories that mostly wait: they are told from the first test on, and asked for at the end."""
    stories = {"session": keep_a_session, "retry": wait_as_long_as_told}
    with ThreadPoolExecutor(2 * len(stories)) as pool:
        yield {
            title: [
                pool.submit(story, fleet, f"{title}-{secrets.token_hex(4)}")
                for fleet in (one, four)
            ]
            for title, story in stories.items()
        }


@pytest.fixture
def name(seed: str) -> str:
    """Of whatever a test makes."""
    return f"key-{seed}"


def admitted(fleet: Fleet, token: str, tries: int) -> int:
    """How many of so many requests, over all servers and as fast as possible, are admitted."""
    (seen,) = run([Stream(fleet.ports, token, [0.0] * tries)])
    return sum(one.is_admitted for one in seen)


# --- the answer ------------------------------------------------------------------------------


def call_body(**more: Any) -> bytes:
    params = {"name": "sandbar.entity.find", "arguments": {"entity": "dt/Class"}, **more}
    message = {"jsonrpc": "2.0", "id": "call-7", "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def check_refusal(told: Told, code: int, id: str | int | None) -> None:
    assert told.status == 429
    wait_s = int(told.headers["retry-after"])
    assert 40 < wait_s <= 60
    body = json.loads(told.body)
    assert body["jsonrpc"] == "2.0"
    assert body["id"] == id
    assert body["error"]["code"] == code
    data = body["error"]["data"]
    assert data["code"] == "limit.exceeded"
    assert data["retry-after-s"] == wait_s
    assert f"{wait_s} s" in data["hint"]
    assert "1 times a minute" in body["error"]["message"]
    assert told.headers["x-request-id"]


def test_the_refused_are_told_on_every_road(fleet: Fleet, name: str) -> None:
    """One a minute: the handshake has taken it, or the first request has."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "sandbar.entity.find",
    }
    token = fleet.mint(name, rate_limit=1)
    with Client(fleet.ports[-1], token) as client:
        assert client.ask().status == 200
        check_refusal(client.ask(call_body()), -32029, "call-7")
        check_refusal(client.ask(call_body(), path="/mcp/"), -32029, "call-7")
        check_refusal(client.ask(call_body(), path="/api/mcp"), -32029, "call-7")
        check_refusal(client.ask(call_body(_meta=META), headers), 429, "call-7")
        told = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
        check_refusal(client.ask(told), -32029, None)


def keep_a_session(fleet: Fleet, name: str) -> str:
    accept = {"Accept": "application/json, text/event-stream"}
    params = {
        "protocolVersion": SESSION,
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    with Client(fleet.ports[0], fleet.mint(name, rate_limit=15, burst=2)) as client:
        opened = client.ask(json.dumps(greeting).encode(), accept)
        assert opened.status == 200
        headers = accept | {
            "MCP-Protocol-Version": SESSION,
            "Mcp-Session-Id": opened.headers["mcp-session-id"],
        }
        initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        assert client.ask(initialized, headers).status == 202
        refused = client.ask(call_body(), headers)
        assert refused.status == 429
        assert json.loads(refused.body)["error"]["code"] == -32029
        time.sleep(int(refused.headers["retry-after"]))
        assert client.ask(call_body(), headers).status == 200
    return f"waited for {refused.headers['retry-after']} s"


# --- when to come back -----------------------------------------------------------------------


def wait_as_long_as_told(fleet: Fleet, name: str) -> str:
    """Fifteen a minute, two at once: a token every four seconds."""
    token = fleet.mint(name, rate_limit=15, burst=2)
    port = iter(fleet.ports * 10)
    errors = []

    def ask() -> Told:
        with Client(next(port), token) as client:
            return client.ask()

    def refused(token_at: tuple[float, float]) -> int:
        """Ask before there is a token; it comes between these moments."""
        sent_s = time.monotonic()
        told = ask()
        answered_s = time.monotonic()
        assert told.status == 429
        wait_s = int(told.headers["retry-after"])
        shortest, longest = token_at[0] - answered_s, token_at[1] - sent_s
        errors.append(max(wait_s - longest, shortest - wait_s))
        assert math.ceil(shortest) <= wait_s <= math.ceil(longest)
        return wait_s

    before_s = time.monotonic()
    assert ask().status == 200
    after_s = time.monotonic()
    assert ask().status == 200
    token_at = (before_s + 4, after_s + 4)
    refused(token_at)
    time.sleep(1.7)
    time.sleep(refused(token_at))
    assert ask().status == 200
    next_token = (token_at[0] + 4, token_at[1] + 4)
    time.sleep(refused(next_token))
    assert ask().status == 200
    assert max(errors) < 1
    return f"Retry-After was at most {max(errors):.2f} s off"


# --- whose bucket ----------------------------------------------------------------------------


def test_accounts_with_a_key_of_their_own_choice_are_not_limited(fleet: Fleet, name: str) -> None:
    made = add_account(fleet.db.workspace, name, "a-chosen-key-that-is-long-enough")
    assert made.token.startswith(f"{name}:")
    assert admitted(fleet, made.token, 150) == 150


def test_they_are_limited_if_that_is_set(fleet: Fleet, name: str) -> None:
    made = add_account(fleet.db.workspace, name, "a-chosen-key-that-is-long-enough")
    pace(fleet, made.account.entity_id, 1, 4)
    assert admitted(fleet, made.token, 20) == 4


def pace(fleet: Fleet, entity: Any, per_minute: int, burst: int | None = None) -> None:
    slots = {"auth/rate-limit": per_minute}
    if burst is not None:
        slots["auth/burst"] = burst
    fleet.db.workspace.transact([Update(entity=entity, set=slots)], principal="tests")


def test_a_key_counts_before_its_owner_and_that_one_before_a_role(fleet: Fleet, name: str) -> None:
    role = {"auth/role-name": f"role/{name}", "auth/inherits": [{"auth/role-name": "reader"}]}
    of_role = role | {"auth/rate-limit": 1, "auth/burst": 3}
    made_role = Create(class_="auth/Role", slots=of_role)
    fleet.db.workspace.transact([made_role], principal="tests")
    made = add_account(fleet.db.workspace, name, role=f"role/{name}")
    assert admitted(fleet, made.token, 12) == 3
    pace(fleet, made.account.entity_id, 1, 5)
    other = fleet.mint(f"{name}-owner", user=name)
    assert admitted(fleet, other, 12) == 5
    narrowed = fleet.mint(f"{name}-own", user=name, rate_limit=1, burst=7)
    assert admitted(fleet, narrowed, 12) == 7
    free = fleet.mint(f"{name}-free", user=name, rate_limit=0)
    assert admitted(fleet, free, 90) == 90


def test_a_limit_that_is_changed_counts_at_once(fleet: Fleet, name: str) -> None:
    made = add_account(fleet.db.workspace, name)
    pace(fleet, made.account.entity_id, 1, 2)
    assert admitted(fleet, made.token, 6) == 2
    pace(fleet, made.account.entity_id, 0)
    assert admitted(fleet, made.token, 80) == 80


def test_every_key_has_a_bucket_of_its_own(fleet: Fleet, name: str) -> None:
    first, second = (fleet.mint(f"{name}-{n}", rate_limit=1, burst=6) for n in (1, 2))
    assert admitted(fleet, first, 10) == 6
    assert admitted(fleet, second, 10) == 6
    assert admitted(fleet, first, 10) == 0


def test_a_rotated_key_has_the_bucket_of_the_former(fleet: Fleet, name: str) -> None:
    token = fleet.mint(name, rate_limit=1, burst=5)
    assert admitted(fleet, token, 8) == 5
    rotated = json.loads(fleet.sandbar("call", "key.rotate", "--json", json.dumps({"name": name})))
    with Client(fleet.ports[0], rotated["token"]) as client:
        assert client.ask().status == 429
    with Client(fleet.ports[0], token) as client:
        assert client.ask().status == 403


def test_refused_requests_do_not_put_off_the_next_token(fleets: list[Fleet], name: str) -> None:
    on_each(fleets, lambda fleet: keep_asking(fleet, name))


def keep_asking(fleet: Fleet, name: str) -> None:
    """Whoever keeps asking is served as soon as whoever waits."""
    token = fleet.mint(name, rate_limit=60, burst=1)
    with Client(fleet.ports[0], token) as client:
        began_s = time.monotonic()
        assert client.ask().status == 200
        served_s = time.monotonic()  # so in a second there is a token, at the latest
        asked = 0
        while True:
            sent_s = time.monotonic()
            if client.ask().status == 200:
                break
            asked += 1
            assert sent_s - served_s < 1, "refused though there was a token"
            time.sleep(_ASK_EVERY_S)
        assert asked > 1
        assert time.monotonic() - began_s >= 1


# --- what has been waiting since the first test ----------------------------------------------


def test_the_refused_of_a_session_keep_it(waiting: dict[str, list[Future[str]]], say: Say) -> None:
    for told in waiting["session"]:
        say(told.result())


def test_whoever_waits_as_long_as_told_is_served(
    waiting: dict[str, list[Future[str]]], say: Say
) -> None:
    for told in waiting["retry"]:
        say(told.result())
