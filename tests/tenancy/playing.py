"""Playing the attacker's calls in a world, and judging every answer.

Each call is also made in a second world that never had a victim. Whatever the victim has, the
answers must be the same; a count, a number or an order that differs gives it away as well as a
word does. Both worlds do the same steps, however busy the machine is: `paced` sees to that.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from typing import Any, NamedTuple

import msgspec
import pytest

from sandbar.access import Caller
from sandbar.database import Database
from sandbar.errors import Fault, Problem
from sandbar.workflow import jobs, validating
from tests.tenancy.attacker import Attacker, Attempt, filled_in
from tests.tenancy.canaries import Canaries
from tests.tenancy.world import World

DIFFERS = "DIFFERS"  # of a finding that is no canary
_TOLD_MAX = 200
_encode = msgspec.json.Encoder(enc_hook=str, decimal_format="string").encode

# What differs between any two databases, or any two moments.
_VOLATILE = (
    (re.compile(r'"(cursor|nextCursor)":"[^"]*"'), r'"\1":"C"'),
    # A cursor that was given and is repeated, whole or cut: some are a digit longer than others.
    (re.compile(r"\bWz[A-Za-z0-9_-]{30,}(?:\.\.\.|…)?"), "C"),
    (re.compile(r'"epoch":[0-9]+'), '"epoch":0'),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), "I"),
    # A handle; errors may repeat no more than its beginning.
    (re.compile(r"\b([0-9]+(?:\.[0-9]+)?)-[0-9a-f]{12,32}(?![0-9a-f])"), r"\1-H"),
    (re.compile(r"sk-[a-z]+-[0-9a-f]+"), "sk"),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "U"),
    (re.compile(r'"audit":\[[0-9]+'), '"audit":[0'),  # the run of a process
    (re.compile(r'"(duration[a-z-]*|run|elapsed[a-z-]*)":[0-9.]+'), r'"\1":0'),
    # How long processes took; and the scores of a search: bm25 of SQLite knows how many entities
    # the whole file has, and how long they are.
    (re.compile(r":-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?(?=[,}])"), ":F"),
)


class Told(NamedTuple):
    """The answer to a call, as text, and how it ended."""

    text: str
    outcome: str


class Player:
    """One world as the attacker plays in it."""

    def __init__(self, db: Database, callers: dict[str, Caller]) -> None:
        self._db = db
        self._callers = callers
        self.told: dict[str, list[Any]] = {"cursor": [], "handle": [], "process": [], "entity": []}

    def play(self, attempt: Attempt) -> tuple[str, Told]:
        """Make a call; the request as text, and what came back."""
        arguments = filled_in(attempt.arguments, self.told)
        request = _encode([attempt.verb, arguments]).decode()
        try:
            answer = self._db.call_as(self._callers[attempt.role], attempt.verb, arguments)
        except Problem as problem:
            said = [problem.code, problem.message, problem.hint, problem.data]
            kind = "fault" if isinstance(problem, Fault) else "refused"
            return request, Told(_text(said), f"{kind} {problem.code}")
        text = _text(answer)
        self._learn(msgspec.json.decode(text))
        return request, Told(text, "answered")

    def _learn(self, answer: Any) -> None:
        """Keep what can be used in later calls."""
        kinds = {
            "cursor": "cursor",
            "task-id": "handle",
            "process-id": "process",
            "entity-id": "entity",
        }
        if isinstance(answer, dict):
            for name, value in answer.items():
                if name in kinds and value is not None:
                    pool = self.told[kinds[name]]
                    pool.append(value)
                    del pool[:-_TOLD_MAX]
                elif isinstance(value, dict | list):
                    self._learn(value)
        elif isinstance(answer, list):
            for item in answer[:3]:
                self._learn(item)


def _text(answer: Any) -> str:
    return _encode(answer).decode()


def steady(text: str) -> str:
    """An answer without what differs between any two databases."""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text


class Game(NamedTuple):
    """What came of many calls."""

    calls: int
    compared: int
    outcomes: Counter[str]
    verbs: Counter[str]
    findings: list[str]
    seconds: float

    def __str__(self) -> str:
        answered = self.outcomes["answered"]
        return (
            f"{self.calls:,} calls ({self.compared:,} compared), {answered:,} answered, "
            f"{len(self.verbs)} verbs, {self.calls / self.seconds:,.0f}/s"
        )


def paced(patch: pytest.MonkeyPatch) -> None:
    """Let validations note how far they are after every page, not after every so many seconds.

    Else the world that was slower has made more transactions, and all later numbers differ.
    """
    for module, name, value in (
        (validating, "_PAGE_S", math.inf),
        (validating, "_SAVE_EVERY_S", -math.inf),
        (jobs, "_PROGRESS_EVERY_S", -math.inf),
    ):
        patch.setattr(module, name, value)


def play(
    attacker: Attacker,
    world: World,
    without: World | None,
    canaries: Canaries,
    calls: int,
    *,
    until: str | None = None,
    findings_max: int = 20,
) -> Game:
    """Make so many calls, or fewer: until a finding has this word; what was found wrong."""
    player = Player(world.ours, dict(world.callers))
    twin = None if without is None else Player(without.ours, dict(without.callers))
    outcomes: Counter[str] = Counter()
    verbs: Counter[str] = Counter()
    findings: list[str] = []
    compared = 0
    catalogue = world.ours.offer.catalogue
    begun = time.perf_counter()
    for number in range(calls):
        attempt = attacker.attempt(len(player.told["entity"]))
        request, told = player.play(attempt)
        canaries.say(request)
        outcomes[told.outcome] += 1
        known = catalogue.find(attempt.verb)
        verbs[attempt.verb if known is None else known.name] += 1
        where = f"call {number} as {attempt.role}: {request[:400]}"
        findings += [f"{where}: LEAK of {leak}" for leak in canaries.leaks(told.text)]
        if told.outcome.startswith("fault"):
            findings.append(f"{where}: {told.outcome} {told.text[:300]}")
        if twin is not None:
            other = twin.play(attempt)[1]
            compared += 1
            if steady(told.text) != steady(other.text):
                findings.append(f"{where}: {DIFFERS} {_difference(told.text, other.text)}")
        is_found = until is not None and any(until in finding for finding in findings)
        if is_found or len(findings) >= findings_max:
            break
    return Game(number + 1, compared, outcomes, verbs, findings, time.perf_counter() - begun)


def _difference(one: str, other: str) -> str:
    one, other = steady(one), steady(other)
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    near = slice(max(at - 60, 0), at + 160)
    return f"at {at}: …{one[near]} | without: …{other[near]}"
