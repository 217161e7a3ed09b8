"""Timers: a transition that is made by itself some time after a state was entered."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import sandbar
from sandbar import clock
from sandbar.workflow import Happening, Outcome, Running
from tests.model.conftest import Place
from tests.workflow.orders import (
    begin,
    ended,
    move,
    one_step,
    path_of,
    until,
    wait_for_end,
    with_code,
    working,
)


def timed(seconds: float, transition: str = "go", **go: Any) -> dict[str, Any]:
    """A workflow whose first state is left by itself."""
    return one_step("order/timed", {"after": {"seconds": seconds, "transition": transition}}, go=go)


def late_s(db: sandbar.Database, id: int) -> float:
    """How long after its time a timer has fired."""
    first, last = db.workflows.history(id)[0], db.workflows.history(id)[-1]
    return (clock.us_of_text(last.at) - clock.us_of_text(first.at)) / 1e6


def test_a_timer_fires_once_and_in_time(
    place: Place, db: sandbar.Database, record_property: Any
) -> None:
    other = place.open()
    for server in (db, other):
        with_code(server)
        server.start_worker()
    note = {"create": "note/Note", "slots": {"note/text": {"from": "reason"}}}
    db.workflows.define(timed(0.5, effects=[note]), principal="ann")
    ids = [db.workflows.start("order/timed", principal="ann").process_id for _ in range(20)]
    assert db.workflows.view(ids[0]).timer_at is not None
    for id in ids:
        view = ended(db, id)
        assert (view.kind, view.timer_at) == ("success", None)
        assert path_of(db, id) == [("start", "step/first"), ("go", "end/done")]
        row = db.workflows.history(id)[-1]
        assert (row.actor, row.reason) == ("sandbar", "0.5 s have passed")
    took_s = [late_s(db, id) for id in ids]
    record_property("figure", f"20 timers of 0.5 s, two servers: last after {max(took_s):.3f} s")
    assert min(took_s) >= 0.5
    assert max(took_s) < 1.5
    assert len(db.query("note/Note", limit=100).items) == 20


def test_a_timer_fires_after_a_restart(place: Place, db: sandbar.Database) -> None:
    id = begin(db, timed(0.1))
    db.close()
    time.sleep(0.15)
    again = with_code(place.open())
    assert again.workflows.view(id).state == "step/first"
    began_s = time.monotonic()
    again.start_worker()
    assert ended(again, id).kind == "success"
    assert time.monotonic() - began_s < 1.0


def test_a_timer_ends_with_its_state(lite: sandbar.Database) -> None:
    id = begin(lite, timed(0.2))
    lite.start_worker()
    move(lite, id, "cancel")
    assert lite._store.jobs.next_due_s() is None
    time.sleep(0.4)
    assert path_of(lite, id) == [("start", "step/first"), ("cancel", "end/cancelled")]


def test_a_state_that_is_entered_again_is_timed_anew(lite: sandbar.Database) -> None:
    id = begin(lite, timed(0.3, "fail"))
    lite.start_worker()
    assert ended(lite, id).kind == "failure"
    move(lite, id, "retry")
    view = until(lite, id, lambda view: view.is_complete and view.run == 2)
    rows = lite.workflows.history(id)
    assert [row.action for row in rows] == ["start", "fail", "retry", "fail"]
    waited_s = (clock.us_of_text(rows[3].at) - clock.us_of_text(rows[2].at)) / 1e6
    assert 0.3 <= waited_s < 1.3
    assert view.kind == "failure"


BARRED: dict[str, tuple[dict[str, Any], str]] = {
    "guard": ({"guard": "false"}, "workflow.guard-refused"),
    "reading guard": ({"guard": "context.x == 1"}, "workflow.guard-refused"),
    "effect": ({"effects": [{"set": {"order/total": -1}}]}, "value.out-of-bounds"),
    "code": ({"handler": "test/fail"}, "workflow.effect-failed"),
    "no code": ({"handler": "test/none"}, "workflow.no-handler"),
}


def fail(happening: Happening) -> None:
    """The code of an effect that has a defect."""
    raise ValueError("a defect")


@pytest.mark.parametrize("bar", BARRED)
def test_a_timer_that_cannot_fire_is_over_and_says_why(lite: sandbar.Database, bar: str) -> None:
    go, code = BARRED[bar]
    with_code(lite, {}, {"test/fail": fail})
    id = begin(lite, timed(0.1, **go), "order/one")
    lite.start_worker()
    view = until(lite, id, lambda view: view.error is not None)
    assert ((view.error or {})["code"], view.timer_at) == (code, None)
    assert (view.state, view.paused) == ("step/first", False)
    assert lite._store.jobs.next_due_s() is None
    assert move(lite, id, "cancel").kind == "cancel"


@pytest.mark.parametrize("way", ["delete", "purge"])
def test_a_process_that_is_gone_has_nothing_to_do(
    db: sandbar.Database, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Code of the house and an admin's purge can do that; nobody may trip over it for ever."""
    id = begin(db, timed(0.1))
    if way == "purge":
        db.purge(id, mode="detach")
    else:
        gone = [{"op": "delete", "entity": id, "mode": "cascade"}]
        db.workspace.transact(gone, principal="ann")
    db.start_worker()
    deadline_s = time.monotonic() + 10
    while db._store.jobs.next_due_s() is not None:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert "process-stuck" not in caplog.text


