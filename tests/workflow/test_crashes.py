"""Servers that are lost with an activity: it is the activity's fault only if it never gets further.

A server is lost here by running with a lease that is over at once, and an activity that hangs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict
from sandbar.workflow import Outcome, Running, Worker
from sandbar.workflow.driving import CRASHES_MAX, SUSPECT_CRASHES
from tests.workflow.orders import begin, ended, one_step, path_of, until, with_code, without

SPEC = one_step("order/work", {"activity": "test/work"})
AT_ONCE_S = 0.0  # a lease that nobody renews
SOON_S = 20.0


class Scene:
    """A database whose servers are lost one after the other."""

    def __init__(self, db: sandbar.Database) -> None:
        self.db = db
        self.entered: list[int] = []  # processes, in the order in which they were run
        self.first_words: Callable[[Running], None] = lambda job: None
        self.over = threading.Event()
        with_code(db, {"test/work": self._hang})

    def _hang(self, job: Running) -> Outcome:
        self.first_words(job)
        self.entered.append(job.process.process_id)
        self.over.wait(SOON_S)
        return Outcome("go")

    def server(self, lease_s: float = AT_ONCE_S) -> Worker:
        """One that has looked once for something to do."""
        worker = Worker(self.db._store.jobs, lambda name: self.db.workflows, lease_s=lease_s)
        worker._claim()
        return worker

    def lose(self, times: int = 1, *, running: int = 1) -> None:
        """So many servers, each with so many activities."""
        for _ in range(times):
            known = len(self.entered)
            self.server()
            deadline_s = time.monotonic() + SOON_S
            while len(self.entered) < known + running:
                assert time.monotonic() < deadline_s, "it was not run"
                time.sleep(0.002)

    def crashes(self, id: int) -> Any:
        """What is known of those that were lost."""
        return self.db.get(id).slots.get("workflow/crashes")


@pytest.fixture
def scene(db: sandbar.Database) -> Iterator[Scene]:
    """On each store."""
    scene = Scene(db)
    yield scene
    scene.over.set()


def test_what_takes_one_server_after_another_with_it_fails(scene: Scene) -> None:
    id = begin(scene.db, SPEC)
    scene.lose(CRASHES_MAX)
    assert not scene.db.workflows.view(id).is_complete
    scene.server()
    view = ended(scene.db, id)
    assert (view.state, len(scene.entered)) == ("end/failed", CRASHES_MAX)
    error = view.error or {}
    assert (error["code"], error["data"]) == ("activity.crashes", {"crashes": CRASHES_MAX})
    assert "test/work" in error["message"]
    assert path_of(scene.db, id) == [("start", "step/first"), ("fail", "end/failed")]
    assert scene.crashes(id) is None
    assert scene.db._store.jobs.next_due_s() is None


def test_retries_are_not_for_crashes(scene: Scene) -> None:
    id = begin(scene.db, one_step("order/work", {"activity": "test/work", "retries": 9}))
    scene.lose(CRASHES_MAX)
    scene.server()
    assert (ended(scene.db, id).error or {})["code"] == "activity.crashes"


def test_where_there_is_no_way_of_failure_it_rests_until_somebody_has_looked(scene: Scene) -> None:
    id = begin(scene.db, without(SPEC, "fail"))
    scene.lose(CRASHES_MAX)
    scene.server()
    view = until(scene.db, id, lambda view: view.paused)
    assert (view.error or {})["code"] == "activity.crashes"
    assert scene.db._store.jobs.next_due_s() is None
    scene.db.workflows.resume(id, principal="ann")
    assert scene.crashes(id) is None
    scene.lose(CRASHES_MAX)
    scene.server()
    assert until(scene.db, id, lambda view: view.paused).state == "step/first"
    actions = [action for action, _ in path_of(scene.db, id)]
    assert actions == ["start", "pause", "resume", "pause"]


def test_a_checkpoint_further_on_takes_the_blame_away(scene: Scene) -> None:
    """However often: it will come to an end. Even one that is changed where it stands counts."""
    reached: list[int] = []

    def words(job: Running) -> None:
        kept = job.checkpoint or {"n": 0}
        reached.append(kept["n"])
        kept["n"] += 1
        job.save(kept)

    scene.first_words = words
    id = begin(scene.db, SPEC)
    scene.lose(2 * CRASHES_MAX)
    assert reached == list(range(2 * CRASHES_MAX))
    scene.over.set()
    scene.server(SOON_S)
    assert ended(scene.db, id).kind == "success"


def test_a_checkpoint_of_a_transaction_counts_as_well(scene: Scene) -> None:
    scene.first_words = lambda job: _step(job, (job.checkpoint or 0) + 1)
    id = begin(scene.db, SPEC)
    scene.lose(2)
    assert scene.crashes(id) is None
    scene.lose()
    assert scene.db.get(id)["workflow/checkpoint"] == 3


def _step(job: Running, n: int) -> None:
    slots = {"note/text": str(n), "note/n": n}
    job.transact([{"op": "create", "class": "note/Note", "slots": slots}], checkpoint=n)


def test_the_same_words_again_are_no_progress(scene: Scene) -> None:
    """Who begins by telling that nothing is done yet, or saves the same again, is not further."""

    def words(job: Running) -> None:
        job.progress(0, 10)
        job.save("begun")

    scene.first_words = words
    id = begin(scene.db, SPEC)
    scene.lose(CRASHES_MAX)
    assert scene.crashes(id) == {"times": CRASHES_MAX - 1, "done": 0}
    scene.server()
    assert (ended(scene.db, id).error or {})["code"] == "activity.crashes"


def test_progress_counts_from_where_others_had_come(scene: Scene) -> None:
    done = iter([5, 3, 5, 6])
    scene.first_words = lambda job: job.progress(next(done), 10)
    id = begin(scene.db, SPEC)
    seen = []
    for _ in range(4):
        scene.lose()
        seen.append(scene.crashes(id))
    assert seen == [None, {"times": 1, "done": 5}, {"times": 2, "done": 5}, None]


def test_an_attempt_that_fails_by_itself_lets_others_begin_anew(scene: Scene) -> None:
    spec = one_step("order/work", {"activity": "test/work", "retries": 1, "backoff": 0.1})
    id = begin(scene.db, spec)
    scene.lose(3)
    hang, scene.first_words = scene.first_words, _refuse
    scene.server(SOON_S)
    until(scene.db, id, lambda view: view.attempt == 1)
    assert scene.crashes(id) is None
    scene.first_words = hang
    time.sleep(0.15)
    scene.lose(2)
    assert scene.crashes(id) == {"times": 1, "done": None}


def _refuse(job: Running) -> None:
    raise Conflict("test.refused", "it was told to fail", hint="tell it to go on")


def test_a_server_that_lacks_the_code_counts_for_others(scene: Scene) -> None:
    """Else a process could go to and fro for ever between those who die and those who cannot."""
    id = begin(scene.db, SPEC)
    scene.lose()
    with_code(scene.db)
    lacking = scene.server(SOON_S)
    while lacking._running:
        time.sleep(0.002)
    assert scene.crashes(id) == {"times": 1, "done": None}


def test_suspects_are_run_one_at_a_time(scene: Scene) -> None:
    """Else whatever ran beside the one that is to blame would be held to be the cause as well."""
    ids = {begin(scene.db, SPEC), begin(scene.db, SPEC)}
    scene.lose(SUSPECT_CRASHES, running=2)
    suspicious = scene.server(SOON_S)
    deadline_s = time.monotonic() + SOON_S
    while len(suspicious._running) == 2:
        assert time.monotonic() < deadline_s
        time.sleep(0.002)
    time.sleep(0.05)
    (alone,) = suspicious._running.values()
    assert scene.entered[2 * SUSPECT_CRASHES :] == [alone.claim.id]
    (other,) = ids - {alone.claim.id}
    assert not scene.db._store.jobs.is_due(), "it was left alone for a while"
    scene.over.set()
    assert ended(scene.db, alone.claim.id).kind == "success"
    scene.db.start_worker()
    assert ended(scene.db, other).kind == "success"
