"""Activities: work that a server does by itself, and what is left of it when it is interrupted."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import sandbar
from sandbar.errors import Interrupted
from sandbar.workflow import Outcome, Running, worker
from tests.model.conftest import Place
from tests.workflow.orders import (
    WRITER,
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


def note(n: int) -> dict[str, Any]:
    """Makes a note."""
    return {"op": "create", "class": "note/Note", "slots": {"note/text": str(n), "note/n": n}}


def numbers(db: sandbar.Database) -> list[int]:
    """The notes that there are."""
    return sorted(one["note/n"] for one in db.query("note/Note", limit=1000).items)


def test_the_outcome_moves_the_process_on(db: sandbar.Database) -> None:
    seen: list[Any] = []

    def work(job: Running) -> Outcome:
        seen.append((job.process.state, job.data, job.checkpoint))
        return Outcome("go", {"more": 2}, result={"answer": 42})

    id = working(db, work, data={"n": 1})
    view = ended(db, id)
    assert (view.kind, view.data, view.result) == ("success", {"n": 1, "more": 2}, {"answer": 42})
    assert (view.error, view.attempt) == (None, 0)
    assert path_of(db, id) == [("start", "step/first"), ("go", "end/done")]
    assert db.workflows.history(id)[-1].actor == "ann"
    assert seen == [("step/first", {"n": 1}, None)]
    assert db._store.jobs.next_due_s() is None


def test_one_activity_follows_another_at_once(db: sandbar.Database) -> None:
    spec = one_step("order/work", {"activity": "test/work"})
    spec["states"].insert(1, {"name": "step/second", "activity": "test/more"})
    spec["transitions"][0]["to"] = "step/second"
    spec["transitions"].append({"name": "finish", "from": "step/second", "to": "end/done"})
    activities = {
        "test/work": lambda job: Outcome("go", {"n": 1}),
        "test/more": lambda job: Outcome("finish", {"n": job.data["n"] + 1}),
    }
    with_code(db, activities)
    id = begin(db, spec)
    db.start_worker()
    assert ended(db, id, 5).data == {"n": 2}


def test_a_chained_process_is_worked_on_as_well(db: sandbar.Database) -> None:
    with_code(db, {"test/work": lambda job: Outcome("go")})
    db.workflows.define(one_step("order/work", {"activity": "test/work"}), principal="ann")
    db.start_worker()
    parent = begin(db, one_step("order/parent", go={"effects": [{"start": "order/work"}]}))
    move(db, parent, "go")
    until(db, parent, lambda view: not db.workflows.active()[0], 5)
    children = db.query("workflow/Process", {"workflow/parent": parent}).items
    assert [ended(db, child.entity_id).kind for child in children] == ["success"]


def test_progress_is_seen_while_it_runs(db: sandbar.Database) -> None:
    go_on = threading.Event()

    def work(job: Running) -> Outcome:
        for n in range(1, 101):
            job.progress(n, 1000, "counting")  # told often, written now and then
        assert go_on.wait(20)
        job.progress(1000, 1000)
        return Outcome("go")

    id = working(db, work)
    view = until(db, id, lambda view: view.progress is not None)
    assert view.progress is not None
    assert (view.progress["total"], view.progress["message"]) == (1000, "counting")
    assert (view.status, view.updated_at) == ("running", view.progress["at"])
    go_on.set()
    progress = ended(db, id).progress
    assert progress is not None
    assert (progress["done"], progress["total"]) == (1000, 1000)
    assert len(db.history(id)) < 20, "told a hundred times, written a few"


def test_a_transaction_and_its_checkpoint_are_one(db: sandbar.Database) -> None:
    """Interrupted between any two steps, no step is made twice and none is left out."""
    attempts: list[Any] = []

    def work(job: Running) -> Outcome:
        attempts.append(job.checkpoint)
        for n in range(job.checkpoint or 0, 5):
            before = job.workspace.last_t()
            job.transact([note(n)], checkpoint=n + 1)
            assert job.workspace.last_t() == before + 1
            assert job.checkpoint == n + 1
            if n % 2 and n + 1 not in attempts:
                raise OSError("interrupted here")
        return Outcome("go")

    id = working(db, work, retries=5, backoff=0.1)
    assert ended(db, id).kind == "success"
    assert attempts == [None, 2, 4]
    assert numbers(db) == [0, 1, 2, 3, 4]
    assert "workflow/checkpoint" not in db.get(id).slots


def test_a_refused_transaction_leaves_the_checkpoint(db: sandbar.Database) -> None:
    found: list[Any] = []

    def work(job: Running) -> Outcome:
        if job.checkpoint is None:
            job.save({"at": 1})
            wrong = {"op": "create", "class": "note/Note", "slots": {}}
            job.transact([note(1), wrong], checkpoint={"at": 2})
        found.append(job.checkpoint)
        return Outcome("go")

    id = working(db, work, retries=1, backoff=0.1)
    assert ended(db, id).kind == "success"
    assert (found, numbers(db)) == ([{"at": 1}], [])


@pytest.mark.parametrize("who", ["starter", "definer", "neither"])
def test_an_activity_writes_what_its_starter_and_its_definer_may(
    lite: sandbar.Database, who: str
) -> None:
    def work(job: Running) -> Outcome:
        job.transact([{"op": "update", "entity": "order/Order", "set": {"db/doc": "mine"}}])
        return Outcome("go")

    with_code(lite, {"test/work": work})
    spec = one_step("order/work", {"activity": "test/work"})
    lite.workflows.define(spec, principal="ann", caller=WRITER if who == "definer" else None)
    caller = WRITER if who == "starter" else None
    id = lite.workflows.start("order/work", principal="bob", caller=caller).process_id
    lite.start_worker()
    view = ended(lite, id)
    assert (view.kind, (view.error or {}).get("code")) == (
        ("success", None) if who == "neither" else ("failure", "schema.admin-only")
    )


# --- interrupted -----------------------------------------------------------------------------


def test_cancelling_stops_the_activity_within_a_second(db: sandbar.Database) -> None:
    begun, stopped = threading.Event(), threading.Event()
    refused: list[str] = []

    def work(job: Running) -> Outcome:
        begun.set()
        try:
            return wait_for_end(job)
        except Interrupted:
            try:
                job.transact([note(1)])
            except Interrupted as problem:
                refused.append(problem.code)
            stopped.set()
            raise

    id = working(db, work)
    assert begun.wait(20)
    cancelled_s = time.monotonic()
    assert db.workflows.cancel(id, principal="bob").kind == "cancel"
    assert stopped.wait(20)
    assert time.monotonic() - cancelled_s < 1.0
    assert refused == ["request.cancelled"]
    assert path_of(db, id) == [("start", "step/first"), ("cancel", "end/cancelled")]
    assert numbers(db) == []


def test_what_was_overtaken_can_write_nothing(db: sandbar.Database) -> None:
    """Between the cancellation and the news of it, the fence holds."""
    begun, go_on, codes = threading.Event(), threading.Event(), []

    def work(job: Running) -> Outcome:
        begun.set()
        assert go_on.wait(20)
        for write in (
            lambda: job.transact([note(1)], checkpoint=1),
            lambda: job.save(1),
            lambda: job.progress(1, 1),
        ):
            try:
                write()
            except sandbar.Problem as problem:
                codes.append(problem.code)
        return Outcome("go")

    id = working(db, work)
    assert begun.wait(20)
    view = db.workflows.cancel(id, principal="bob")
    go_on.set()
    until(db, id, lambda _: len(codes) == 3)
    assert set(codes) <= {"job.lost", "request.cancelled"}
    assert codes[0] == "job.lost" or "job.lost" not in codes
    time.sleep(0.2)  # the outcome is refused as well: nothing may change any more
    assert db.workflows.state(id, principal="bob") == view
    assert numbers(db) == []


def test_a_paused_activity_goes_on_from_its_checkpoint(db: sandbar.Database) -> None:
    attempts: list[Any] = []
    saved = threading.Event()

    def work(job: Running) -> Outcome:
        attempts.append(job.checkpoint)
        if job.checkpoint is None:
            job.transact([note(1)], checkpoint={"done": 1})
            saved.set()
            return wait_for_end(job)
        return Outcome("go")

    id = working(db, work)
    assert saved.wait(20)
    db.workflows.pause(id, principal="bob")
    until(db, id, lambda _: not _is_worked_on())
    assert db._store.jobs.next_due_s() is None, "nobody is to look after it"
    assert db.workflows.view(id).paused
    db.workflows.resume(id, principal="bob")
    assert ended(db, id).kind == "success"
    assert attempts == [None, {"done": 1}]
    assert numbers(db) == [1]
    assert [action for action, _ in path_of(db, id)] == ["start", "pause", "resume", "go"]


def _is_worked_on() -> bool:
    return any(thread.name == "sandbar-activity" for thread in threading.enumerate())


def test_a_worker_that_stops_hands_over_and_counts_no_attempt(
    place: Place, db: sandbar.Database
) -> None:
    saved = threading.Event()

    def first(job: Running) -> Outcome:
        job.save(1)
        saved.set()
        return wait_for_end(job)

    id = working(db, first)
    assert saved.wait(20)
    other = with_code(
        place.open(), {"test/work": lambda job: Outcome("go", {"from": job.checkpoint})}
    )
    stopped_s = time.monotonic()
    db.close()
    assert time.monotonic() - stopped_s < 2.0
    assert other.workflows.view(id).attempt == 0
    other.start_worker()
    view = ended(other, id, 5)  # sooner than the lease would have run out, mostly
    assert (view.kind, view.data, view.attempt) == ("success", {"from": 1}, 0)
    assert [action for action, _ in path_of(other, id)] == ["start", "go"]


def test_a_process_waits_for_a_server_that_has_the_code(
    place: Place, db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_NO_CODE_PAUSE_S", 0.5)
    with_code(db)
    id = begin(db, one_step("order/work", {"activity": "test/work"}))
    db.start_worker()
    other = with_code(place.open(), {"test/work": lambda job: Outcome("go")})
    view = until(db, id, lambda view: view.error is not None)  # the one without has had it
    assert ((view.error or {})["code"], view.attempt) == ("activity.no-code", 0)
    other.start_worker()
    assert ended(other, id).kind == "success"


def test_activities_of_many_processes_run_side_by_side(db: sandbar.Database) -> None:
    barrier = threading.Barrier(4)

    def work(job: Running) -> Outcome:
        barrier.wait(20)
        return Outcome("go")

    ids = [working(db, work)]
    ids += [db.workflows.start("order/work", principal="ann").process_id for _ in range(3)]
    assert [ended(db, id).kind for id in ids] == ["success"] * 4


def test_an_activity_begins_at_once(db: sandbar.Database) -> None:
    """The worker is woken: nobody waits for the next time that it looks by itself."""
    ran = threading.Event()

    def work(job: Running) -> Outcome:
        ran.set()
        return Outcome("go")

    working(db, work)
    assert ran.wait(20)
    ran.clear()
    took_s = []
    for _ in range(3):
        began_s = time.monotonic()
        id = db.workflows.start("order/work", principal="ann").process_id
        assert ran.wait(20)
        took_s.append(time.monotonic() - began_s)
        ended(db, id)
        ran.clear()
    assert min(took_s) < 0.3
