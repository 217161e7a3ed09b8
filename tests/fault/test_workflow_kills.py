"""`kill -9` while many processes run: all of them finish, and everything happened once."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sandbar
from tests.conftest import Say
from tests.fault.workflow_checks import (
    Broken,
    Evidence,
    Job,
    gather,
    judge,
    postgres_jobs,
    sqlite_jobs,
)
from tests.fault.workflow_server import prepare
from tests.fault.zygote import Child, Zygote

ORDERS = 25  # and as many children
MANY_ORDERS = 100
FEW = 5  # where something else than the number matters
LEASE_S = 0.8  # short, so that what the dead held is soon somebody's again
EARLIEST_S, LATEST_S = 0.05, 0.35
CONNECTING_S = 0.15
FINISHED_WITHIN_S = 60.0
MORE_S = 0.1  # of a head start, after a server that was killed before it had begun
PATIENCE = 4  # times as many kills as are wanted, at most


def expected(orders: int) -> dict[str, int]:
    """The processes of each workflow: every order starts a child."""
    return {"work/order": orders, "work/child": orders}


@dataclass
class Place:
    """A database, and a way to its table of jobs."""

    target: str
    jobs: Callable[[], list[Job]]
    orders: int = ORDERS
    head_start_s: float = 0.0  # what a server needs before it can begin to work

    def server(self, zygote: Zygote, breakage: str = "none") -> Child:
        """A process that starts what is not started, and works until all have ended."""
        return zygote.fork(
            "tests.fault.workflow_server:run_orders",
            target=self.target,
            orders=self.orders,
            lease_s=LEASE_S,
            breakage=breakage,
        )


@dataclass
class Story:
    """How a series of kills went."""

    kills: int
    held: int  # jobs that the dead held
    evidence: Evidence
    orders: int

    def broken(self) -> Broken:
        """What is wrong."""
        return judge(self.evidence, expected(self.orders))

    def __str__(self) -> str:
        effects = sum(map(len, self.evidence.effects.values()))
        rows = sum(map(len, self.evidence.history.values()))
        return (
            f"{self.kills} kills that left {self.held} jobs held; {len(self.evidence.processes)} "
            f"processes finished, {effects} effects once each, {rows} rows of history"
        )


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    """A new file."""
    target = str(tmp_path / "killed.db")
    return Place(target, lambda: sqlite_jobs(target))


@pytest.fixture
def postgres_place(postgres_admin: str, postgres_app: str) -> Place:
    """A new database."""
    jobs = partial(postgres_jobs, postgres_admin)
    return Place(postgres_app, jobs, head_start_s=CONNECTING_S)


def killed(zygote: Zygote, place: Place, seed: str, kills: int, breakage: str = "none") -> Story:
    """Kill the server so often, if there is so much to do; then let it come to the end.

    Oftener, if the machine was so busy that servers were killed before they had begun.
    """
    chance = random.Random(seed)
    with sandbar.open(place.target) as db:
        prepare(db, place.orders)
    done = held = 0
    while (done < kills or held < kills) and done < kills * PATIENCE:
        child = place.server(zygote, breakage)
        if child.ended_within(place.head_start_s + chance.uniform(EARLIEST_S, LATEST_S)):
            assert child.wait() == 0, "the server failed by itself"
            break
        child.kill()
        done += 1
        left = sum(job.is_held for job in place.jobs())
        held += left
        if not left:
            place.head_start_s += MORE_S
    assert place.server(zygote, breakage).wait(FINISHED_WITHIN_S) == 0, "they did not finish"
    with sandbar.open(place.target) as db:
        return Story(done, held, gather(db, place.jobs()), place.orders)


def assert_kept(story: Story, seed: str, kills: int, say: Say) -> None:
    """Nothing is broken, and the kills came while there was something to break."""
    assert not story.broken(), f"seed {seed}: {story.broken()}"
    assert story.kills >= kills, "the work was done too soon to show anything"
    assert story.held >= kills, "hardly anybody was killed at work"
    say(str(story))


def test_all_processes_finish_on_sqlite(
    zygote: Zygote, sqlite_place: Place, seed: str, say: Say
) -> None:
    """Five kills."""
    assert_kept(killed(zygote, sqlite_place, seed, 5), seed, 4, say)


def test_all_processes_finish_on_postgres(
    zygote: Zygote, postgres_place: Place, seed: str, say: Say
) -> None:
    """The same on PostgreSQL."""
    assert_kept(killed(zygote, postgres_place, seed, 4), seed, 3, say)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("series", range(5))
def test_all_processes_finish_in_a_long_run(
    zygote: Zygote,
    sqlite_place: Place,
    postgres_place: Place,
    seed: str,
    say: Say,
    series: int,
) -> None:
    """As many kills as the work lasts, five hundred processes in all, on both stores."""
    for place in (sqlite_place, postgres_place):
        place.orders = MANY_ORDERS
        assert_kept(killed(zygote, place, f"{seed}-{series}", 40), seed, 10, say)


def test_a_checkpoint_of_its_own_is_caught(
    zygote: Zygote, sqlite_place: Place, seed: str, say: Say
) -> None:
    """The negative control: a step that commits before its checkpoint happens twice."""
    for attempt in range(PATIENCE):
        target = f"{sqlite_place.target}-{attempt}"
        place = Place(target, partial(sqlite_jobs, target), 2 * FEW)
        story = killed(zygote, place, f"{seed}-{attempt}", 3, "checkpoint-apart")
        if story.broken():  # else every kill has come between two steps
            break
    assert set(story.broken()) == {"twice"}, story.broken()
    say(f"caught: {len(story.broken()['twice'])} processes with a step too many")


# --- the checker itself ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def honest(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """What an undisturbed run leaves."""
    target = str(tmp_path_factory.mktemp("honest") / "honest.db")
    story = killed(zygote, Place(target, lambda: sqlite_jobs(target), FEW), "none", 0)
    assert not story.broken()
    return story.evidence


def _order(evidence: Evidence) -> int:
    return next(id for id, view in evidence.processes.items() if view.workflow == "work/order")


def _lose_row(evidence: Evidence) -> None:
    del evidence.history[_order(evidence)][2]


def _take_another_way(evidence: Evidence) -> None:
    rows = evidence.history[_order(evidence)]
    rows[1] = msgspec.structs.replace(rows[1], to="work/resting")


def _fire_early(evidence: Evidence) -> None:
    rows = evidence.history[_order(evidence)]
    rows[3] = msgspec.structs.replace(rows[3], at=rows[2].at)


def _same_transaction(evidence: Evidence) -> None:
    rows = evidence.history[_order(evidence)]
    rows[2] = msgspec.structs.replace(rows[2], t=rows[1].t)


def _lose_effect(evidence: Evidence) -> None:
    evidence.effects[_order(evidence)].remove("build-1")


def _repeat_effect(evidence: Evidence) -> None:
    evidence.effects[_order(evidence)].append("wake")


def _miscount(evidence: Evidence) -> None:
    evidence.counts[min(evidence.counts)] += 1


def _miscount_all(evidence: Evidence) -> None:
    evidence.total -= 1


def _leave_job(evidence: Evidence) -> None:
    evidence.jobs.append(Job(_order(evidence), 0, None, None, 0))


def _change(evidence: Evidence, **slots: Any) -> None:
    id = _order(evidence)
    evidence.processes[id] = msgspec.structs.replace(evidence.processes[id], **slots)


def _leave_active(evidence: Evidence) -> None:
    evidence.active.add(_order(evidence))


def _orphan(evidence: Evidence) -> None:
    id = next(id for id, view in evidence.processes.items() if view.parent)
    evidence.processes[id] = msgspec.structs.replace(evidence.processes[id], parent=None)


def _lose_process(evidence: Evidence) -> None:
    id = _order(evidence)
    del evidence.processes[id]


@pytest.mark.xdist_group("doctored")  # so that the evidence is made once
@pytest.mark.parametrize(
    ("doctor", "kinds"),
    [
        (_lose_row, {"holes", "path"}),
        (_take_another_way, {"path"}),
        (_fire_early, {"early"}),
        (_same_transaction, {"order"}),
        (_lose_effect, {"missing"}),
        (_repeat_effect, {"twice"}),
        (_miscount, {"count"}),
        (_miscount_all, {"total"}),
        (_leave_job, {"job"}),
        (lambda evidence: _change(evidence, state="work/checking"), {"unfinished"}),
        (lambda evidence: _change(evidence, completed_at=None), {"unfinished"}),
        (_leave_active, {"active"}),
        (_orphan, {"chain"}),
        (_lose_process, {"processes", "count", "total", "chain"}),
    ],
)
def test_doctored_evidence_is_caught(
    honest: Evidence, doctor: Callable[[Evidence], None], kinds: set[str]
) -> None:
    """Every kind of damage is noticed, and called by its name."""
    evidence = copy.deepcopy(honest)
    doctor(evidence)
    assert set(judge(evidence, expected(FEW))) == kinds
