"""Whoever changes what is sealed is found out: a corpus of attacks at random places."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Iterator

import pytest

from sandbar.audit import Verdict, head_of, verify, verifying
from sandbar.store.api import Store
from tests.audit.attacks import ATTACKS, NEED_HEAD, Attack
from tests.audit.conftest import OwnedPlace
from tests.audit.logs import Written, write_log
from tests.audit.vandal import RawLog, Vandal
from tests.conftest import Say

TIMES = {"sqlite": 3, "postgres": 1}  # each attack, at as many places
LONG_TIMES = 60

# In one process, so that each log is written once.
pytestmark = pytest.mark.xdist_group("audit-tampering")


class Scene:
    """A log, somebody who changes it, and somebody who looks at it."""

    def __init__(self, place: OwnedPlace) -> None:
        self.seed = os.environ.get("SANDBAR_SEED") or secrets.token_hex(4)
        self.rng = random.Random(self.seed)
        self.times = TIMES[place.dialect]
        self.written: Written = write_log(place, self.rng)
        self._store: Store = place.open()
        self.vandal: Vandal = place.vandal()
        self.whole: RawLog = self.vandal.read(self.written.spaces)
        trail = self._store.trail
        self.heads = {ws: head_of(trail.last_seal(ws)) for ws in self.written.spaces}

    def after(self, attack: Attack) -> RawLog:
        """The log as the attack leaves it, in the database."""
        log = self.whole.copy()
        attack(log, self.rng)
        assert log != self.whole, "the attack changed nothing"
        self.vandal.write(self.written.spaces, log)
        return log

    def restore(self) -> None:
        """As if nothing had happened."""
        self.vandal.write(self.written.spaces, self.whole)

    def verdicts(self, *, has_head: bool = False) -> list[Verdict]:
        """One for each workspace."""
        trail = self._store.trail
        heads = self.heads if has_head else dict.fromkeys(self.heads)
        return [verify(trail, ws, head=heads[ws]) for ws in self.written.spaces]

    def is_intact(self, *, has_head: bool = False) -> bool:
        """Whether nobody finds anything wrong anywhere."""
        return all(verdict.is_intact for verdict in self.verdicts(has_head=has_head))


@pytest.fixture(scope="module")
def lasting_scene(lasting_place: OwnedPlace) -> Iterator[Scene]:
    """A log that was written in good order."""
    scene = Scene(lasting_place)
    yield scene
    scene.vandal.close()


@pytest.fixture
def scene(lasting_scene: Scene, say: Say) -> Iterator[Scene]:
    """The same, put in order again after each test."""
    say(f"seed {lasting_scene.seed}")
    lasting_scene.rng = random.Random(lasting_scene.seed)
    yield lasting_scene
    lasting_scene.restore()


def test_an_untouched_log_is_intact(scene: Scene) -> None:
    """Unused numbers and runs side by side are nobody's crime; nor is writing the same again."""
    for _ in range(2):
        verdicts = scene.verdicts(has_head=True)
        assert [verdict.broken for verdict in verdicts] == [[], []]
        assert sum(verdict.rows for verdict in verdicts) == scene.written.rows
        assert sum(verdict.unsealed for verdict in verdicts) == 0
        scene.restore()
    numbers = [(row["ws"], row["run"], row["n"]) for row in scene.whole.rows]
    last = {number[:2]: number[2] for number in sorted(numbers)}
    assert sum(last.values()) > len(numbers), "no number was lost, so gaps were not tried"


def test_every_attack_is_found(scene: Scene, say: Say) -> None:
    """No head is needed for these."""
    attack_and_look(scene, say, scene.times)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_attack_is_found_wherever(scene: Scene, say: Say) -> None:
    """The same at many more places."""
    attack_and_look(scene, say, LONG_TIMES)


def attack_and_look(scene: Scene, say: Say, times: int) -> None:
    """Every attack so often."""
    missed = []
    for name, attack in ATTACKS.items():
        for _ in range(times):
            scene.after(attack)
            if scene.is_intact():
                missed.append(name)
    scene.restore()
    assert scene.is_intact()
    tried = len(ATTACKS) * times
    say(f"{tried} attacks of {len(ATTACKS)} kinds, {tried - len(missed)} found")
    assert not missed


def test_a_chain_that_does_not_look_at_rows_finds_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: it is the hash that finds an edit, not a check that always objects."""
    monkeypatch.setattr(verifying, "seal_hash", lambda ws, previous, seal, rows: seal.hash)
    for name in ("edit code", "edit principal", "delete row", "swap rows"):
        scene.after(ATTACKS[name])
        assert scene.is_intact(), name


def test_what_only_a_head_shows(scene: Scene, say: Say) -> None:
    """A chain that was cut off or made anew holds by itself, but not against its head."""
    for name, attack in NEED_HEAD.items():
        for _ in range(scene.times):
            scene.after(attack)
            assert scene.is_intact(), name
            for verdict in scene.verdicts(has_head=True):
                kinds = {broken.kind for broken in verdict.broken}
                assert kinds & {"head-missing", "head-differs"}, name
    scene.restore()
    assert scene.is_intact(has_head=True)
    tried = len(NEED_HEAD) * scene.times
    say(f"{tried} attacks of {len(NEED_HEAD)} kinds, all found with the head, none without")


def test_a_row_of_a_run_that_never_was_is_never_sealed(scene: Scene) -> None:
    """Nobody can tell it from a request of just now; but it does not count as sealed."""

    def attack(log: RawLog, rng: random.Random) -> None:
        log.rows.append({**rng.choice(log.rows), "run": rng.randrange(1, 1 << 50)})

    scene.after(attack)
    assert sum(verdict.unsealed for verdict in scene.verdicts()) == 1
    scene.restore()
    assert sum(verdict.unsealed for verdict in scene.verdicts()) == 0


def test_a_row_of_an_impossible_run_is_found(scene: Scene) -> None:
    """Runs are counted from time, which is not below 0."""

    def attack(log: RawLog, rng: random.Random) -> None:
        log.rows.append({**rng.choice(log.rows), "run": rng.choice((0, -1, -(1 << 60)))})

    scene.after(attack)
    assert not scene.is_intact()


def test_what_is_broken_is_named(scene: Scene) -> None:
    """Run, number and instant of the rows, and how many are missing.

    Where the last row of a run is missing, nobody can say up to which number they went.
    """
    rows = sorted(scene.whole.rows, key=lambda row: int(row["n"]))
    ends = {(row["ws"], row["run"]): row["n"] for row in rows}
    row = scene.rng.choice([row for row in rows if row["n"] != ends[row["ws"], row["run"]]])

    def delete(log: RawLog, rng: random.Random) -> None:
        log.rows.remove(row)

    def edit(log: RawLog, rng: random.Random) -> None:
        log.rows[log.rows.index(row)]["code"] = "forged"

    for attack, kind, words in (
        (delete, "rows-missing", "rows that were sealed here are missing"),
        (edit, "rows-changed", "not what was sealed"),
    ):
        scene.after(attack)
        verdict = scene.verdicts()[scene.written.spaces.index(row["ws"])]
        (broken,) = verdict.broken
        assert broken.kind == kind
        assert f"run {row['run']}, n " in broken.where
        assert words in broken.message
        first, last = _numbers(broken.where)
        assert first <= row["n"] <= last
        assert last - first < 100, "a part of the log, not all of it"


def _numbers(where: str) -> tuple[int, int]:
    words = where.split(", ")[1].removeprefix("n ").split(" (")[0].split(" to ")
    return int(words[0]), int(words[-1])