def test_a_paused_timer_waits(db: sandbar.Database) -> None:
    id = begin(db, timed(0.1))
    db.workflows.pause(id, principal="ann")
    db.start_worker()
    time.sleep(0.3)
    assert db.workflows.view(id).state == "step/first"
    resumed_s = time.monotonic()
    db.workflows.resume(id, principal="ann")
    assert ended(db, id).kind == "success"
    assert time.monotonic() - resumed_s < 1.0
    assert [action for action, _ in path_of(db, id)] == ["start", "pause", "resume", "go"]


# --- a timer and an activity in one state ----------------------------------------------------


def with_timer(seconds: float, **fail: Any) -> dict[str, Any]:
    """A state whose activity is cut off by a timer."""
    spec = one_step("order/work", {"after": {"seconds": seconds, "transition": "fail"}})
    spec["transitions"][1] |= fail
    return spec


def test_a_timer_cuts_off_an_activity(db: sandbar.Database) -> None:
    stopped = threading.Event()

    def work(job: Running) -> Outcome:
        try:
            return wait_for_end(job)
        finally:
            stopped.set()

    id = working(db, work, spec=with_timer(0.5))
    assert ended(db, id).kind == "failure"
    assert 0.5 <= late_s(db, id) < 1.5
    assert stopped.wait(2)
    assert db.workflows.view(id).error is None


def test_an_activity_may_be_quicker_than_the_timer(db: sandbar.Database) -> None:
    id = working(db, lambda job: Outcome("go"), spec=with_timer(0.5))
    assert ended(db, id).kind == "success"
    assert db._store.jobs.next_due_s() is None
    time.sleep(0.6)
    assert path_of(db, id) == [("start", "step/first"), ("go", "end/done")]


@pytest.mark.usefixtures("brisk")
def test_a_timer_that_cannot_fire_does_not_disturb_the_activity(db: sandbar.Database) -> None:
    """It goes on for a good while after that, in which the worker looks at it several times."""
    attempts: list[int] = []
    refused = threading.Event()

    def work(job: Running) -> Outcome:
        attempts.append(1)
        for _ in range(50):
            job.check()
            assert refused.wait(20)
            time.sleep(0.01)
        return Outcome("go")

    id = working(db, work, spec=with_timer(0.3, guard="false"))
    view = until(db, id, lambda view: view.error is not None)
    assert (view.error or {})["code"] == "workflow.guard-refused"
    refused.set()
    assert ended(db, id).kind == "success"
    assert len(attempts) == 1


def test_a_timer_fires_while_a_retry_is_waited_for(db: sandbar.Database) -> None:
    def work(job: Running) -> Outcome:
        raise ValueError("a defect")

    id = working(db, work, spec=with_timer(0.5), retries=5, backoff=60)
    view = ended(db, id)
    assert view.kind == "failure"
    assert db.workflows.history(id)[-1].reason == "0.5 s have passed"
    assert late_s(db, id) < 1.5


def test_a_timer_fires_in_time_though_the_code_is_missing(db: sandbar.Database) -> None:
    with_code(db)
    spec = with_timer(0.7)
    spec["states"][0]["activity"] = "test/none"
    id = begin(db, spec)
    db.start_worker()
    assert ended(db, id).kind == "failure"
    assert 0.7 <= late_s(db, id) < 1.7
