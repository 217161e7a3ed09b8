"""States that ask: the answer is a transition."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect
from sandbar.workflow import ProcessView, Reply
from tests.workflow.orders import begin, move, one_step, path_of, refusal

FORM = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean"},
        "mail": {"type": "string", "maxLength": 5},
        "pairs": {"type": "integer", "minimum": 1},
    },
    "required": ["approve"],
}
PLACE = {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]}


def asking(input: dict[str, Any] | None = None, **go: Any) -> dict[str, Any]:
    """A workflow that asks one question, unless told otherwise, and may be asked again."""
    one = {"message": "Well?", "schema": FORM, "accept": "go", "decline": "rest"}
    spec = one_step("order/asking", {"input": input or one}, go)
    spec["states"].insert(1, {"name": "step/second"})
    spec["transitions"] += [
        {"name": "rest", "from": "step/first", "to": "step/second"},
        {"name": "ask", "from": "step/second", "to": "step/first"},
    ]
    return spec


TWO = {
    "requests": {
        "yes": {"message": "Well?", "schema": FORM},
        "where": {"message": "Where to?", "schema": PLACE},
    },
    "accept": "go",
}


def answer(db: sandbar.Database, id: int, **told: Any) -> ProcessView:
    replies = {key: Reply(content=content) for key, content in told.items()}
    return db.workflows.answer(id, replies, principal="bob")


def test_the_keys_of_questions_bear_the_step(db: sandbar.Database) -> None:
    id = begin(db, asking())
    view = db.workflows.view(id)
    assert list(view.input) == ["answer-0"]
    assert (view.input["answer-0"].message, view.input["answer-0"].schema) == ("Well?", FORM)
    move(db, id, "rest")
    assert db.workflows.view(id).input == {}
    again = move(db, id, "ask")
    assert list(again.input) == ["answer-2"]
    problem = refusal(lambda: answer(db, id, **{"answer-0": {"approve": True}}))
    assert (type(problem), problem.code) == (Incorrect, "workflow.answer-unknown")
    assert "answer-2" in str(problem.hint)
    assert answer(db, id, **{"answer-2": {"approve": True}}).kind == "success"


@pytest.mark.parametrize("key", ["answer", "answer-0"])
def test_an_answer_is_a_transition(db: sandbar.Database, key: str) -> None:
    effect = {"data": {"mail": {"from": "answers.answer.mail"}}}
    spec = asking(effects=[effect], guard="process.answers.answer.approve")
    id = begin(db, spec)
    before = db.t
    view = answer(db, id, **{key: {"approve": True, "mail": "a@b"}})
    assert db.t == before + 1
    assert (view.kind, view.data, view.input) == ("success", {"mail": "a@b"}, {})
    row = db.workflows.history(id)[-1]
    assert (row.action, row.actor) == ("go", "bob")


def test_an_answer_that_the_guard_refuses_is_not_kept(lite: sandbar.Database) -> None:
    id = begin(lite, asking(guard="process.answers.answer.approve"))
    before, view = lite.t, lite.workflows.view(id)
    problem = refusal(lambda: answer(lite, id, answer={"approve": False}))
    assert (type(problem), problem.code) == (Conflict, "workflow.guard-refused")
    assert (lite.t, lite.workflows.view(id)) == (before, view)


def test_every_finding_says_which_answer_it_is_about(lite: sandbar.Database) -> None:
    id = begin(lite, asking(TWO))
    wrong = {"yes": {"mail": "too long", "pairs": 0}, "where": {"street": 5}}
    problem = refusal(lambda: answer(lite, id, **wrong))
    assert (type(problem), problem.code) == (Incorrect, "workflow.answer-invalid")
    at = {one["at"] for one in problem.data["findings"]}
    assert {"answers.yes.mail", "answers.yes.pairs", "answers.where.street"} <= at
    assert len(problem.data["findings"]) == 4  # approve is missing
    assert lite.workflows.view(id).input.keys() == {"yes-0", "where-0"}
    assert refusal(lambda: answer(lite, id, yes="text")).code == "workflow.answer-invalid"


def test_answers_may_come_one_by_one(db: sandbar.Database) -> None:
    id = begin(db, asking(TWO))
    view = answer(db, id, yes={"approve": True})
    assert (view.state, list(view.input)) == ("step/first", ["where-0"])
    assert path_of(db, id) == [("start", "step/first")]
    # What was said may be corrected as long as it has not moved on.
    assert list(answer(db, id, yes={"approve": False}).input) == ["where-0"]
    assert answer(db, id, **{"where-0": {"street": "Elm"}}).kind == "success"
    assert db.get(id)["workflow/answers"] == {"yes": {"approve": False}, "where": {"street": "Elm"}}


def test_a_state_that_is_entered_again_asks_anew(db: sandbar.Database) -> None:
    id = begin(db, asking({**TWO, "decline": "rest"}))
    answer(db, id, yes={"approve": True})
    move(db, id, "rest")
    assert move(db, id, "ask").input.keys() == {"yes-2", "where-2"}
    assert "workflow/answers" not in db.get(id).slots


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_saying_no_takes_the_other_way(lite: sandbar.Database, action: Any) -> None:
    id = begin(lite, asking())
    view = lite.workflows.answer(id, {"answer-0": Reply(action)}, principal="bob")
    assert view.state == "step/second"
    row = lite.workflows.history(id)[-1]
    assert (row.action, row.actor, row.reason) == ("rest", "bob", f"answered with {action}")


def test_without_another_way_one_cannot_say_no(lite: sandbar.Database) -> None:
    id = begin(lite, asking(TWO))
    problem = refusal(lambda: lite.workflows.answer(id, {"yes": Reply("decline")}, principal="bob"))
    assert (type(problem), problem.code) == (Conflict, "workflow.cannot-decline")
    assert lite.workflows.view(id).state == "step/first"


def test_who_is_not_asked_is_told(lite: sandbar.Database) -> None:
    id = begin(lite, asking())
    assert refusal(lambda: answer(lite, id)).code == "workflow.answer-unknown"
    assert refusal(lambda: answer(lite, id, other={})).code == "workflow.answer-unknown"
    move(lite, id, "rest")
    problem = refusal(lambda: answer(lite, id, answer={"approve": True}))
    assert (type(problem), problem.code) == (Conflict, "workflow.nothing-asked")


def test_a_question_whose_key_looks_like_a_step_is_found(lite: sandbar.Database) -> None:
    requests = {"part-0": {"message": "Well?", "schema": FORM}}
    spec = asking({"requests": requests, "accept": "go"})
    for key in ("part-0", "part-0-0"):
        id = begin(lite, spec)
        assert list(lite.workflows.view(id).input) == ["part-0-0"]
        assert answer(lite, id, **{key: {"approve": True}}).kind == "success"


def test_a_paused_process_takes_no_last_answer(lite: sandbar.Database) -> None:
    id = begin(lite, asking())
    lite.workflows.pause(id, principal="ann")
    assert refusal(lambda: answer(lite, id, answer={"approve": True})).code == "workflow.paused"
    lite.workflows.resume(id, principal="ann")
    assert answer(lite, id, answer={"approve": True}).kind == "success"
