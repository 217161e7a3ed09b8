"""Nobody keeps others waiting: workspaces share the worker, and timers fire beside activities."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.access import Authority
from sandbar.errors import Interrupted
from sandbar.workflow import Handlers, Outcome, Running, Worker, Workflows

THREADS = 4


def _state(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def _spec(name: str, **initial: Any) -> dict[str, Any]:
    """Two states: the one to look at, and the end."""
    return {
        "name": name,
        "states": [
            _state("f/new", **{"initial?": True}, **initial),
            _state("f/done", **{"terminal?": True, "terminal-kind": "success"}),
            _state("f/failed", **{"terminal?": True, "terminal-kind": "failure"}),
            _state("f/cancelled", **{"terminal?": True, "terminal-kind": "cancel"}),
        ],
        "transitions": [
            {"name": "finish", "from": "f/new", "to": "f/done"},
            {"name": "never", "from": "f/new", "to": "f/done", "guard": "false"},
            {"name": "fail", "from": "f/new", "to": "f/failed"},
            {"name": "cancel", "from": "f/new", "to": "f/cancelled"},
        ],
    }


class House:
    """Two workspaces of one file, a worker for both, and activities that hang until the end."""

    def __init__(self, path: Path) -> None:
        self.is_over = threading.Event()
        sandbar.open(path, "other").close()
        self.db = sandbar.open(path)
        self.interruptions = 0
        handlers = Handlers(
            {"f/hang": self._hang, "f/quick": self._quick, "f/interrupt": self._interrupt}
        )
        names = {"main": self.db, "other": self.db.in_workspace("other")}
        self.workflows = {
            name: Workflows(db.workspace, lambda: handlers, Authority(db.workspace, name))
            for name, db in names.items()
        }
        self.worker = Worker(
            self.db._store.jobs, lambda name: self.workflows[name], threads=THREADS
        )

    def _hang(self, job: Running) -> Outcome:
        while not self.is_over.wait(0.02):
            job.check()
        return Outcome("finish")

    def _quick(self, job: Running) -> Outcome:
        return Outcome("finish")

    def _interrupt(self, job: Running) -> Outcome:
        self.interruptions += 1
        raise Interrupted("test.interrupted", "somebody else's patience is over")

    def begin(self, workspace: str, spec: dict[str, Any]) -> Callable[[], Any]:
        """Start a process of a workflow that is defined if need be; answers how to look at it."""
        workflows = self.workflows[workspace]
        workflows.define(spec, principal="ann")
        id = workflows.start(spec["name"], principal="ann").process_id
        return lambda: workflows.view(id)

    def close(self) -> None:
        """Let everything end."""
        self.is_over.set()
        self.worker.stop()
        self.db.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "fair.db")
    yield house
    house.close()


def _took_s(look: Callable[[], Any], patience_s: float = 5.0) -> float:
    begun_s = time.monotonic()
    while not look().is_complete:
        assert time.monotonic() - begun_s < patience_s, look()
        time.sleep(0.01)
    return time.monotonic() - begun_s


def _running(looks: list[Callable[[], Any]], house: House, count: int) -> None:
    deadline_s = time.monotonic() + 5
    while len(house.worker._running) < count:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert not any(look().is_complete for look in looks)


def test_one_workspace_does_not_take_all_threads(house: House) -> None:
    hanging = [house.begin("other", _spec("f/slow", activity="f/hang")) for _ in range(20)]
    house.worker.start()
    _running(hanging, house, THREADS // 2)
    took_s = _took_s(house.begin("main", _spec("f/fast", activity="f/quick")))
    assert took_s < 1.5


@pytest.mark.parametrize("workspace", ["main", "other"])
def test_timers_fire_although_activities_wait(house: House, workspace: str) -> None:
    hanging = [
        house.begin(where, _spec("f/slow", activity="f/hang"))
        for where in ("main", "other")
        for _ in range(10)
    ]
    house.worker.start()
    _running(hanging, house, THREADS)
    timer = _spec("f/timed", after={"seconds": 0.5, "transition": "finish"})
    took_s = _took_s(house.begin(workspace, timer))
    assert 0.5 <= took_s < 1.5


def test_an_interruption_without_a_timeout_is_a_failed_attempt(house: House) -> None:
    spec = _spec("f/broken", activity="f/interrupt", retries=1, backoff=0.1)
    look = house.begin("main", spec)
    house.worker.start()
    _took_s(look)
    assert (look().kind, look().error["code"]) == ("failure", "test.interrupted")
    assert house.interruptions == 2


def test_a_timer_that_cannot_fire_leaves_the_timeout_of_an_attempt(house: House) -> None:
    spec = _spec(
        "f/late",
        activity="f/hang",
        timeout=0.5,
        after={"seconds": 0.2, "transition": "never"},
        **{"on-error": "fail"},
    )
    look = house.begin("main", spec)
    house.worker.start()
    assert _took_s(look) < 4
    assert (look().kind, look().error["code"]) == ("failure", "activity.timeout")
