"""Timers: each fires once, never early, within a second of its time, across restarts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

import sandbar
from sandbar import clock
from sandbar.access import Authority
from sandbar.database import Database
from sandbar.workflow import Workflows
from sandbar.workflow.worker import LEASE_S
from tests.conftest import Say
from tests.fault.workflow_checks import Job, postgres_jobs, sqlite_jobs
from tests.fault.workflow_server import PRINCIPAL, handlers, prepare
from tests.fault.zygote import Child, Zygote

TIMERS = 24
SHORTEST, LONGEST = 6, 16  # tenths of a second
SOON = (1, 4)
LATE_S_MAX = 1.0
FIRED_WITHIN_S = 20.0
ATTEMPTS = 3


@dataclass
class Timer:
    """One timer, and when it fired."""

    due_us: int
    fired_us: list[int]


class Clockwork:
    """A database full of timers."""

    def __init__(self, zygote: Zygote, target: str, jobs: Callable[[], list[Job]]) -> None:
        self._zygote = zygote
        self._target = target
        self.jobs = jobs
        self.db: Database = sandbar.open(target)
        prepare(self.db)
        authority = Authority(self.db.workspace, self.db.workspace_name)
        self._workflows = Workflows(self.db.workspace, handlers, authority)
        self._due_us: dict[int, int] = {}

    def wind(
        self, chance: random.Random, timers: int, tenths: tuple[int, int] = (SHORTEST, LONGEST)
    ) -> None:
        """Start so many; those before are forgotten."""
        self._due_us.clear()
        for _ in range(timers):
            id = self._workflows.start("work/timer", principal=PRINCIPAL).process_id
            name = f"set-{chance.randint(*tenths)}"
            view = self._workflows.transition(id, name, principal=PRINCIPAL)
            assert view.timer_at is not None
            self._due_us[id] = clock.us_of_text(view.timer_at)

    def server(self) -> Child:
        """Somebody who looks after them."""
        return self._zygote.fork(
            "tests.fault.workflow_server:serve",
            target=self._target,
            lease_s=LEASE_S,
            journal="/dev/null",
        )

    def quiet_moment_us(self) -> int:
        """The middle of the longest time, well inside, in which no timer fires."""
        due = sorted(self._due_us.values())[TIMERS // 4 : -TIMERS // 4]
        gap, start = max((later - start, start) for start, later in pairwise(due))
        return start + gap // 2

    def timers(self) -> list[Timer]:
        """Once all have fired."""
        deadline = time.monotonic() + FIRED_WITHIN_S
        while self._workflows.active("work/timer", limit=1)[0]:
            assert time.monotonic() < deadline, "a timer never fired"
            time.sleep(0.05)
        return [
            Timer(
                due_us,
                [
                    clock.us_of_text(row.at)
                    for row in self._workflows.history(id)
                    if row.action == "fire"
                ],
            )
            for id, due_us in self._due_us.items()
        ]


def judge(timers: list[Timer], late_s_max: float = LATE_S_MAX) -> set[str]:
    """What is wrong."""
    broken = set()
    for timer in timers:
        if len(timer.fired_us) != 1:
            broken.add("once")
        if any(fired_us < timer.due_us for fired_us in timer.fired_us):
            broken.add("early")
        if any(fired_us > timer.due_us + late_s_max * 1e6 for fired_us in timer.fired_us):
            broken.add("late")
    return broken


def tell(timers: list[Timer], say: Say) -> None:
    """How late they were."""
    late = sorted((timer.fired_us[0] - timer.due_us) / 1e6 for timer in timers)
    say(
        f"{len(late)} timers, late by p50 {late[len(late) // 2]:.3f} s, "
        f"p95 {late[round(len(late) * 0.95) - 1]:.3f} s, most {late[-1]:.3f} s"
    )


@pytest.fixture(params=["sqlite", "postgres"])
def clockwork(
    request: pytest.FixtureRequest, zygote: Zygote, tmp_path: Path
) -> Iterator[Clockwork]:
    """On each store in turn."""
    if request.param == "sqlite":
        target = str(tmp_path / "timers.db")
        jobs = partial(sqlite_jobs, target)
    else:
        target = request.getfixturevalue("postgres_app")
        jobs = partial(postgres_jobs, request.getfixturevalue("postgres_admin"))
    made = Clockwork(zygote, target, jobs)
    yield made
    made.db.close()


def fire_across_a_restart(clockwork: Clockwork, chance: random.Random) -> list[Timer]:
    """The server is killed, and another begins, while they run down."""
    clockwork.wind(chance, TIMERS)
    first = clockwork.server()
    time.sleep(max(0.0, (clockwork.quiet_moment_us() - time.time_ns() // 1000) / 1e6))
    first.kill()
    second = clockwork.server()
    timers = clockwork.timers()
    assert not clockwork.jobs()
    second.kill()
    return timers


def test_timers_fire_on_time_across_a_restart(clockwork: Clockwork, seed: str, say: Say) -> None:
    """On time in one of some attempts: a server may be late and killed with a timer in its hands.

    That one waits until the lease is over; a busy machine is all it takes.
    """
    chance = random.Random(seed)
    for _ in range(ATTEMPTS):
        timers = fire_across_a_restart(clockwork, chance)
        tell(timers, say)
        broken = judge(timers)
        assert broken <= {"late"}, timers
        if not broken:
            return
    raise AssertionError(f"late again and again: {timers}")


def test_timers_that_ran_down_while_nobody_was_there_fire_at_once(
    clockwork: Clockwork, seed: str, say: Say
) -> None:
    """Within a second of the beginning of the server that finds them, in one of some attempts."""
    chance = random.Random(seed)
    for _ in range(ATTEMPTS):
        clockwork.wind(chance, 10, SOON)
        time.sleep(SOON[1] / 10)
        begun_us = time.time_ns() // 1000
        server = clockwork.server()
        timers = clockwork.timers()
        server.kill()
        late_s = max(fired_us - begun_us for timer in timers for fired_us in timer.fired_us) / 1e6
        say(f"all fired {late_s:.3f} s after the beginning")
        assert judge(timers) <= {"late"}
        if late_s < LATE_S_MAX:
            return
    raise AssertionError(f"late again and again: {late_s:.3f} s")


@pytest.mark.parametrize(
    ("fired_us", "kinds"),
    [
        ([], {"once"}),
        ([5_000_001, 5_000_002], {"once"}),
        ([4_999_999], {"early"}),
        ([6_000_001], {"late"}),
        ([5_900_000], set()),
    ],
)
def test_a_wrong_timer_is_caught(fired_us: list[int], kinds: set[str]) -> None:
    """The negative control of the judge."""
    assert judge([Timer(5_000_000, [5_000_001]), Timer(5_000_000, fired_us)]) == kinds
