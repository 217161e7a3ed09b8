"""Malformed and hostile credentials over real HTTP: the exact answer to each, and none comes in."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from sandbar.model import secrets as secret_slots
from sandbar.store.postgres.install import install
from tests.credentials.cheap import HASHER
from tests.credentials.hostile import HOSTILE, WELCOME, WELCOME_LINES, Hostile, Outcome
from tests.credentials.knocking import (
    LANES,
    REQUEST_ID,
    Answer,
    Door,
    Knock,
    Lane,
    bearer,
    knock,
    open_session,
)
from tests.credentials.planted import Planted, plant
from tests.live_server import LiveServer
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.xdist_group("hostile-credentials")

CHEAP = [sys.executable, "-m", "tests.credentials.cheap"]
EVERYWHERE: tuple[Lane, ...] = (*LANES, "pack")
_HINT = "send `Authorization: Bearer KEY`, or NAME:KEY; `sandbar key mint --name NAME` makes one"
_CHALLENGE = 'Bearer realm="sandbar-mcp"'


def _said(status: int, code: str, message: str, hint: str = _HINT) -> tuple[int, str, str, str]:
    return status, code, message, hint


# What is said of each, besides the challenge: HTTP status, our code, the message and the hint.
SAID: dict[Outcome, tuple[int, str, str, str]] = {
    "missing": _said(401, "auth.missing", "Bearer token required"),
    "malformed": _said(401, "auth.malformed", "Bearer token required"),
    "twice": _said(401, "auth.malformed", "Bearer token required", "send one Authorization header"),
    "twice the other way": _said(
        401, "auth.malformed", "Bearer token required", "send one X-API-Key header"
    ),
    "ambiguous": _said(
        400,
        "auth.ambiguous",
        "the request brings two different keys",
        "send one: as `Authorization: Bearer KEY`, or as `X-API-Key: KEY`",
    ),
    "invalid": _said(401, "auth.invalid", "invalid token"),
    "revoked": _said(
        403, "auth.revoked", "this key has been revoked", "ask an admin for a new one"
    ),
    "suspended": _said(
        403,
        "workspace.suspended",
        "this workspace is suspended",
        "ask whoever runs the server; `sandbar workspace resume NAME` ends it",
    ),
}
# Refused before anybody is asked for: the status is enough.
STATUS: dict[Outcome, int] = {"too large": 431, "no HTTP": 400, "elsewhere": 421}


class House:
    """A running server, all that was planted in its database, and an honest client's session."""

    def __init__(self, server: LiveServer, planted: Planted) -> None:
        self.planted = planted
        self.door = open_session(Door(server.port), planted["chosen"])
        self._tried: dict[tuple[str, Lane], Answer] = {}

    def try_it(self, one: Hostile, lane: Lane) -> Answer:
        """Knock as somebody hostile would; once is enough."""
        if (one.name, lane) not in self._tried:
            made = one.make(self.planted)
            self._tried[one.name, lane] = knock(self.door, lane, made)
        return self._tried[one.name, lane]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[House]:
    """One server on each kind of database."""
    if request.param == "sqlite":
        address = str(tmp_path_factory.mktemp("hostile") / "hostile.db")
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        address = install(postgres.create_database())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_slots, "_hasher", HASHER)
        planted = plant(address)
    server = LiveServer(address, packs=["care"])
    server.program = CHEAP
    with server:
        yield House(server, planted)


def expected_body(outcome: Outcome, lane: Lane, id: int | None) -> dict[str, Any]:
    """The exact JSON that is answered."""
    status, code, message, hint = SAID[outcome]
    data = {"code": code, "hint": hint, "request-id": REQUEST_ID.decode()}
    number = status if lane == "envelope" else -32001
    if status == 400:
        number = -32600
    return {"jsonrpc": "2.0", "id": id, "error": {"code": number, "message": message, "data": data}}


def expected_challenge(outcome: Outcome) -> str | None:
    """The exact header WWW-Authenticate."""
    if outcome == "ambiguous":
        return None
    if outcome == "missing":
        return _CHALLENGE
    return f'{_CHALLENGE}, error="invalid_token", error_description="{SAID[outcome][2]}"'


