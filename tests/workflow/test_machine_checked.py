"""Processes against a dictionary: whatever is done to them, and wherever it is interrupted.

A terminal state never changes but by a declared retry; history is the path that was taken; there is
a job exactly while there is something to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from sandbar.model import Jobs
from sandbar.workflow.jobs import Job
from sandbar.workflow.machines import Machine
from sandbar.workflow.moves import Moves
from tests.workflow.flow_machine import Driven
from tests.workflow.flow_places import AnyPlace, PostgresPlace, SqlitePlace
from tests.workflow.flow_script import all_rules, play

MUST_BE_SEEN = {
    "answered", "cancelled", "died with a job", "expired", "failed for good", "failed once",
    "job.lost", "raced", "resumed from a checkpoint", "retried", "went on after all",
    "workflow.already-completed", "workflow.guard-refused", "workflow.no-transition",
    "workflow.not-cancellable", "workflow.nothing-asked", "workflow.paused",
}  # fmt: skip


def machine_at(place: AnyPlace, seen: Counter[str]) -> type[Driven]:
    """The machine there, which tells what has happened."""
    return type("Flow", (Driven,), {"place": place, "seen": seen})


def play_there(place: AnyPlace) -> Counter[str]:
    """Every rule once; returns what has happened."""
    seen: Counter[str] = Counter()
    machine = machine_at(place, seen)()
    assert play(machine) == all_rules(machine)
    assert {what for what, n in seen.items() if n} >= MUST_BE_SEEN
    return seen


def drive(place: AnyPlace, examples: int, steps: int, *, shrink: bool = True) -> Counter[str]:
    """Run the machine there by chance; returns what has happened."""
    seen: Counter[str] = Counter()
    machine = machine_at(place, seen)
    phases = [Phase.explicit, Phase.reuse, Phase.generate] + ([Phase.shrink] if shrink else [])
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            phases=phases,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return seen


@pytest.fixture
def sqlite_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlitePlace:
    """Files with a clock that is driven."""
    return SqlitePlace(tmp_path, monkeypatch)


@pytest.fixture
def postgres_place(fresh_postgres: str) -> Iterator[PostgresPlace]:
    """A database of its own."""
    place = PostgresPlace(fresh_postgres)
    yield place
    place.close()


Say = Callable[[str, object], None]


def tell(record_property: Say, seen: Counter[str]) -> None:
    """Print what has been seen."""
    record_property("figure", ", ".join(f"{what}: {n}" for what, n in sorted(seen.items()) if n))


def test_processes_do_what_a_dictionary_says(
    sqlite_place: SqlitePlace, record_property: Say
) -> None:
    """On SQLite: every rule once for certain, then as chance has it."""
    seen = play_there(sqlite_place)
    seen += drive(sqlite_place, 5, 50)
    tell(record_property, seen)


def test_processes_do_what_a_dictionary_says_on_postgres(
    postgres_place: PostgresPlace, record_property: Say
) -> None:
    """The same on PostgreSQL, where chance has less time."""
    seen = play_there(postgres_place)
    seen += drive(postgres_place, 2, 12)
    tell(record_property, seen)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_processes_do_what_a_dictionary_says_in_a_long_run(
    sqlite_place: SqlitePlace, record_property: Say
) -> None:
    """More, and longer."""
    seen = drive(sqlite_place, 600, 80)
    tell(record_property, seen)
    assert {what for what, n in seen.items() if n} >= MUST_BE_SEEN


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_processes_do_what_a_dictionary_says_on_postgres_in_a_long_run(
    postgres_place: PostgresPlace, record_property: Say
) -> None:
    """The same on PostgreSQL."""
    seen = play_there(postgres_place)
    seen += drive(postgres_place, 60, 50)
    tell(record_property, seen)


# --- negative controls -----------------------------------------------------------------------


def _leave_any_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transitions are found by their name, wherever the process stands."""

    def find(self: Machine, state: str, name: str) -> Any:
        return next((one for one in self.transitions if one.name == name), None)

    monkeypatch.setattr(Machine, "find", find)


def _no_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever once held a job may write for ever."""
    monkeypatch.setattr(Jobs, "require", lambda self, id, token: None)


def _forget_to_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are never done with."""
    schedule = Jobs.schedule

    def only_some(self: Jobs, id: int, due_us: int | None) -> None:
        if due_us is not None:
            schedule(self, id, due_us)

    monkeypatch.setattr(Jobs, "schedule", only_some)


def _forget_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes over begins anew."""
    transact = Job.transact

    def without(self: Job, operations: Any, *, checkpoint: Any = None) -> Any:
        return transact(self, operations)

    monkeypatch.setattr(Job, "transact", without)


def _keep_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry leaves the process among those that have ended."""
    monkeypatch.setattr(Moves, "_going_on", staticmethod(lambda record, to: {}))


def _leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are not in the history."""

    def note(self: Moves, record: Any, action: str, act: Any, slots: Any) -> Any:
        return self.amend(record, slots, act.actor)

    monkeypatch.setattr(Moves, "note", note)


SPOILS = [
    _leave_any_state,
    _no_fence,
    _forget_to_schedule,
    _forget_checkpoints,
    _keep_completion,
    _leave_no_trace,
]


# Every day the script catches all of them, and chance those that it soon meets.
SOON_MET = {_leave_any_state, _leave_no_trace}
BY_CHANCE = [
    spoil if spoil in SOON_MET else pytest.param(spoil, marks=pytest.mark.long) for spoil in SPOILS
]


@pytest.mark.parametrize("spoil", BY_CHANCE)
def test_a_broken_engine_is_caught(
    sqlite_place: SqlitePlace,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pytest.MonkeyPatch], None],
) -> None:
    """Each of them makes a difference that the dictionary sees."""
    spoil(monkeypatch)
    with pytest.raises(AssertionError):
        drive(sqlite_place, 200, 50, shrink=False)


@pytest.mark.parametrize(
    "place", ["sqlite_place", pytest.param("postgres_place", marks=pytest.mark.long)]
)
def test_the_script_catches_every_broken_engine(request: pytest.FixtureRequest, place: str) -> None:
    """Without any luck; that it finds nothing else wrong is shown above."""
    there = request.getfixturevalue(place)
    for spoil in SPOILS:
        with pytest.MonkeyPatch.context() as monkeypatch:
            spoil(monkeypatch)
            with pytest.raises(AssertionError):
                play_there(there)
