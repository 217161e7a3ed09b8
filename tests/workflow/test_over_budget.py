"""Timers and activities stay within the budget of their workspace: they wait, and go on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import sandbar
from sandbar import clock
from sandbar.model import Create, read_limits
from sandbar.store import usage
from sandbar.workflow import Outcome, Running, worker
from tests.model.conftest import Place
from tests.workflow.bouncing import JUNK, bouncing
from tests.workflow.orders import ended, one_step, until, with_code, working

WAIT_S = 20.0


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at again is looked at soon."""
    monkeypatch.setattr(worker, "_OVER_BUDGET_PAUSE_S", 0.05)


@pytest.fixture
def short_minutes(soon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute has half a second."""
    monkeypatch.setattr(usage, "_MINUTE_US", 500_000)


def limit(db: sandbar.Database, *limits: str) -> None:
    """As the operator does."""
    db.workspace.budgets.set_limits(read_limits(limits))


def attack(db: sandbar.Database, count: int = 4, text: str = "x") -> list[int]:
    """Processes that bounce for ever, and fill the workspace."""
    db.define(properties=JUNK["properties"], classes=JUNK["classes"])
    db.workflows.define(bouncing("test/bounce", creates=2, seconds=0.1), principal="eve")
    return [
        db.workflows.start("test/bounce", data={"text": text}, principal="eve").process_id
        for _ in range(count)
    ]


def steps(db: sandbar.Database, ids: list[int]) -> int:
    """How many transitions were made."""
    return sum(db.workflows.view(id).step for id in ids)


def eventually(holds: Callable[[], bool]) -> None:
    """It must come true in time."""
    deadline_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def all_wait(db: sandbar.Database, ids: list[int]) -> None:
    """Until each of them waits for room."""
    eventually(lambda: all(db.workflows.view(id).over_budget for id in ids))


def tried_again(db: sandbar.Database, ids: list[int]) -> None:
    """Until a worker has looked at each of them once more."""
    jobs = db._store.jobs
    jobs.try_over_budget(db.workspace.number)
    eventually(lambda: (jobs.next_due_s() or 0) > 0.01)
    all_wait(db, ids)


def test_bouncing_timers_stop_at_the_budget_of_transitions(
    place: Place, db: sandbar.Database, soon: None
) -> None:
    limit(db, "background-transitions=8")
    with_code(db).start_worker()
    ids = attack(db)
    all_wait(db, ids)
    assert 8 <= steps(db, ids) <= 10
    told = db.call("workspace.usage")
    assert (told.waiting, told.budgets["limit/background-transitions"].limit) == (4, 8)
    assert told.waiting_since is not None
    shown = db.call("workflow.active-processes").processes
    assert [one.over_budget for one in shown] == [True] * 4
    assert db.call("workflow.process-state", {"process": ids[0]}).over_budget


def test_a_restart_and_another_server_change_nothing(
    place: Place, db: sandbar.Database, soon: None
) -> None:
    limit(db, "background-transitions=8")
    ids = attack(db)
    first = with_code(place.open())
    first.start_worker()
    all_wait(db, ids)
    second = with_code(place.open())
    second.start_worker()
    tried_again(db, ids)
    for server in (first, second):
        server.close()
    after_restart = with_code(place.open())
    after_restart.start_worker()
    tried_again(db, ids)
    assert steps(db, ids) <= 12


def test_bytes_are_bounded_and_each_budget_is_its_workspaces_own(
    place: Place, db: sandbar.Database, soon: None
) -> None:
    limit(db, "background-bytes=200KiB")
    before = db.workspace.budgets.account().counters
    with_code(db).start_worker()
    ids = attack(db, text="x" * 20_000)
    all_wait(db, ids)
    after = db.workspace.budgets.account().counters
    # The data of four processes come from requests; one transition may run over.
    most = (200 << 10) + 4 * 21_000 + 70_000
    assert after.stored_bytes + after.history_bytes - before.stored_bytes < most
    other = with_code(db.in_workspace(place.open(f"{place.workspace}-other").workspace_name))
    timed = one_step("order/timed", {"after": {"seconds": 0.1, "transition": "go"}})
    other.workflows.define(timed, principal="ann")
    process = other.workflows.start("order/timed", principal="ann").process_id
    assert ended(other, process, 5.0).kind == "success"
    assert not db.workflows.view(ids[0]).is_complete


def test_they_go_on_by_themselves(db: sandbar.Database, short_minutes: None) -> None:
    limit(db, "background-transitions=10")
    with_code(db).start_worker()
    ids = attack(db)
    eventually(lambda: db.workspace.budgets.waiting().processes > 0)
    eventually(lambda: steps(db, ids) > 14)


def test_more_is_done_as_soon_as_the_operator_says_so(db: sandbar.Database, soon: None) -> None:
    limit(db, "background-transitions=5")
    with_code(db).start_worker()
    ids = attack(db)
    all_wait(db, ids)
    before = steps(db, ids)
    limit(db, "background-transitions=none")
    eventually(lambda: steps(db, ids) > before + 2)
    assert db.workspace.budgets.waiting().processes <= 4


def test_timers_wait_until_a_full_workspace_has_room(db: sandbar.Database, soon: None) -> None:
    ids = attack(db)
    limit(db, f"entities={db.workspace.budgets.account().counters.entities + 5}")
    with_code(db).start_worker()
    all_wait(db, ids)
    before = steps(db, ids)
    view = db.workflows.view(ids[0])
    assert (view.error, view.paused) == (None, False)
    assert view.timer_at is not None
    limit(db, "entities=none")
    eventually(lambda: steps(db, ids) > before)


def test_all_that_are_due_wait_together(db: sandbar.Database) -> None:
    """Not one after the other: thousands of them would keep the timers of others waiting."""
    limit(db, "background-transitions=1")
    ids = attack(db, count=30)
    jobs, ws = db._store.jobs, db.workspace.number
    last = clock.us_of_text(str(db.workflows.view(ids[-1]).timer_at))
    eventually(lambda: clock.now_us() > last)
    (claim,) = jobs.claim("test", 1, 30.0)
    jobs.put_off(ws, claim.id, claim.token, 5.0, with_all_due=True)
    assert db.workspace.budgets.waiting().processes == 30
    assert jobs.claim("test", 99, 30.0) == []
    assert all(view.over_budget for view in map(db.workflows.view, ids))
    assert (jobs.next_due_s() or 0) > 4


def test_a_process_that_waits_can_be_cancelled(db: sandbar.Database, soon: None) -> None:
    limit(db, "background-transitions=5")
    with_code(db).start_worker()
    ids = attack(db)
    all_wait(db, ids)
    for id in ids:
        view = db.workflows.cancel(id, principal="ann")
        assert (view.kind, view.over_budget) == ("cancel", False)
    assert db.workspace.budgets.waiting().processes == 0


def test_an_activity_waits_where_it_is_and_ends(db: sandbar.Database, short_minutes: None) -> None:
    runs: list[int] = []

    def work(job: Running) -> Outcome:
        runs.append(1)
        for n in range(8):
            job.transact([Create(class_="note/Note", slots=note(n))])
        return Outcome("go")

    def note(n: int) -> dict[str, Any]:
        return {"note/text": "x" * 200, "note/n": n}

    limit(db, "background-bytes=800")
    id = working(db, work)
    until(db, id, lambda view: view.over_budget)
    view = ended(db, id)
    assert (view.kind, view.over_budget, len(runs)) == ("success", False, 1)
    assert len(db.query("note/Note").items) == 8


def test_what_people_ask_for_is_not_paid_from_the_budget_of_timers(db: sandbar.Database) -> None:
    limit(db, "background-transitions=1", "background-bytes=1")
    ids = attack(db, count=1)
    for name in ("go", "back", "go"):
        db.workflows.transition(ids[0], name, principal="ann")
    used = db.workspace.budgets.account().usage
    assert (used.background_transitions, used.background_bytes) == (0, 0)
