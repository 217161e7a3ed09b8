"""Whoever runs an activity, a worker or whoever waits: its code sees the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict
from sandbar.patience import Patience
from sandbar.workflow import Outcome, ProcessView, Running, foreground
from sandbar.workflow.jobs import Job
from tests.workflow.orders import begin, ended, one_step, with_code

Run = Callable[[sandbar.Database, int], ProcessView]


def _by_a_worker(db: sandbar.Database, id: int) -> ProcessView:
    db.start_worker()
    return ended(db, id)


def _by_whoever_waits(db: sandbar.Database, id: int) -> ProcessView:
    return foreground.run_here(db.workflows, id, lambda *_: None)


@pytest.mark.parametrize("run", [_by_a_worker, _by_whoever_waits])
def test_what_was_kept_is_at_hand(db: sandbar.Database, run: Run) -> None:
    """After every kind of write, and only what was written."""
    seen: list[Any] = []

    def work(job: Running) -> Outcome:
        seen.append(job.checkpoint)
        job.transact([_note(1)], checkpoint={"at": 1})
        seen.append(job.checkpoint)
        seen.append(job.workspace.get(job.process.process_id)["workflow/checkpoint"])
        job.transact([_note(2)])
        seen.append(job.checkpoint)
        job.save({"at": 3})
        seen.append(job.checkpoint)
        with pytest.raises(sandbar.Problem):
            job.transact([_note(4), {"op": "create", "class": "note/Note"}], checkpoint={"at": 4})
        seen.append(job.checkpoint)
        job.progress(1, 1, "done")
        return Outcome("go", {"n": job.data["n"] + 1}, result="well")

    with_code(db, {"test/work": work})
    id = begin(db, one_step("order/work", {"activity": "test/work"}), n=1)
    view = run(db, id)
    assert seen == [None, {"at": 1}, {"at": 1}, {"at": 1}, {"at": 3}, {"at": 3}]
    assert (view.kind, view.data, view.result) == ("success", {"n": 2}, "well")
    assert view.progress is not None
    assert {name: view.progress[name] for name in ("done", "total", "message")} == {
        "done": 1, "total": 1, "message": "done",
    }  # fmt: skip
    assert sorted(one["note/n"] for one in db.query("note/Note").items) == [1, 2]


def _note(n: int) -> dict[str, Any]:
    return {"op": "create", "class": "note/Note", "slots": {"note/text": str(n), "note/n": n}}


def test_every_write_of_whoever_waits_keeps_workers_away(
    lite: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction without a checkpoint, too."""
    left_s: list[float | None] = []

    def work(job: Running) -> Outcome:
        writes: list[Callable[[int], object]] = [job.save, lambda at: job.transact([_note(at)])]
        for n, write in enumerate(writes):
            monkeypatch.setattr(foreground, "_TAKEN_OVER_AFTER_S", 1000.0 * (n + 1))
            write(n)
            left_s.append(lite._store.jobs.next_due_s())
        return Outcome("go")

    with_code(lite, {"test/work": work})
    _by_whoever_waits(lite, begin(lite, one_step("order/work", {"activity": "test/work"})))
    assert [round(left or 0, -3) for left in left_s] == [1000, 2000]


@pytest.mark.parametrize("is_held", [True, False])
def test_whoever_waits_writes_nothing_once_a_worker_has_taken_over(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    """While the worker holds the job, and after it has let go of what it had got further with."""
    monkeypatch.setattr(foreground, "_TAKEN_OVER_AFTER_S", 0.0)

    def take_over(id: int) -> None:
        (claim,) = db._store.jobs.claim("another", 1, 60.0)
        assert claim.id == id
        if not is_held:
            record = db.workflows.records.read(id)
            worker = Job(db.workflows, record, claim.token, Patience(None))
            worker.transact([_note(2)], checkpoint={"at": 2})
            db._store.jobs.release(claim.ws, claim.id, claim.token, 60.0)

    def work(job: Running) -> Outcome:
        job.transact([_note(1)], checkpoint={"at": 1})
        take_over(job.process.process_id)
        with pytest.raises(Conflict) as lost:
            job.transact([_note(2)], checkpoint={"at": 2})
        assert lost.value.code == "job.lost"
        raise lost.value

    with_code(db, {"test/work": work})
    view = _by_whoever_waits(db, begin(db, one_step("order/work", {"activity": "test/work"})))
    assert not view.is_complete
    assert sorted(one["note/n"] for one in db.query("note/Note").items) == (
        [1] if is_held else [1, 2]
    )
