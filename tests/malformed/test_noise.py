"""Requests spoilt at random: whatever they have become, no defect shows and the server goes on."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable

import pytest

from tests.malformed.cases import LANES, OK, Case, Expect, Lane, request, tool_call
from tests.malformed.sending import Door, send
from tests.malformed.verdict import complaints

ROUNDS = pytest.mark.parametrize("rounds", [150, pytest.param(3000, marks=pytest.mark.long)])
NORMAL = Case("a normal call", OK, message=tool_call("sandbar.schema.datatypes", {}))

GOOD = [
    NORMAL,
    Case("list", OK, message=request("tools/list")),
    Case("read", OK, message=request("resources/read", {"uri": "mcp://sandbar/dt/Class/dt/Class"})),
    Case(
        "query",
        OK,
        message=tool_call(
            "sandbar.entity.query",
            {"class": "zorp/Boot", "where": {"footwear/name": {">=": "A"}}, "limit": 3},
        ),
    ),
    Case("search", OK, message=tool_call("sandbar.search.text", {"query": "boot", "limit": 3})),
    Case(
        "validate",
        OK,
        message=tool_call(
            "sandbar.entity.validate",
            {"class": "zorp/Boot", "attributes": {"footwear/name": "x", "footwear/price": "1.5"}},
        ),
    ),
]
PIECES = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"-1", b"1e9", b"\\u0000", b"\xff"]
PIECES += [b"true", b'""', b"[]", b"{}", b"9" * 30, b"\\", b"\x00", b"0.1", b'"a/b"', b"\xc3\xa9"]


def _spoilt(body: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(body) + 1)
        end = min(len(body), at + chance.randint(0, 12))
        body = chance.choice(
            [
                body[:at] + chance.choice(PIECES) + body[at:],
                body[:at] + chance.choice(PIECES) + body[end:],
                body[:at] + body[end:],
                body[:at] + body[at:end] * 3 + body[end:],
                body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :],
            ]
        )
    return body


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("good", GOOD, ids=[case.name for case in GOOD])
def test_what_is_spoilt_was_good_before(good: Case, lane: Lane, door: Door) -> None:
    found = complaints(good, good.expect[lane], send(good, lane, door))
    assert [one for one in found if not one.startswith("answered after")] == []


@ROUNDS
@pytest.mark.parametrize("lane", LANES)
def test_noise_shows_no_defect(
    lane: Lane, rounds: int, door: Door, record_property: Callable[[str, object], None]
) -> None:
    seed = secrets.token_hex(4)
    record_property("figure", f"seed {seed}, {rounds} requests")
    chance = random.Random(seed)
    for _ in range(rounds):
        good = chance.choice(GOOD)
        body = _spoilt(good.payload(lane), chance)
        case = Case("noise", {}, body=body, headers=good.routing() if lane == "envelope" else {})
        answer = send(case, lane, door)
        expect = Expect(answer.status)
        found = [one for one in complaints(case, expect, answer) if _is_defect(one)]
        assert found == [], (seed, body, answer)
    assert complaints(NORMAL, Expect(200), send(NORMAL, lane, door)) == []


def _is_defect(complaint: str) -> bool:
    """A spoilt request may be answered in any way but these."""
    return complaint.startswith(("status", "leaks", "the body is no JSON"))
