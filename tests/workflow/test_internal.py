"""The server's own workflows: nobody forges what they say, and looking at them writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.errors import Forbidden, NotFound
from sandbar.workflow import CALL, VALIDATION
from tests.model.conftest import Place
from tests.workflow.orders import ended, refusal
from tests.workflow.parts import break_rule

WHO = {"account": 1, "role": "writer"}


def validation(db: sandbar.Database) -> int:
    data = {"class": "order/Order"}
    return db.workflows.start(VALIDATION, "order/Order", data, principal="ann").process_id


def call_process(db: sandbar.Database) -> int:
    data = {"verb": "x", "arguments": {}}
    return db.workflows.start(CALL, None, data, principal="ann", caller=WHO).process_id


def forbidden(db: sandbar.Database, id: int, name: str, **more: Any) -> None:
    before = db.workflows.view(id)
    problem = refusal(lambda: db.workflows.transition(id, name, principal="ann", **more))
    assert (type(problem), problem.code) == (Forbidden, "workflow.internal")
    assert "task.cancel" in str(problem.hint)
    assert db.workflows.view(id) == before


def test_nobody_says_that_all_is_valid(db: sandbar.Database) -> None:
    id = validation(db)
    assert db.workflows.state(id, principal="ann").transitions == ["cancel"]
    for name in ("start", ":start"):
        forbidden(db, id, name)
    forbidden(db, id, "error", reason="I say so")
    problem = refusal(lambda: db.workflows.transition(id, "pass", principal="ann"))
    assert problem.code == "workflow.no-transition"
    assert problem.data["transitions"] == ["cancel"]
    # The worker is not in its own way.
    db.start_worker()
    done = _ended(db, id)
    assert (done.state, done.transitions) == ("validation/passed", [])


def test_nobody_ends_the_call_of_somebody(lite: sandbar.Database) -> None:
    id = call_process(lite)
    assert lite.workflows.state(id, principal="ann").transitions == []
    for name in ("complete", "fail", "cancel"):
        forbidden(lite, id, name)
    assert lite.workflows.cancel(id, principal="ann").kind == "cancel"


def test_nobody_gives_them_other_data(lite: sandbar.Database) -> None:
    id = validation(lite)
    forbidden(lite, id, "cancel", data={"class": "note/Note"})
    assert lite.workflows.transition(id, "cancel", principal="ann").kind == "cancel"


def test_what_failed_may_be_begun_anew(lite: sandbar.Database) -> None:
    id = validation(lite)
    break_rule(lite, "order/Order", 'this["order/total"] > 1000')
    lite.start_worker()
    assert _ended(lite, id).transitions == ["retry"]
    forbidden(lite, id, "retry", data={"class": "note/Note"})
    assert lite.workflows.transition(id, "retry", principal="ann").run == 2


def _ended(db: sandbar.Database, id: int) -> Any:
    ended(db, id)
    return db.workflows.state(id, principal="ann")


# --- looking writes nothing ------------------------------------------------------------------


def test_looking_for_workflows_installs_nothing(place: Place) -> None:
    db = place.open()
    before = db.t
    machine = db.workflows.find(f":{VALIDATION}")
    spec = db.workflows.spec(VALIDATION, 1)
    stats = db.workflows.stats(VALIDATION)
    assert (stats.total, stats.by_state["validation/pending"]) == (0, 0)
    assert db.workflows.active(VALIDATION) == ([], None)
    assert [one["workflow"] for one in db.call("workflow.find").workflows] == [VALIDATION]
    for look in (db.workflows.find, db.workflows.spec, db.workflows.stats, db.workflows.active):
        problem = refusal(lambda look=look: look("order/none"))  # type: ignore[misc]
        assert (type(problem), problem.code) == (NotFound, "workflow.unknown")
    with pytest.raises(NotFound):
        db.workflows.find(VALIDATION, 2)
    assert db.t == before
    assert "workflow/Process" not in db.schema.classes()
    # Once somebody needs them, they are what was seen.
    db.workflows.install()
    assert db.t > before
    assert db.workflows.spec(VALIDATION) == spec
    assert (db.workflows.find(VALIDATION).states, machine.version) == (machine.states, 1)
