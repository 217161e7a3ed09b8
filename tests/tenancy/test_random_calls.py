"""Random calls of a tenant never show, count or change anything of another's.

Every call is made twice: beside a victim full of canaries, and in a database that has none. No
canary may come back, and the two answers must be the same.
"""

from __future__ import annotations

from itertools import chain, count
from typing import Any

import msgspec
import pytest

from sandbar.database import Database
from sandbar.errors import NotFound, Problem, Unavailable
from sandbar.model import Question, Workspace
from sandbar.verbs import Call
from tests.conftest import Say
from tests.tenancy.arena import Arena, NewArena, assert_kept_apart
from tests.tenancy.attacker import Attempt
from tests.tenancy.playing import DIFFERS, Player, play
from tests.tenancy.world import OURS, OWNER, PLAYERS

pytestmark = pytest.mark.xdist_group("tenancy-planted")  # they copy one victim

CALLS = 250  # three or four times every verb
CALLS_LONG = 100_000
CONTROL_CALLS = 3_000
FEW_CALLS = 100
# Whether something is noticed does not depend on the store.
ON_SQLITE = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
_UNREADABLE = ("secret slot", "idempotency key", "validator")


def assert_nothing_reached(new_arena: NewArena, calls: int, say: Say) -> None:
    """Every verb is tried, most with some effect, and nothing comes of it."""
    arena, game = assert_kept_apart(new_arena, calls, say)
    untried = {verb.name for verb in arena.world.ours.offer.catalogue} - game.verbs.keys()
    assert not untried, f"never called: {sorted(untried)}"
    assert game.outcomes["answered"] > calls / 5, "most calls say nothing: the rest proves little"


def test_no_call_reaches_another_tenant(new_arena: NewArena, say: Say) -> None:
    assert_nothing_reached(new_arena, CALLS, say)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_call_of_very_many_reaches_another_tenant(new_arena: NewArena, say: Say) -> None:
    assert_nothing_reached(new_arena, CALLS_LONG, say)


# --- would it be noticed? --------------------------------------------------------------------


@ON_SQLITE
def test_the_same_calls_show_the_victim_nearly_all_of_its_canaries(arena: Arena, say: Say) -> None:
    """The calls do reach into every corner: whoever is in the right workspace sees it."""
    world, canaries = arena.world, arena.canaries
    victim = world.victim
    player = Player(victim, {who: world.caller(victim.workspace_name, who) for who in PLAYERS})
    seen: set[str] = set()
    overheard = [Attempt("admin" if "." in v else OWNER, v, a) for v, a in arena.loot.calls]
    chosen = (arena.attacker.attempt(len(player.told["entity"])) for _ in range(CONTROL_CALLS))
    places = canaries.secret_places().difference(_UNREADABLE)
    for attempt in chain(overheard, chosen):
        _, told = player.play(attempt)
        seen.update(leak.place for leak in canaries.leaks(told.text))
        if places <= seen:
            break
    say(f"{len(seen & places)} of {len(places)} kinds of places seen by the victim itself")
    assert places <= seen, f"never seen: {sorted(places - seen)}"


@ON_SQLITE
def test_a_read_in_the_wrong_workspace_is_noticed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one verb, and only where there is nothing of our own."""
    ours, theirs = arena.world.ours.workspace, arena.world.victim.workspace
    get = Workspace.get

    def leaky(self: Workspace, entity: Any, **more: Any) -> Any:
        try:
            return get(self, entity, **more)
        except NotFound:
            return get(theirs if self is ours else self, entity, **more)

    monkeypatch.setattr(Workspace, "get", leaky)
    game = play(arena.attacker, arena.world, None, arena.canaries, CONTROL_CALLS, until="LEAK")
    assert any("LEAK" in finding for finding in game.findings)


@ON_SQLITE
def test_an_error_that_tells_too_much_is_noticed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = arena.world.victim
    hints = [name for name in theirs.schema.classes() if arena.canaries.mark in name]
    perform = Database.perform

    def leaky(self: Database, call: Call) -> Any:
        try:
            return perform(self, call)
        except NotFound as problem:
            hint = f"did you mean {' or '.join(hints)}?"
            raise NotFound(problem.code, problem.message, hint=hint, data=problem.data) from None

    monkeypatch.setattr(Database, "perform", leaky)
    game = play(arena.attacker, arena.world, None, arena.canaries, CONTROL_CALLS, until="LEAK")
    assert any("LEAK" in finding for finding in game.findings)


@ON_SQLITE
def test_a_number_that_tells_of_another_tenant_is_noticed(
    new_arena: NewArena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No canary comes back: only the world without a victim tells."""
    arena = new_arena()
    ours, theirs = arena.world.ours.workspace, arena.world.victim.workspace
    ask = Workspace.ask

    def leaky(self: Workspace, question: Question) -> Any:
        page = ask(self, question)
        return msgspec.structs.replace(page, t=theirs.last_t()) if self is ours else page

    monkeypatch.setattr(Workspace, "ask", leaky)
    game = play(
        arena.attacker,
        arena.world,
        arena.without,
        arena.canaries,
        CONTROL_CALLS,
        until=DIFFERS,
    )
    assert any(DIFFERS in finding for finding in game.findings)
    assert not any("LEAK" in finding for finding in game.findings)


@ON_SQLITE
def test_a_number_that_tells_of_another_tenant_is_not_excused(
    new_arena: NewArena, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second look finds it as well: here, how many workspaces there are."""
    perform = Database.perform

    def leaky(self: Database, call: Call) -> Any:
        try:
            return perform(self, call)
        except Problem as problem:
            hint = f"this server has {len(self._store.workspaces())} workspaces"
            told = type(problem)(problem.code, problem.message, hint=hint, data=problem.data)
            raise told from None

    monkeypatch.setattr(Database, "perform", leaky)
    with pytest.raises(AssertionError, match="and again:"):
        assert_kept_apart(new_arena, FEW_CALLS, say)


@ON_SQLITE
def test_what_differs_once_is_looked_at_again(
    new_arena: NewArena, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is busy in one world, once: as if a lock had come too late."""
    perform, calls = Database.perform, count(1)

    def busy(self: Database, call: Call) -> Any:
        if self.workspace_name == OURS and next(calls) == FEW_CALLS:
            raise Unavailable("store.busy", "the database is busy")
        return perform(self, call)

    monkeypatch.setattr(Database, "perform", busy)
    _, game = assert_kept_apart(new_arena, FEW_CALLS, say)
    assert any("store.busy" in finding for finding in game.findings)


def test_a_touched_row_of_the_victim_is_noticed(arena: Arena) -> None:
    before = arena.victims_rows()
    assert sum(count for count, _ in before.values()) > 1000
    arena.world.victim.update("thing/n1", {"dt/label": "touched"})
    after = arena.victims_rows()
    changed = {table for table in before if before[table] != after[table]}
    assert {"workspace", "tx", "entity", "version"} <= changed
