"""Activities that fail: tried again, given up, and what becomes of the process then."""

from __future__ import annotations

import inspect
import threading
import time
from itertools import pairwise
from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect, Unavailable
from sandbar.workflow import Happening, Outcome, Running, Worker, worker
from tests.workflow.orders import (
    begin,
    ended,
    one_step,
    path_of,
    until,
    wait_for_end,
    with_code,
    without,
    working,
)


def no_way_out(**state: Any) -> dict[str, Any]:
    """A workflow without a way for failures."""
    spec = without(one_step("order/work"), "fail")
    spec["states"][0] |= state
    return spec


def test_it_is_tried_again_with_growing_pauses(db: sandbar.Database) -> None:
    at_s: list[float] = []

    def work(job: Running) -> Outcome:
        at_s.append(time.monotonic())
        if len(at_s) < 4:
            raise Incorrect("test.no", f"attempt {len(at_s)}", hint="try again")
        return Outcome("go")

    id = working(db, work, retries=3, backoff=0.1)
    view = until(db, id, lambda view: view.attempt == 1)
    assert view.error == {
        "category": "Incorrect",
        "code": "test.no",
        "message": "attempt 1",
        "hint": "try again",
    }
    assert ended(db, id).kind == "success"
    pauses_s = [later - sooner for sooner, later in pairwise(at_s)]
    for pause_s, least_s in zip(pauses_s, (0.1, 0.2, 0.4), strict=True):
        assert least_s <= pause_s < least_s + 1.0
    assert ended(db, id).attempt == 0
    assert path_of(db, id) == [("start", "step/first"), ("go", "end/done")]


def test_when_no_retry_is_left_the_way_of_failure_is_taken(db: sandbar.Database) -> None:
    attempts: list[int] = []

    def work(job: Running) -> Outcome:
        attempts.append(job.process.attempt)
        raise Incorrect("test.no", "never", data={"why": 1})

    id = working(db, work, retries=2, backoff=0.1)
    view = ended(db, id)
    assert (view.kind, view.state) == ("failure", "end/failed")
    assert (view.error or {})["data"] == {"why": 1}
    assert attempts == [0, 1, 2]
    row = db.workflows.history(id)[-1]
    assert (row.action, row.actor, row.reason) == ("fail", "sandbar", "never")
    # Begun anew, it has all its retries again.
    attempts.clear()
    db.workflows.transition(id, "retry", principal="ann")
    until(db, id, lambda view: view.is_complete and len(attempts) == 3)
    assert attempts == [0, 1, 2]


def test_on_error_names_the_way(lite: sandbar.Database) -> None:
    def work(job: Running) -> Outcome:
        raise Incorrect("test.no", "x" * 5000)

    spec = one_step("order/work")
    spec["states"][0]["on-error"] = "cancel"
    spec["transitions"][2]["requires-reason?"] = True
    id = working(lite, work, spec=spec)
    assert ended(lite, id).state == "end/cancelled"
    assert str(lite.workflows.history(id)[-1].reason).startswith("xxx")


def test_a_defect_is_logged_under_an_id_and_tells_nothing(
    lite: sandbar.Database, caplog: pytest.LogCaptureFixture
) -> None:
    def work(job: Running) -> Outcome:
        raise KeyError("a secret")

    view = ended(lite, working(lite, work))
    error = view.error or {}
    assert (view.kind, error["code"], error["category"]) == ("failure", "activity.failed", "Fault")
    assert error["data"]["id"] in caplog.text
    assert "KeyError" in caplog.text
    assert "secret" not in caplog.text + str(error)


@pytest.mark.parametrize("outcome", [None, "go", Outcome("go", result={1, 2})])
def test_an_outcome_that_is_none_is_a_failure(lite: sandbar.Database, outcome: Any) -> None:
    attempts: list[int] = []

    def work(job: Running) -> Any:
        attempts.append(1)
        return outcome

    view = ended(lite, working(lite, work))
    assert (view.kind, len(attempts)) == ("failure", 1)


