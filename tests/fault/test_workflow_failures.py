"""What goes wrong around a process: its code, its ways out, the store, the clocks of servers.

Promised: a process never runs in circles, one that is stuck keeps no other waiting, and whatever
says nothing of the process itself is not held against it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar import clock
from sandbar.access import Authority
from sandbar.database import Database
from sandbar.errors import Conflict, Unavailable
from sandbar.model import Workspace
from sandbar.workflow import Handlers, Outcome, ProcessView, Running, Worker, Workflows, worker
from tests.fault.zygote import Zygote

WHO = "somebody"
SOON_S = 10.0
LEASE_S, RENEW_EVERY_S = 1.0, 0.1
AILING_PAUSE_S = GRACE_S = 0.2


def end(name: str, kind: str) -> dict[str, Any]:
    """A terminal state."""
    return {"name": name, "terminal?": True, "terminal-kind": kind}


ENDS = [end("f/done", "success"), end("f/failed", "failure"), end("f/cancelled", "cancel")]


def activity(**more: Any) -> dict[str, Any]:
    """A workflow that has something done; `more` is of its state."""
    return {
        "name": "f/activity",
        "states": [{"name": "f/new", "initial?": True, "activity": "f/do", **more}, *ENDS],
        "transitions": [
            {"name": "done", "from": "f/new", "to": "f/done"},
            {"name": "fail", "from": "f/new", "to": "f/failed"},
            {"name": "cancel", "from": "f/new", "to": "f/cancelled"},
            {"name": "retry", "from": ["f/failed", "f/cancelled"], "to": "f/new"},
        ],
    }


def timer(seconds: float) -> dict[str, Any]:
    """A workflow that waits."""
    return {
        "name": "f/timer",
        "states": [
            {
                "name": "f/new",
                "initial?": True,
                "after": {"seconds": seconds, "transition": "done"},
            },
            *ENDS,
        ],
        "transitions": [
            {"name": "done", "from": "f/new", "to": "f/done"},
            {"name": "fail", "from": "f/new", "to": "f/failed"},
            {"name": "cancel", "from": "f/new", "to": "f/cancelled"},
        ],
    }


def change(spec: dict[str, Any], transition: str, **more: Any) -> dict[str, Any]:
    """The same with something else about one of its transitions."""
    for one in spec["transitions"]:
        if one["name"] == transition:
            one |= more
    return spec


class House:
    """A database with a worker, and code that a test gives it."""

    def __init__(self, target: str) -> None:
        self.db: Database = sandbar.open(target)
        self.activities: dict[str, Callable[[Running], Outcome]] = {}
        self.effects: dict[str, Callable[[Any], None]] = {}
        self.workflows = Workflows(
            self.db.workspace,
            lambda: Handlers(self.activities, self.effects),
            Authority(self.db.workspace, "main"),
            self._wake,
        )
        self.worker = Worker(
            self.db._store.jobs, lambda name: self.workflows, threads=4, lease_s=LEASE_S
        )
        self.worker.start()

    def _wake(self) -> None:
        self.worker.wake()

    def close(self) -> None:
        """Stop."""
        self.worker.stop()
        self.db.close()

    def start(self, spec: dict[str, Any]) -> int:
        """A process of this workflow."""
        self.workflows.define(spec, principal=WHO)
        return self.workflows.start(spec["name"], principal=WHO).process_id

    def wait(self, id: int, until: Callable[[ProcessView], bool]) -> ProcessView:
        """Until a process looks like that."""
        deadline = time.monotonic() + SOON_S
        while not until(view := self.workflows.view(id)):
            assert time.monotonic() < deadline, view
            time.sleep(0.01)
        return view

    def ended(self, id: int) -> ProcessView:
        """Once it has."""
        return self.wait(id, lambda view: view.is_complete)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """On SQLite: none of this depends on the store. Its worker does not take its time."""
    monkeypatch.setattr(worker, "_RENEW_EVERY_S", RENEW_EVERY_S)
    monkeypatch.setattr(worker, "_AILING_PAUSE_S", AILING_PAUSE_S)
    monkeypatch.setattr(worker, "_GRACE_S", GRACE_S)
    house = House(str(tmp_path / "failures.db"))
    yield house
    house.close()


def defect(_: Any) -> Any:
    """Code that is wrong."""
    raise ZeroDivisionError


# --- code that is wrong ----------------------------------------------------------------------


def test_an_activity_that_returns_nothing_has_failed(house: House) -> None:
    """And does not run again and again."""
    runs: list[int] = []
    house.activities["f/do"] = lambda job: runs.append(1)  # type: ignore[assignment,return-value]
    view = house.ended(house.start(activity()))
    assert (view.state, len(runs)) == ("f/failed", 1)
    assert view.error is not None
    assert view.error["code"] == "activity.failed"


def test_a_result_that_cannot_be_kept_is_a_failure(house: House) -> None:
    """A set is no JSON."""
    house.activities["f/do"] = lambda job: Outcome("done", result={"a", "b"})
    assert house.ended(house.start(activity())).state == "f/failed"


def test_an_outcome_whose_effect_is_wrong_is_a_failure(house: House) -> None:
    """The activity has run once, and its process goes the way of failures."""
    runs: list[int] = []

    def do(job: Running) -> Outcome:
        runs.append(1)
        return Outcome("done")

    house.activities["f/do"] = do
    house.effects["f/wrong"] = defect
    view = house.ended(house.start(change(activity(), "done", handler="f/wrong")))
    assert (view.state, len(runs)) == ("f/failed", 1)


def test_a_timer_whose_effect_is_wrong_is_over(house: House) -> None:
    """It is tried once; the process says why it did not fire."""
    runs: list[int] = []

    def wrong(_: Any) -> None:
        runs.append(1)
        raise ZeroDivisionError

    house.effects["f/wrong"] = wrong
    id = house.start(change(timer(0.1), "done", handler="f/wrong"))
    view = house.wait(id, lambda view: view.error is not None)
    assert (view.state, view.timer_at) == ("f/new", None)
    assert len(runs) == 1
    assert house.db._store.jobs.next_due_s() is None


def test_a_way_of_failure_that_is_barred_ends_in_a_pause(house: House) -> None:
    """Nobody can go on but somebody who looks; the activity does not run in circles."""
    runs: list[int] = []

    def do(job: Running) -> Outcome:
        runs.append(1)
        raise Conflict("f.no", "no", hint="none")

    house.activities["f/do"] = do
    id = house.start(change(activity(), "fail", guard="false"))
    view = house.wait(id, lambda view: view.paused)
    assert (view.state, len(runs)) == ("f/new", 1)
    assert view.error is not None
    assert view.error["code"] == "workflow.guard-refused"
    assert [row.action for row in house.workflows.history(id)] == ["start", "pause"]
    assert house.db._store.jobs.next_due_s() is None
    house.activities["f/do"] = lambda job: Outcome("done")
    house.workflows.resume(id, principal=WHO)
    assert house.ended(id).state == "f/done"


def test_one_that_hangs_keeps_no_other_waiting(house: House) -> None:
    """Not even if its attempt cannot be given up, because its way of failure is barred."""
    gate = threading.Event()

    def hang(job: Running) -> Outcome:
        gate.wait(SOON_S)
        return Outcome("done")

    house.activities |= {"f/do": hang, "f/quick": lambda job: Outcome("done")}
    stuck = house.start(change(activity(timeout=0.2), "fail", guard="false"))
    house.wait(stuck, lambda view: view.paused)
    quick = activity() | {"name": "f/quick"}
    quick["states"][0]["activity"] = "f/quick"
    begun = time.monotonic()
    assert house.ended(house.start(quick)).state == "f/done"
    assert time.monotonic() - begun < 1.0
    gate.set()
    time.sleep(0.1)
    assert house.workflows.view(stuck).state == "f/new", "a stale outcome was accepted"


def test_a_process_is_held_anew_while_an_old_attempt_of_it_hangs(house: House) -> None:
    """Cancelled and retried: the old attempt ends, and the new one is held on to all the same."""
    gates = [threading.Event(), threading.Event()]
    runs: list[int] = []

    def do(job: Running) -> Outcome:
        runs.append(len(runs))
        gates[runs[-1]].wait(SOON_S)
        return Outcome("done", result=job.process.run)

    house.activities["f/do"] = do
    id = house.start(activity())
    house.wait(id, lambda _: len(runs) == 1)
    house.workflows.cancel(id, principal=WHO)
    house.workflows.transition(id, "retry", principal=WHO)
    house.wait(id, lambda _: len(runs) == 2)
    gates[0].set()
    # Longer than a lease: whoever is not held on to is begun a third time.
    time.sleep(1.3 * LEASE_S)
    gates[1].set()
    view = house.ended(id)
    assert (view.state, view.result, view.run, len(runs)) == ("f/done", 2, 2, 2)
    assert [row.action for row in house.workflows.history(id)] == [
        "start", "cancel", "retry", "done",
    ]  # fmt: skip


def assert_first_readers_live(zygote: Zygote, servers: int) -> None:
    """Servers that begin with much to do: msgspec has to have learnt of our structs before."""
    children = [
        zygote.fork("tests.fault.workflow_server:read_at_once", threads=6) for _ in range(servers)
    ]
    assert {child.wait() for child in children} == {0}


def test_threads_that_are_the_first_to_read_a_definition_do_not_crash(zygote: Zygote) -> None:
    assert_first_readers_live(zygote, 15)


@pytest.mark.long
def test_threads_that_are_the_first_to_read_do_not_crash_in_a_long_run(zygote: Zygote) -> None:
    assert_first_readers_live(zygote, 200)


# --- a store that ails -----------------------------------------------------------------------


class Ailing:
    """The store refuses to write a few times, in the name of the server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        run = Workspace.run

        def ailing(workspace: Workspace, work: Any, *, principal: str, **more: Any) -> Any:
            if principal == "sandbar" and self.left > 0:
                self.left -= 1
                raise Unavailable("store.busy", "another process holds the database")
            return run(workspace, work, principal=principal, **more)

        monkeypatch.setattr(Workspace, "run", ailing)


