"""`kill -9` during load: what was answered is there, and nothing is there by half."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import sandbar
from tests.conftest import Say
from tests.fault.journal import Journal, read_journal
from tests.fault.tables import Tables, postgres_tables, sqlite_tables
from tests.fault.verdict import Verdict, judge
from tests.fault.zygote import Zygote

KILLS_PER_FILE = 5
EARLIEST_S, LATEST_S = 0.05, 0.4
KILLED_WITHIN_S = 0.02  # so that it meets any moment of a write
SOME_LINES = (10, 50)  # of the journal, before a kill; all that was written is judged, and twice
ANSWERS_PER_KILL = 10  # at least, on an average
BEGUN_WITHIN_S = 30.0
MORE_S = 0.1  # of a head start, after a process that was killed before it had done anything
KILLS_MAX = 30
BROKEN_KILLS_MAX = 20  # how often a broken promise may get away


@dataclass
class Place:
    """A database under attack, and a way to its raw tables."""

    target: str
    tables: Callable[[], Tables]
    folder: Path
    head_start_s: float = 0.0

    def attack(
        self, zygote: Zygote, name: str, delay_s: float, breakage: str, lines: int = 0
    ) -> Journal:
        """One process that writes until it is killed; returns what it was answered.

        The time begins when so many lines are in its journal.
        """
        path = self.folder / f"{name.replace('/', '-')}.journal"
        child = zygote.fork(
            "tests.fault.load:run_load",
            target=self.target,
            journal=str(path),
            seed=name,
            breakage=breakage,
        )
        _await_lines(path, lines)
        child.kill_after(delay_s if lines else self.head_start_s + delay_s)
        journal = read_journal(path)
        if not journal.answers and not lines:
            self.head_start_s += MORE_S  # a busy machine
        return journal

    def judge(self, journal: Journal, since: int) -> tuple[Verdict, int]:
        """Reopen, compare, and see that service resumes; returns the last t, too."""
        with sandbar.open(self.target) as db:
            verdict = judge(db, journal, self.tables(), since=since)
            return verdict, db.create("dt/List", {}, reason="after the kill").t


def _await_lines(path: Path, lines: int) -> None:
    deadline_s = time.monotonic() + BEGUN_WITHIN_S
    while lines and (not path.exists() or path.read_bytes().count(b"\n") < lines):
        assert time.monotonic() < deadline_s, "too little load to show anything"
        time.sleep(0.002)


def sqlite_place(folder: Path, number: int = 0) -> Place:
    """A new file."""
    target = str(folder / f"{number}.db")
    return Place(target, lambda: sqlite_tables(target), folder)


class Tally:
    """The totals of a series of kills."""

    def __init__(self) -> None:
        self.kills = self.answered = self.transactions = self.unanswered = 0

    def add(self, verdict: Verdict) -> None:
        """Count one more kill."""
        self.kills += 1
        self.answered += verdict.answered
        self.transactions += verdict.transactions
        self.unanswered += verdict.unanswered_but_kept

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.answered} acknowledged, 0 lost, 0 half; "
            f"{self.unanswered} kept without an answer; {self.transactions} transactions checked"
        )


def series(
    zygote: Zygote, place: Place, seed: str, kills: int, tally: Tally, *, short: bool
) -> None:
    """Kill, reopen and compare, repeatedly on the same database; at last compare all of it."""
    chance = random.Random(seed)
    everything = Journal()
    since = 0
    for number in range(kills):
        lines, delay_s = 0, chance.uniform(EARLIEST_S, LATEST_S)
        if short:  # the first may come before the load does, the others meet it
            lines = chance.randint(*SOME_LINES) if number else 0
            delay_s = chance.uniform(0.0, KILLED_WITHIN_S if number else LATEST_S / 4)
        name = f"{seed}/{number}"
        journal, since = kill_once(zygote, place, name, delay_s, tally, since, lines)
        everything.intents |= journal.intents
        everything.answers |= journal.answers
    verdict, _ = place.judge(everything, 0)
    assert not verdict.broken(), f"seed {seed}, at the end: {verdict.broken()}"


def kill_once(
    zygote: Zygote,
    place: Place,
    name: str,
    delay_s: float,
    tally: Tally,
    since: int,
    lines: int = 0,
) -> tuple[Journal, int]:
    """Kill, reopen and compare what came since; what was answered, and the last t."""
    journal = place.attack(zygote, name, delay_s, "none", lines)
    verdict, last_t = place.judge(journal, since)
    assert not verdict.broken(), f"kill {name}: {verdict.broken()}"
    tally.add(verdict)
    return journal, last_t


def kill_sqlite(
    zygote: Zygote, folder: Path, seed: str, kills: int, *, short: bool = False
) -> Tally:
    """So many kills, a few on each file."""
    tally = Tally()
    for number in range(kills // KILLS_PER_FILE):
        place = sqlite_place(folder, number)
        series(zygote, place, f"{seed}-{number}", KILLS_PER_FILE, tally, short=short)
    assert tally.kills == kills
    assert tally.answered > kills * ANSWERS_PER_KILL, "too little load to show anything"
    return tally


def test_nothing_acknowledged_is_lost_on_sqlite(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say
) -> None:
    """Fifty kills."""
    say(str(kill_sqlite(zygote, tmp_path, seed, 50, short=True)))


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_nothing_acknowledged_is_lost_on_sqlite_in_a_long_run(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say
) -> None:
    """Three hundred kills: with no failure, less than 1 % per kill at 95 % confidence."""
    say(str(kill_sqlite(zygote, tmp_path, seed, 300)))


def test_nothing_acknowledged_is_lost_on_postgres(
    zygote: Zygote, postgres_admin: str, postgres_app: str, tmp_path: Path, seed: str, say: Say
) -> None:
    """Five kills of a client, or more until they have hit something."""
    tally = Tally()
    place = Place(postgres_app, lambda: postgres_tables(postgres_admin), tmp_path)
    chance, since = random.Random(seed), 0
    while tally.kills < 5 or tally.answered < 100:
        assert tally.kills < KILLS_MAX, "too little load to show anything"
        delay_s, lines = chance.uniform(0.0, KILLED_WITHIN_S), chance.randint(*SOME_LINES)
        name = f"{seed}/{tally.kills}"
        _, since = kill_once(zygote, place, name, delay_s, tally, since, lines)
    say(str(tally))


@pytest.mark.parametrize(
    ("breakage", "kinds"),
    [
        ("answer-before-commit", {"lost"}),
        ("transact-in-pieces", {"half", "twice"}),
        ("index-apart", {"index"}),
    ],
)
def test_a_broken_promise_is_caught(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say, breakage: str, kinds: set[str]
) -> None:
    """The negative controls: the same load, kills and checker, with one promise broken."""
    chance = random.Random(seed)
    for number in range(BROKEN_KILLS_MAX):
        place = sqlite_place(tmp_path, number)
        name = f"{seed}/{number}"
        journal = place.attack(zygote, name, chance.uniform(0.2, LATEST_S), breakage)
        broken = place.judge(journal, 0)[0].broken()
        if kinds <= broken.keys():
            say(f"{breakage}: caught at kill {number + 1} as {sorted(broken)}")
            return
    pytest.fail(f"seed {seed}: {breakage} was not caught in {BROKEN_KILLS_MAX} kills")