def test_an_outcome_that_names_no_transition_is_a_failure(lite: sandbar.Database) -> None:
    view = ended(lite, working(lite, lambda job: Outcome("gone")))
    error = view.error or {}
    assert (view.kind, error["code"]) == ("failure", "workflow.no-transition")
    assert "go" in error["data"]["transitions"]


def test_an_outcome_that_a_guard_refuses_is_a_failure(lite: sandbar.Database) -> None:
    spec = one_step("order/work", go={"guard": "process.data.n == 1"})
    view = ended(lite, working(lite, lambda job: Outcome("go", {"n": 2}), spec=spec))
    assert (view.kind, (view.error or {})["code"]) == ("failure", "workflow.guard-refused")
    assert view.data == {}


def test_an_activity_may_say_itself_what_went_wrong(lite: sandbar.Database) -> None:
    told = {"code": "test.lost", "message": "it is lost"}
    spec = one_step("order/work")
    spec["transitions"][1]["requires-reason?"] = True
    id = working(lite, lambda job: Outcome("fail", {"n": 1}, error=told), spec=spec)
    view = ended(lite, id)
    assert (view.kind, view.error, view.data) == ("failure", told, {"n": 1})
    assert lite.workflows.history(id)[-1].reason == "it is lost"


def test_without_a_way_of_failure_somebody_has_to_look(db: sandbar.Database) -> None:
    attempts: list[Any] = []

    def work(job: Running) -> Outcome:
        attempts.append(job.checkpoint)
        job.save(len(attempts))
        if len(attempts) < 3:
            raise Incorrect("test.no", "no")
        return Outcome("go")

    id = working(db, work, spec=no_way_out(), retries=1, backoff=0.1)
    view = until(db, id, lambda view: view.paused)
    assert ((view.error or {})["code"], view.attempt, view.state) == ("test.no", 2, "step/first")
    row = db.workflows.history(id)[-1]
    assert (row.action, row.actor, row.reason) == ("pause", "sandbar", "no")
    db.workflows.resume(id, principal="ann")
    view = ended(db, id)
    assert (view.kind, view.error, view.attempt) == ("success", None, 0)
    assert attempts == [None, 1, 2]


@pytest.mark.parametrize("bar", ["guard", "effect", "code"])
def test_a_way_of_failure_that_is_barred_is_not_tried_for_ever(
    lite: sandbar.Database, bar: str
) -> None:
    attempts: list[int] = []

    def work(job: Running) -> Outcome:
        attempts.append(1)
        raise Incorrect("test.no", "no")

    def fail(happening: Happening) -> None:
        raise ValueError("a defect")

    spec = one_step("order/work", {"activity": "test/work"})
    spec["transitions"][1] |= {
        "guard": {"guard": "false"},
        "effect": {"effects": [{"set": {"order/total": -1}}]},
        "code": {"handler": "test/fail"},
    }[bar]
    with_code(lite, {"test/work": work}, {"test/fail": fail})
    id = begin(lite, spec, "order/one")
    lite.start_worker()
    view = until(lite, id, lambda view: view.paused)
    codes = {
        "guard": "workflow.guard-refused",
        "effect": "value.out-of-bounds",
        "code": "workflow.effect-failed",
    }
    assert ((view.error or {})["code"], len(attempts)) == (codes[bar], 1)


def test_code_of_an_effect_that_fails_fails_the_attempt(lite: sandbar.Database) -> None:
    attempts: list[int] = []

    def work(job: Running) -> Outcome:
        attempts.append(1)
        return Outcome("go")

    def fail(happening: Happening) -> None:
        raise ValueError("a defect")

    with_code(lite, {"test/work": work}, {"test/fail": fail})
    spec = one_step("order/work", {"activity": "test/work"}, go={"handler": "test/fail"})
    id = begin(lite, spec)
    lite.start_worker()
    view = ended(lite, id)
    assert (view.kind, (view.error or {})["code"]) == ("failure", "workflow.effect-failed")
    assert len(attempts) == 1


