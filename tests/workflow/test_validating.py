"""Validation as a process: its ends, what it keeps, and who may not be looked at."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar import clock, patience
from sandbar.access import add_account
from sandbar.errors import Interrupted, Problem
from sandbar.patience import Patience, limited
from sandbar.workflow import VALIDATION, foreground, tally_of, validating
from tests.model.conftest import Place
from tests.workflow.parts import (
    PART,
    SCREW,
    allow_up_to,
    break_rule,
    ended,
    found_by,
    is_idle,
    make_parts,
    until,
)

SLOW = 800  # parts: when 40 have been looked at, in small pages, there are enough left to look at


def start(db: sandbar.Database, subject: Any = PART) -> int:
    """A validation that has just begun."""
    return db.workflows.start(VALIDATION, subject, principal="tester").process_id


def steps(db: sandbar.Database, process_id: int) -> list[tuple[str, str]]:
    """What happened to a process."""
    return [(row.action, row.to.partition("/")[2]) for row in db.workflows.history(process_id)]


@pytest.fixture
def parts(place: Place) -> sandbar.Database:
    """A workspace with 100 parts, 7 of them heavy."""
    db = place.workspace_of_tests()
    make_parts(db, 100, heavy=7)
    return db


def test_all_are_valid(parts: sandbar.Database) -> None:
    id = start(parts)
    parts.start_worker()
    view = ended(parts, id)
    assert (view.state, view.kind) == ("validation/passed", "success")
    counts = {"total": 100, "checked": 100, "valid": 100, "invalid": 0}
    assert {name: view.result[name] for name in counts} == counts
    assert {name: view.data[name] for name in counts} == counts
    assert view.result["class"] == PART
    assert view.result["errors"] == []
    assert view.started_at <= view.result["started-at"] <= view.result["completed-at"]
    assert (view.progress["done"], view.progress["total"]) == (100, 100)
    assert steps(parts, id) == [
        ("start", "pending"),
        ("start", "in-progress"),
        ("pass", "passed"),
    ]


def test_some_are_not_and_a_retry_after_repairs_passes(parts: sandbar.Database) -> None:
    allow_up_to(parts, 100)
    id = start(parts)
    parts.start_worker()
    view = ended(parts, id)
    assert (view.state, view.kind) == ("validation/failed", "failure")
    assert (view.result["valid"], view.result["invalid"]) == (93, 7)
    assert {one["class"] for one in view.result["errors"]} == {PART, SCREW}
    for one in view.result["errors"]:
        assert parts.get(one["entity-id"])["part/weight"] == 1000.0
        assert [error["code"] for error in one["errors"]] == ["class.validator"]
    allow_up_to(parts, 10_000)
    again = parts.workflows.transition(id, "retry", principal="tester")
    assert (again.state, again.run) == ("validation/pending", 2)
    assert (again.completed_at, again.result) == (None, None)
    second = ended(parts, id)
    assert (second.state, second.result["invalid"]) == ("validation/passed", 0)
    assert second.completed_at > view.completed_at
    assert [action for action, _ in steps(parts, id)][2:] == ["fail", "retry", "start", "pass"]


def test_nothing_is_left_of_the_first_run_while_the_second_goes_on(parts: sandbar.Database) -> None:
    allow_up_to(parts, 100)
    id = start(parts)
    foreground.run_here(parts.workflows, id, lambda *_: None)
    assert found_by(parts, id).invalid == 7
    again = parts.workflows.transition(id, "retry", principal="tester")
    assert tally_of(parts.workflows, again) is None


def test_no_more_are_kept_than_there_is_room_for(place: Place) -> None:
    db = place.workspace_of_tests()
    make_parts(db, 200, heavy=200)
    allow_up_to(db, 100)
    id = start(db)
    view = foreground.run_here(db.workflows, id, lambda *_: None)
    assert view.result["invalid"] == 200
    kept = view.result["errors"]
    assert 50 < len(kept) <= validating.INVALID_KEPT
    ids = [entity.entity_id for entity in db.each(PART) if entity.class_ == PART]
    assert [one["entity-id"] for one in kept] == ids[: len(kept)]
    assert "errors" not in view.data


# --- who is looked at -----------------------------------------------------------------------------


def test_accounts_are_not_looked_at(parts: sandbar.Database) -> None:
    account = add_account(parts.workspace, "spy").account.entity_id
    break_rule(parts, "auth/ServiceAccount", "false")
    id = start(parts, "dt/Resource")
    seen = foreground.run_here(parts.workflows, id, lambda *_: None).result
    assert (seen["invalid"], seen["checked"] > 100) == (0, True)
    unhidden = parts.workspace.validity.page("dt/Resource", None, limit=1000)
    assert [one.entity_id for one in unhidden.invalid] == [account]


@pytest.mark.parametrize(
    ("subject", "code"),
    [
        ("auth/ServiceAccount", "validation.protected"),
        ("part/name", "validation.no-class"),
        (None, "validation.no-class"),
    ],
)
def test_what_cannot_be_validated_ends_in_error(
    parts: sandbar.Database, subject: Any, code: str
) -> None:
    add_account(parts.workspace, "spy")
    id = start(parts, subject)
    parts.start_worker()
    view = ended(parts, id)
    assert view.state == "validation/error"
    assert view.error is not None
    assert view.error["code"] == code
    assert tally_of(parts.workflows, view) is None


def test_a_class_that_goes_away_ends_it_in_error(parts: sandbar.Database) -> None:
    parts.define(classes={"load/Nothing": {}})
    id = start(parts, "load/Nothing")
    parts.delete("load/Nothing", mode="detach")
    view = foreground.run_here(parts.workflows, id, lambda *_: None)
    assert (view.state, view.error and view.error["code"]) == (
        "validation/error",
        "validation.no-class",
    )


# --- stopping and going on ------------------------------------------------------------------------


@pytest.fixture
def slow(place: Place, monkeypatch: pytest.MonkeyPatch) -> sandbar.Database:
    """A workspace with many parts, 50 of them too heavy, looked at in small pages."""
    monkeypatch.setattr(validating, "_PAGE_FIRST", 4)
    monkeypatch.setattr(validating, "_PAGE_MAX", 4)
    monkeypatch.setattr(validating, "_SAVE_EVERY_S", 0.0)
    db = place.workspace_of_tests()
    make_parts(db, SLOW, heavy=50)
    allow_up_to(db, 100)
    return db


def underway(db: sandbar.Database, process_id: int) -> None:
    """Wait until a validation has looked at some."""

    def has_begun() -> bool:
        tally = tally_of(db.workflows, db.workflows.view(process_id))
        return tally is not None and tally.checked >= 40

    until(has_begun)


def test_cancelled_midway_it_keeps_what_it_found(slow: sandbar.Database) -> None:
    id = start(slow)
    slow.start_worker()
    underway(slow, id)
    running = found_by(slow, id)
    assert 0 < running.checked < SLOW
    view = slow.workflows.cancel(id, principal="tester", reason="enough")
    until(lambda: is_idle(slow), within_s=1.0)
    assert (view.state, view.kind, view.result) == ("validation/cancelled", "cancel", None)
    partial = found_by(slow, id)
    assert running.checked <= partial.checked < SLOW
    assert partial.checked == partial.valid + partial.invalid
    assert partial.total == SLOW
    assert 25 <= partial.invalid == len(partial.errors) <= 50  # screws come last
    before = slow.t
    clock.pause_s(0.3)
    assert slow.t == before, "somebody still writes"


def test_paused_and_resumed_it_goes_on_where_it_was(
    slow: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = start(slow)
    slow.start_worker()
    underway(slow, id)
    slow.workflows.pause(id, principal="tester")
    until(lambda: is_idle(slow))
    paused = found_by(slow, id)
    assert 0 < paused.checked < SLOW
    monkeypatch.setattr(validating, "_PAGE_MAX", 400)
    slow.workflows.resume(id, principal="tester")
    view = ended(slow, id)
    assert (view.result["total"], view.result["invalid"]) == (SLOW, 50)


def test_another_server_goes_on_from_the_checkpoint(
    slow: sandbar.Database, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = start(slow)
    slow.start_worker()
    underway(slow, id)
    worker = slow._family._worker
    assert worker is not None
    worker.stop()
    stopped = found_by(slow, id).checked
    assert 0 < stopped < SLOW
    monkeypatch.setattr(validating, "_PAGE_MAX", 400)
    other = place.open()
    begun: list[int] = []
    take = validating.Tally.take

    def noted(tally: validating.Tally, page: Any) -> None:
        begun.append(tally.checked)
        take(tally, page)

    monkeypatch.setattr(validating.Tally, "take", noted)
    other.start_worker()
    view = ended(other, id)
    assert begun[0] == stopped
    counts = [view.result[name] for name in ("total", "checked", "valid", "invalid")]
    assert counts == [SLOW, SLOW, SLOW - 50, 50]
    seen = [one["entity-id"] for one in view.result["errors"]]
    assert len(seen) == len(set(seen)) == 50


# --- while somebody waits -------------------------------------------------------------------------


def test_in_the_foreground_no_worker_is_needed(parts: sandbar.Database) -> None:
    told: list[Any] = []
    view = foreground.start_here(
        parts.workflows, lambda: parts.workflows.start(VALIDATION, PART, principal="tester")
    )
    parts.start_worker()
    done = foreground.run_here(
        parts.workflows, view.process_id, lambda done, total, _: told.append((done, total))
    )
    assert (done.state, done.result["checked"]) == ("validation/passed", 100)
    assert told[-1] == (100, 100)
    assert [action for action, _ in steps(parts, view.process_id)] == ["start", "start", "pass"]


def test_whoever_dies_in_the_foreground_is_succeeded_by_a_worker(
    parts: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: with the real delay the worker leaves it alone."""
    workflows = parts.workflows
    parts.start_worker()

    def begun() -> int:
        def begin() -> Any:
            return workflows.start(VALIDATION, PART, principal="tester")

        return foreground.start_here(workflows, begin).process_id

    waits = begun()
    monkeypatch.setattr(foreground, "_TAKEN_OVER_AFTER_S", 0.2)
    assert ended(parts, begun()).state == "validation/passed"
    assert workflows.view(waits).state == "validation/pending"