def complaints(one: Hostile, lane: Lane, answer: Answer) -> list[str]:
    """Everything about an answer that is not as it should be."""
    if one.outcome in STATUS:
        right = STATUS[one.outcome]
        return [] if answer.status == right else [f"{answer.status} instead of {right}"]
    found = []
    if answer.status != SAID[one.outcome][0]:
        found.append(f"{answer.status} instead of {SAID[one.outcome][0]}")
    if answer.headers.get("www-authenticate") != expected_challenge(one.outcome):
        found.append(f"www-authenticate: {answer.headers.get('www-authenticate')}")
    if answer.headers.get("content-type") != "application/json":
        found.append(f"content-type: {answer.headers.get('content-type')}")
    if not found and answer.json() != expected_body(one.outcome, lane, one.id):
        found.append(f"said {answer.body.decode()}")
    return found


def test_the_table_is_long_enough() -> None:
    names = [one.name for one in HOSTILE]
    assert len(set(names)) == len(names), "two cases have one name"
    assert len(names) >= 150


@pytest.mark.parametrize("lane", EVERYWHERE)
@pytest.mark.parametrize("name", WELCOME)
def test_the_harness_can_be_let_in(house: House, name: str, lane: Lane) -> None:
    line = b"Authorization: " + WELCOME[name](house.planted)
    door = house.door
    if lane == "session":  # a session is its account's alone
        door = open_session(door, WELCOME[name](house.planted).split()[-1].decode())
    answer = knock(door, lane, Knock((line,)))
    assert answer.status == 200
    assert "tools" in answer.json()["result"]


@pytest.mark.parametrize("lane", EVERYWHERE)
@pytest.mark.parametrize("name", WELCOME_LINES)
def test_a_key_of_its_own_header_comes_in(house: House, name: str, lane: Lane) -> None:
    good, door = house.planted["good"], house.door
    lines = tuple(line.replace(b"GOOD", good.encode()) for line in WELCOME_LINES[name])
    if lane == "session":  # a session is its account's alone
        door = open_session(door, house.planted["chosen"] if name == "a pair" else good)
    answer = knock(door, lane, Knock(lines))
    assert answer.status == 200
    assert "tools" in answer.json()["result"]


@pytest.mark.parametrize("lane", EVERYWHERE)
def test_the_exact_answer_to_each(house: House, lane: Lane) -> None:
    wrong = []
    for one in HOSTILE:
        answer = house.try_it(one, lane)
        wrong += [f"{one.name}: {complaint}" for complaint in complaints(one, lane, answer)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("lane", EVERYWHERE)
def test_nobody_learns_what_was_wrong(house: House, lane: Lane) -> None:
    """Byte for byte, status and headers included: unknown, outdated, foreign are one answer."""
    answers = defaultdict(list)
    for one in HOSTILE:
        if one.outcome == "invalid" and one.id is not None:
            answers[house.try_it(one, lane).fingerprint()].append(one.name)
    assert len(answers) == 1, dict(answers)


def test_an_oracle_would_be_noticed(house: House) -> None:
    """The negative control of both tests above: one letter more is another answer."""
    one = next(one for one in HOSTILE if one.outcome == "invalid")
    answer = house.try_it(one, "bare")
    told = Answer(answer.status, answer.headers, answer.body.replace(b"invalid", b"unknown"))
    assert complaints(one, "bare", answer) == []
    assert complaints(one, "bare", told)
    assert told.fingerprint() != answer.fingerprint()
    chattier = Answer(answer.status, {**answer.headers, "x-reason": "expired"}, answer.body)
    assert chattier.fingerprint() != answer.fingerprint()
    admitted = knock(house.door, "bare", Knock((bearer(house.planted["good"]),)))
    assert complaints(one, "bare", admitted)


@pytest.mark.parametrize("thief", ["another", "named like ours", "of another workspace"])
def test_a_session_is_no_credential(house: House, thief: str) -> None:
    """Who signs in as somebody else gets nothing of a session, not even whether it lives."""
    line = bearer(house.planted[thief])
    stolen = knock(house.door, "session", Knock((line,)))
    invented = knock(Door(house.door.port, "0" * 32), "session", Knock((line,)))
    assert stolen.status == 404
    assert stolen.body == invented.body
    assert knock(house.door, "session", Knock()).status == 401


@pytest.mark.parametrize("verb", [b"GET", b"DELETE", b"PUT", b"OPTIONS", b"HEAD", b"PATCH"])
@pytest.mark.parametrize("path", [b"/mcp", b"/mcp/", b"/mcp/sse"])
def test_every_road_asks_who_it_is(house: House, path: bytes, verb: bytes) -> None:
    answer = knock(house.door, "bare", Knock(path=path, verb=verb))
    assert answer.status in (401, 405)
    wrong = knock(house.door, "bare", Knock((bearer("claude:wrong-key"),), path=path, verb=verb))
    assert wrong.status in (401, 405)