@pytest.mark.parametrize("code", ["store.busy", "job.lost"])
def test_a_store_that_ails_is_no_failure_of_the_activity(
    lite: sandbar.Database, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_AILING_PAUSE_S", 0.1)
    monkeypatch.setattr(Worker.__init__, "__kwdefaults__", {"threads": 32, "lease_s": 0.8})
    attempts: list[int] = []
    ailing = {"store.busy": Unavailable("store.busy", "x"), "job.lost": Conflict("job.lost", "x")}

    def work(job: Running) -> Outcome:
        attempts.append(job.process.attempt)
        if len(attempts) == 1:
            raise ailing[code]
        return Outcome("go")

    assert ended(lite, working(lite, work)).kind == "success"
    assert attempts == [0, 0]


# --- time ------------------------------------------------------------------------------------


def test_an_attempt_that_takes_too_long_is_given_up(db: sandbar.Database) -> None:
    began_s = time.monotonic()
    view = ended(db, working(db, wait_for_end, timeout=0.3))
    error = view.error or {}
    assert (view.kind, error["code"]) == ("failure", "activity.timeout")
    assert "0.3 s" in error["message"]
    assert 0.3 <= time.monotonic() - began_s < 3.0


@pytest.mark.usefixtures("brisk")
def test_each_attempt_has_the_time(db: sandbar.Database) -> None:
    attempts: list[int] = []

    def work(job: Running) -> Outcome:
        attempts.append(1)
        return wait_for_end(job) if len(attempts) < 3 else Outcome("go")

    assert ended(db, working(db, work, timeout=0.2, retries=2, backoff=0.1)).kind == "success"
    assert len(attempts) == 3


@pytest.mark.usefixtures("brisk")
def test_an_attempt_that_does_not_listen_is_given_up_as_well(db: sandbar.Database) -> None:
    """It sleeps through its time; the process goes on without it, and it can write no more."""
    woken, codes = threading.Event(), []
    attempts: list[int] = []

    def work(job: Running) -> Outcome:
        attempts.append(1)
        if len(attempts) > 1:
            return Outcome("go", {"by": "the second"})
        assert woken.wait(60)
        try:
            job.transact([{"op": "update", "entity": "order/one", "set": {"order/total": 99}}])
        except sandbar.Problem as problem:
            codes.append(problem.code)
        return Outcome("go", {"by": "the first"})

    id = working(db, work, timeout=0.2, retries=1, backoff=0.1)
    view = ended(db, id)
    assert (view.kind, view.data) == ("success", {"by": "the second"})
    woken.set()
    until(db, id, lambda _: len(codes) == 1)
    assert codes[0] in ("request.cancelled", "request.deadline", "job.lost")
    assert db.workflows.view(id) == view
    assert db.get("order/one")["order/total"] == 10


@pytest.mark.usefixtures("brisk")
def test_those_who_do_not_listen_keep_nobody_waiting(lite: sandbar.Database) -> None:
    """More of them than the worker does things at a time."""
    woken = threading.Event()

    def work(job: Running) -> Outcome:
        if job.data.get("hangs"):
            woken.wait(60)
        return Outcome("go")

    id = working(lite, work, data={"hangs": True}, timeout=0.1)
    more = [
        lite.workflows.start("order/work", None, {"hangs": True}, principal="ann").process_id
        for _ in range(20)
    ]
    good = lite.workflows.start("order/work", principal="ann").process_id
    assert ended(lite, good, 15).kind == "success"
    assert {ended(lite, one).kind for one in (id, *more)} == {"failure"}
    woken.set()


def test_a_server_stops_though_an_activity_does_not_listen(
    lite: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inspect.signature(Worker.stop).parameters["timeout_s"].default <= 5.0
    monkeypatch.setattr(Worker.stop, "__defaults__", (0.5,))
    begun, woken = threading.Event(), threading.Event()

    def work(job: Running) -> Outcome:
        begun.set()
        woken.wait(60)
        return Outcome("go")

    working(lite, work)
    assert begun.wait(20)
    began_s = time.monotonic()
    lite.close()
    assert 0.5 <= time.monotonic() - began_s < 7.5
    hanging = [one for one in threading.enumerate() if one.name == "sandbar-activity"]
    assert all(thread.daemon for thread in hanging), "the program's end would wait for it"
    woken.set()
    for thread in hanging:
        thread.join(20)
        assert not thread.is_alive()
