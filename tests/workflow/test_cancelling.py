"""Cancelling, with the three reasons why it is refused; pausing and going on."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect
from tests.workflow.orders import PLAIN, begin, move, one_step, path_of, refusal, without


def cancel(db: sandbar.Database, id: int, **more: Any) -> Any:
    return db.workflows.cancel(id, principal="ann", **more)


def test_cancelling_takes_the_way_to_a_state_of_that_kind(db: sandbar.Database) -> None:
    id = begin(db, PLAIN)
    view = cancel(db, id, reason="no longer wanted")
    assert (view.state, view.kind, view.status) == ("end/cancelled", "cancel", "complete")
    row = db.workflows.history(id)[-1]
    assert (row.action, row.actor, row.reason) == ("cancel", "ann", "no longer wanted")


def test_a_reason_that_is_demanded_must_be_given(lite: sandbar.Database) -> None:
    spec = one_step("order/strict")
    spec["transitions"][2]["requires-reason?"] = True
    id = begin(lite, spec)
    for reason in (None, ""):
        problem = refusal(lambda reason=reason: cancel(lite, id, reason=reason))  # type: ignore[misc]
        assert (type(problem), problem.code) == (Incorrect, "workflow.reason-required")
    assert lite.workflows.view(id).state == "step/first"
    cancel(lite, id, reason="mine", wordless="not said")
    assert lite.workflows.history(id)[-1].reason == "mine"


def test_who_cannot_give_a_reason_has_one_where_it_is_demanded(lite: sandbar.Database) -> None:
    spec = one_step("order/strict")
    for demands, said in ((True, "no words"), (False, None)):
        spec["transitions"][2]["requires-reason?"] = demands
        id = begin(lite, spec)
        assert cancel(lite, id, wordless="no words").kind == "cancel"
        assert lite.workflows.history(id)[-1].reason == said


def test_a_way_that_demands_no_reason_is_taken_by_who_gives_none(lite: sandbar.Database) -> None:
    spec = one_step("order/strict")
    spec["transitions"][2]["requires-reason?"] = True
    spec["states"].append({"name": "end/late", "terminal?": True, "terminal-kind": "cancel"})
    spec["transitions"].append({"name": "stop", "from": "step/first", "to": "end/late"})
    assert cancel(lite, begin(lite, spec)).state == "end/late"
    other = lite.workflows.start("order/strict", principal="ann").process_id
    assert cancel(lite, other, reason="mine").state == "end/cancelled"


def refused(db: sandbar.Database, id: int, why: str, **more: Any) -> None:
    before = db.t
    problem = refusal(lambda: cancel(db, id, **more))
    assert (type(problem), problem.code) == (Conflict, f"workflow.{why}")
    assert problem.data["reason"] == why
    assert problem.data["state"] == db.workflows.view(id).state
    assert problem.message.startswith("Cannot cancel task:")
    assert f"(reason: :{why})" in problem.message
    assert problem.hint
    assert db.t == before


def test_what_has_ended_is_not_cancelled(lite: sandbar.Database) -> None:
    id = begin(lite, PLAIN)
    cancel(lite, id)
    refused(lite, id, "already-completed")
    assert "process already in terminal state" in str(refusal(lambda: cancel(lite, id)).message)


def test_a_definition_may_forbid_it(lite: sandbar.Database) -> None:
    refused(lite, begin(lite, {**PLAIN, "cancellable?": False}), "not-cancellable")


def test_a_state_may_forbid_it(lite: sandbar.Database) -> None:
    spec = one_step("order/strict", {"cancellable?": False})
    refused(lite, begin(lite, spec), "not-cancellable")


@pytest.mark.parametrize("guard", ["actor == 'boss'", "context.missing == 1"])
def test_a_guard_may_forbid_it(lite: sandbar.Database, guard: str) -> None:
    spec = one_step("order/strict")
    spec["transitions"][2]["guard"] = guard
    id = begin(lite, spec)
    refused(lite, id, "not-cancellable")
    if "boss" in guard:
        assert lite.workflows.cancel(id, principal="boss").kind == "cancel"


def test_a_guard_over_the_reason_sees_the_reason_that_is_kept(lite: sandbar.Database) -> None:
    spec = one_step("order/strict")
    spec["transitions"][2]["guard"] = "process.reason != ''"
    id = begin(lite, spec)
    refused(lite, id, "not-cancellable")
    assert cancel(lite, id, reason="mine").kind == "cancel"


def test_there_may_be_no_way(lite: sandbar.Database) -> None:
    refused(lite, begin(lite, without(one_step("order/strict"), "cancel")), "no-cancel-transition")


def test_of_several_ways_the_first_that_is_open_is_taken(lite: sandbar.Database) -> None:
    spec = one_step("order/strict")
    spec["states"].append({"name": "end/late", "terminal?": True, "terminal-kind": "cancel"})
    spec["transitions"][2]["guard"] = "false"
    spec["transitions"].append({"name": "stop", "from": "step/first", "to": "end/late"})
    assert cancel(lite, begin(lite, spec)).state == "end/late"


def test_only_the_run_that_is_meant_is_cancelled(lite: sandbar.Database) -> None:
    id = begin(lite, PLAIN)
    move(lite, id, "confirm")
    move(lite, id, "lose", reason="fell off")
    move(lite, id, "retry")
    refused(lite, id, "already-completed", run=1)
    assert cancel(lite, id, run=2).kind == "cancel"


# --- pausing ---------------------------------------------------------------------------------


def test_a_paused_process_makes_no_transition_but_to_cancel(db: sandbar.Database) -> None:
    id = begin(db, PLAIN)
    view = db.workflows.pause(id, principal="bob", reason="stocktaking")
    assert (view.paused, view.state, view.status) == (True, "order/pending", "running")
    assert view.transitions == ["cancel"]
    assert db.workflows.state(id, principal="ann") == view
    assert view.updated_at > view.started_at
    problem = refusal(lambda: move(db, id, "confirm"))
    assert (type(problem), problem.code) == (Conflict, "workflow.paused")
    assert refusal(lambda: db.workflows.pause(id, principal="bob")).code == "workflow.paused"
    before, view = view, db.workflows.resume(id, principal="bob")
    assert not view.paused
    assert view.transitions == ["confirm", "cancel"]
    assert view.updated_at > before.updated_at
    assert move(db, id, "confirm").state == "order/confirmed"
    rows = db.workflows.history(id)
    assert [row.n for row in rows] == [0, 1, 2, 3]
    assert path_of(db, id)[1:3] == [("pause", "order/pending"), ("resume", "order/pending")]
    assert (rows[1].actor, rows[1].reason) == ("bob", "stocktaking")


def test_a_paused_process_can_be_cancelled(lite: sandbar.Database) -> None:
    id = begin(lite, PLAIN)
    lite.workflows.pause(id, principal="ann")
    view = cancel(lite, id)
    assert (view.kind, view.paused) == ("cancel", False)
    other = lite.workflows.start("order/plain", principal="ann").process_id
    lite.workflows.pause(other, principal="ann")
    assert move(lite, other, "cancel").kind == "cancel"


def test_what_cannot_be_paused_or_resumed_is_told(lite: sandbar.Database) -> None:
    id = begin(lite, PLAIN)
    problem = refusal(lambda: lite.workflows.resume(id, principal="ann"))
    assert (type(problem), problem.code) == (Conflict, "workflow.not-paused")
    cancel(lite, id)
    problem = refusal(lambda: lite.workflows.pause(id, principal="ann"))
    assert (type(problem), problem.code) == (Conflict, "workflow.already-completed")
    firm = begin(lite, {**PLAIN, "name": "order/firm", "pausable?": False})
    problem = refusal(lambda: lite.workflows.pause(firm, principal="ann"))
    assert (type(problem), problem.code) == (Conflict, "workflow.not-pausable")