def test_a_timer_outlives_a_store_that_ails(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fires when the store is well again."""
    id = house.start(timer(0.2))
    ailing = Ailing(monkeypatch, 1)
    assert house.ended(id).state == "f/done"
    assert ailing.left == 0


def test_a_success_outlives_a_store_that_ails(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not held against the activity that its outcome could not be written."""
    gate = threading.Event()

    def do(job: Running) -> Outcome:
        gate.wait(SOON_S)
        return Outcome("done")

    house.activities["f/do"] = do
    id = house.start(activity())
    ailing = Ailing(monkeypatch, 1)
    gate.set()
    view = house.ended(id)
    assert (view.state, ailing.left) == ("f/done", 0)


# --- clocks that differ ----------------------------------------------------------------------


@pytest.mark.parametrize("lag_s", [-0.4, 0.4])
def test_a_server_whose_clock_is_wrong_fires_timers_all_the_same(
    postgres_app: str, monkeypatch: pytest.MonkeyPatch, lag_s: float
) -> None:
    """The database's clock counts, and a lag of the server's adds no more than itself."""
    now_us = clock.now_us
    house = House(postgres_app)
    try:
        house.workflows.define(timer(0.5), principal=WHO)
        monkeypatch.setattr(clock, "now_us", lambda: now_us() - round(lag_s * 1e6))
        begun = time.monotonic()
        id = house.workflows.start("f/timer", principal=WHO).process_id
        assert house.ended(id).state == "f/done"
        assert time.monotonic() - begun < 0.5 + abs(lag_s) + 8.0  # a busy machine takes its time
    finally:
        house.close()