def test_what_takes_longer_than_a_call_may_goes_on_in_the_background(
    slow: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = start(slow)
    waiting = Patience(3600.0)

    def tell(*_: Any) -> None:
        waiting._deadline_s = 0.0

    with pytest.raises(Interrupted), limited(waiting):
        foreground.run_here(slow.workflows, id, tell)
    assert slow.workflows.view(id).state == "validation/in-progress"
    checked = found_by(slow, id).checked
    assert checked > 0
    monkeypatch.setattr(validating, "_PAGE_MAX", 400)
    slow.start_worker()
    view = ended(slow, id)
    assert (view.result["checked"], view.result["invalid"]) == (SLOW, 50)


def test_whoever_waits_can_call_it_off(slow: sandbar.Database) -> None:
    id = start(slow)
    waiting = Patience(None)

    def tell(*_: Any) -> None:
        waiting.cancel()

    with pytest.raises(Interrupted), limited(waiting):
        foreground.run_here(slow.workflows, id, tell)
    assert patience.current() is None
    view = slow.workflows.view(id)
    assert view.state == "validation/cancelled"
    assert 0 < found_by(slow, id).checked < SLOW


def test_cancelled_by_somebody_else_the_foreground_stops(slow: sandbar.Database) -> None:
    id = start(slow)

    def tell(*_: Any) -> None:
        cancelled.append(slow.workflows.cancel(id, principal="other", reason="no").step)

    cancelled: list[int] = []
    view = foreground.run_here(slow.workflows, id, tell)
    assert (view.state, len(cancelled)) == ("validation/cancelled", 1)
    assert view.step == cancelled[0]


def test_a_defect_is_the_callers_to_see_and_leaves_the_process_to_others(
    parts: sandbar.Database,
) -> None:
    """What is no Problem passes through; nobody has claimed an outcome that is not there."""
    id = start(parts)

    def tell(*_: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        foreground.run_here(parts.workflows, id, tell)
    assert parts.workflows.view(id).state == "validation/in-progress"
    parts.workflows.cancel(id, principal="tester", reason="enough")


def test_only_validations_are_asked_for_their_results(parts: sandbar.Database) -> None:
    spec = {
        "name": "a/b",
        "states": [
            {"name": "a/x", "initial?": True},
            {"name": "a/y", "terminal?": True, "terminal-kind": "success"},
        ],
        "transitions": [{"name": "go", "from": "a/x", "to": "a/y"}],
    }
    parts.workflows.define(spec, principal="tester")
    view = parts.workflows.start("a/b", principal="tester")
    with pytest.raises(Problem) as caught:
        validating.require_validation(view)
    assert caught.value.code == "validation.unknown"
