"""Whether something is another tenant's or nobody's makes no difference, in words or in time."""

from __future__ import annotations

import re
import statistics
import time
from random import Random
from typing import Any

import pytest

from sandbar.model import Workspace
from tests.conftest import Say
from tests.tenancy.arena import Arena
from tests.tenancy.attacker import Attempt
from tests.tenancy.playing import Player, steady

pytestmark = pytest.mark.xdist_group("tenancy-planted")  # they copy one victim

PAIRS = 180
TIMED = 120
# What is made stays: a second call would find it.
_MAKING = re.compile(r"create|define|start|run|mint|transact|class[._]|retry|restore")


class Nobodys:
    """For everything that is the victim's, something of the same form that nobody has."""

    def __init__(self, arena: Arena, random: Random) -> None:
        self.mark = arena.canaries.mark
        self.other = "".join(random.choices("bcdfghjklmnpqrstvwxz", k=len(self.mark)))
        top = arena.world.ours.create("shared/Thing", {"db/ident": "thing/last"}).entity_id
        self.ids = [id for id in arena.loot.ids if id > top]
        assert self.ids, "the victim needs ids beyond ours"
        self._far = 10 ** len(str(max(self.ids))) - 1001  # as many digits, and nobody's
        self._handles = arena.loot.handles

    def instead(self, value: Any) -> Any:
        """The same form, and nobody's."""
        if isinstance(value, str):
            if value in self._handles:
                return value[:-1] + ("0" if value[-1] != "0" else "1")
            return value.replace(self.mark, self.other)
        if type(value) is int and value in self.ids:
            return self._far + value % 1000
        if isinstance(value, dict):
            return {self.instead(key): self.instead(item) for key, item in value.items()}
        return [self.instead(item) for item in value] if isinstance(value, list) else value


def pairs(arena: Arena, nobodys: Nobodys) -> list[tuple[Attempt, Attempt]]:
    """Calls that name something of the victim's, each with its like that names nobody's."""
    roles = ("reader", "admin")
    verbs = ("entity.find", "entity.history", "entity.delete", "entity.update")
    calls = [Attempt("admin", verb, given) for verb, given in arena.loot.calls]
    calls += [Attempt(r, v, {"entity": id}) for id in nobodys.ids for r in roles for v in verbs]
    twice = [{"entity": id, "confirm": id} for id in nobodys.ids]
    calls += [Attempt(r, "entity.purge", given) for given in twice for r in roles]
    while len(calls) < 2 * PAIRS:
        attempt = arena.attacker.attempt(0)
        if not _MAKING.search(attempt.verb):
            calls.append(attempt)
    # A cursor names nothing: `test_random_calls.py` has them.
    named = _with_new_keys([call for call in calls if "cursor" not in call.arguments])
    both = [(call, call._replace(arguments=nobodys.instead(call.arguments))) for call in named]
    return [(call, like) for call, like in both if call != like]


def _with_new_keys(calls: list[Attempt]) -> list[Attempt]:
    """Those without an idempotency key that an earlier one has: it may be ours by then."""
    used: set[str] = set()
    new = []
    for call in calls:
        key = str(call.arguments.get("idempotency-key"))
        if "idempotency-key" not in call.arguments or key not in used:
            new.append(call)
        used.add(key)
    return new


def told_apart(arena: Arena) -> tuple[int, list[str]]:
    """How many pairs there were, and in which the answers differ."""
    player = Player(arena.world.ours, dict(arena.world.callers))
    nobodys = Nobodys(arena, Random())
    made = pairs(arena, nobodys)
    reads = {verb.name for verb in arena.world.ours.offer.catalogue if verb.access == "read"}
    wrong: list[str] = []
    for foreign, absent in made:
        told = player.play(foreign)[1]
        one, other = told.text, player.play(absent)[1].text
        if told.outcome == "answered" and foreign.verb not in reads:
            continue  # something of our own was changed, once for both
        # The request is repeated in many an answer: that much may differ.
        for theirs, given in sorted(_leaves(foreign.arguments, absent.arguments), reverse=True):
            other = other.replace(given, theirs)
        other = other.replace(nobodys.other, nobodys.mark)  # what was repeated in part
        if steady(one) != steady(other):
            wrong.append(f"{foreign}: {steady(one)[:300]} | {steady(other)[:300]}")
    return len(made), wrong


def _leaves(one: Any, other: Any) -> set[tuple[str, str]]:
    """The texts in which two values differ, side by side."""
    if isinstance(one, dict):
        sides = zip(one.items(), other.items(), strict=True)
        return {pair for a, b in sides for pair in _leaves(list(a), list(b))}
    if isinstance(one, list):
        return {pair for a, b in zip(one, other, strict=True) for pair in _leaves(a, b)}
    return {(str(one), str(other))} if one != other else set()


def test_what_is_anothers_is_answered_as_what_is_nobodys(arena: Arena, say: Say) -> None:
    count, wrong = told_apart(arena)
    say(f"{count} pairs of calls, {len(wrong)} told apart")
    assert not wrong, "\n".join(wrong[:10])
    assert count > PAIRS / 2


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_refusal_that_tells_them_apart_is_noticed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = arena.world.ours.workspace, arena.world.victim.workspace
    get = Workspace.get

    def telling(self: Workspace, entity: Any, **more: Any) -> Any:
        try:
            return get(self, entity, **more)
        except Exception as problem:
            if self is ours:
                get(theirs, entity)  # raises another error, or none
                problem.args = ("it is somebody else's",)
                problem.message = "it is somebody else's"  # type: ignore[attr-defined]
            raise

    monkeypatch.setattr(Workspace, "get", telling)
    assert told_apart(arena)[1]


def test_a_key_that_another_tenant_has_used_is_unused(arena: Arena) -> None:
    """Whoever has the same name there: requests are remembered by workspace, name and key."""
    ours, caller = arena.world.ours, arena.world.callers["admin"]
    for number, key in enumerate(arena.loot.keys):
        given = {"class": "shared/Thing", "attributes": {"db/ident": f"own/n{number}"}}
        made = ours.call_as(caller, "entity.create", {**given, "idempotency-key": key})
        assert made.created
        assert ours.get(made.entity_id).ident == f"own/n{number}"


def test_neither_takes_longer(arena: Arena, say: Say) -> None:
    """By turns, so that whatever else this machine does hits both."""
    nobodys = Nobodys(arena, Random())
    player = Player(arena.world.ours, dict(arena.world.callers))
    foreign_s: list[float] = []
    absent_s: list[float] = []
    for turn in range(TIMED):
        id = nobodys.ids[turn % len(nobodys.ids)]
        for taken, given in ((foreign_s, id), (absent_s, nobodys.instead(id))):
            begun = time.perf_counter()
            player.play(Attempt("admin", "entity.find", {"entity": given}))
            taken.append(time.perf_counter() - begun)
    foreign, absent = statistics.median(foreign_s), statistics.median(absent_s)
    say(f"entity.find: another's {foreign * 1e6:.0f} µs, nobody's {absent * 1e6:.0f} µs")
    assert 0.5 < foreign / absent < 2
