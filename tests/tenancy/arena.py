"""A victim and its neighbour, beside the same neighbour in a world without the victim; the judge.

A canary that comes back is a leak, once is enough. An answer that only differs has to differ in
another pair of worlds too, made and played from the same seed: what the victim gives away is given
away again, and what the machine did in one world (a lock that came late, a clock that was set) is
not.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple, Protocol

from tests.conftest import Say
from tests.tenancy.attacker import Attacker
from tests.tenancy.canaries import Canaries
from tests.tenancy.fingerprint import fingerprint
from tests.tenancy.playing import DIFFERS, Game, play
from tests.tenancy.victim import Loot
from tests.tenancy.world import World


class Address(NamedTuple):
    """A database as servers open it, and as its owner looks into it."""

    url: str
    admin: str


class Arena:
    """Two worlds: one with a victim in it, and, for whoever compares, one that never had any."""

    def __init__(
        self,
        seed: str,
        world: World,
        without: World | None,
        canaries: Canaries,
        loot: Loot,
        admin: str,
    ) -> None:
        self.world, self.without = world, without
        self.canaries, self.loot = canaries, loot
        self.admin = admin
        self.attacker = Attacker(Random(seed), world.ours, loot)

    def victims_rows(self) -> dict[str, tuple[int, str]]:
        """All that the database holds of the victim's."""
        return fingerprint(self.admin, self.world.victim.workspace_name)


class NewArena(Protocol):
    """Makes arenas that are alike."""

    def __call__(self, *, is_compared: bool = True) -> Arena:
        """A victim, and for whoever compares a world without it."""


def assert_kept_apart(
    new_arena: NewArena, calls: int, say: Say, *, is_compared: bool = True
) -> tuple[Arena, Game]:
    """Play, and judge what came back and what was left behind."""
    arena, game = _played(new_arena, calls, say, is_compared=is_compared)
    if game.findings:  # nothing but differences
        say(f"looking again: {game.findings[0]}")
        _, again = _played(new_arena, calls, say, is_compared=is_compared)
        assert not again.findings, "\n".join([*game.findings, "and again:", *again.findings])
    return arena, game


def _played(new_arena: NewArena, calls: int, say: Say, *, is_compared: bool) -> tuple[Arena, Game]:
    arena = new_arena(is_compared=is_compared)
    before = arena.victims_rows()
    game = play(arena.attacker, arena.world, arena.without, arena.canaries, calls)
    say(str(game))
    wrong = [finding for finding in game.findings if DIFFERS not in finding]
    assert not wrong, "\n".join(wrong)
    assert arena.victims_rows() == before, "the victim's rows have changed"
    return arena, game
