"""Questions are left by an answer, a decline, a cancel or a timer; `by` says who may answer."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

import sandbar
from sandbar.access import Caller, local_caller
from sandbar.errors import Conflict, Forbidden
from sandbar.workflow import ProcessView, Reply
from tests.workflow.definitions import codes_of
from tests.workflow.orders import as_role, begin, ended, move, one_step, refusal, until

YES = {"answer": Reply(content={"yes": True})}
NO = {"answer": Reply("decline")}
FORM = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}


def asking(by: Any = None, **more: Any) -> dict[str, Any]:
    """A workflow whose first state asks; `step/second` is there for those who leave it."""
    wanted = {"message": "Well?", "schema": FORM, "accept": "go", "decline": "fail"}
    wanted |= {} if by is None else {"by": by}
    spec = one_step("order/asking", {"input": wanted, **more})
    spec["states"].insert(1, {"name": "step/second"})
    spec["transitions"] += [
        {"name": "rest", "from": "step/first", "to": "step/second"},
        {"name": "ask", "from": "step/second", "to": "step/first"},
    ]
    return spec


def said(db: sandbar.Database, id: int, who: str, *roles: str, **more: Any) -> ProcessView:
    return db.workflows.answer(id, more.get("replies", YES), principal=who, roles=roles)


# --- how a question is left -----------------------------------------------------------------------


def test_a_question_is_not_skipped_by_its_accept_transition(db: sandbar.Database) -> None:
    id = begin(db, asking())
    before = db.t
    problem = refusal(lambda: move(db, id, "go", data={"yes": True}, context={"yes": True}))
    assert (type(problem), problem.code) == (Conflict, "workflow.answer-required")
    assert (db.t, problem.data["input"]) == (before, ["answer-0"])
    verb, _, call = str(problem.hint).partition(" ")
    arguments = json.loads(call.partition(";")[0])
    assert (verb, arguments) == (
        "workflow.answer",
        {"process": id, "answers": {"answer-0": {"yes": "…"}}},
    )
    arguments["answers"]["answer-0"]["yes"] = True
    assert db.call(verb, arguments).kind == "success"


def test_a_question_is_not_left_by_other_transitions(lite: sandbar.Database) -> None:
    id = begin(lite, asking(after={"seconds": 3600, "transition": "rest"}))
    for name in ("go", "rest"):
        assert refusal(partial(move, lite, id, name)).code == "workflow.answer-required"
    for name in ("fail", "cancel"):
        assert move(lite, begin(lite, asking()), name).kind is not None


def test_who_is_not_asked_is_told_who_is(lite: sandbar.Database) -> None:
    for name in ("go", "rest"):
        id = begin(lite, asking(["approver", "not-starter"]))
        problem = refusal(partial(lite.workflows.transition, id, name, principal="bob"))
        assert (type(problem), problem.code) == (Forbidden, "workflow.not-asked")
        assert "approver, but not its starter" in problem.message
        asked = partial(lite.workflows.transition, id, name, principal="bob", roles=["approver"])
        assert refusal(asked).code == "workflow.answer-required"


def test_a_timer_leaves_a_question(db: sandbar.Database) -> None:
    db.start_worker()
    id = begin(db, asking(["user/bob"], after={"seconds": 0.1, "transition": "go"}))
    assert ended(db, id).kind == "success"


def test_cancelling_is_no_way_to_accept(lite: sandbar.Database) -> None:
    spec = asking()
    spec["states"][0]["input"] |= {"accept": "cancel", "decline": "fail"}
    id = begin(lite, spec)
    cancelled = refusal(lambda: lite.workflows.cancel(id, principal="ann"))
    assert cancelled.code == "workflow.no-cancel-transition"
    assert refusal(lambda: move(lite, id, "cancel")).code == "workflow.answer-required"
    assert said(lite, id, "ann").kind == "cancel"


def test_what_can_be_made_now_leaves_out_what_only_an_answer_makes(lite: sandbar.Database) -> None:
    id = begin(lite, asking(["approver", "not-starter"]))
    seen = lite.workflows.state(id, principal="bob", roles=["approver"])
    assert (seen.transitions, list(seen.blocked)) == (["fail", "cancel"], ["go"])
    assert "workflow.answer" in seen.blocked["go"]
    assert seen.input["answer-0"].by == ("approver", "not-starter")
    others = lite.workflows.state(id, principal="ann", roles=["approver"])
    assert (others.transitions, list(others.blocked)) == (["cancel"], ["go", "fail"])
    assert "approver, but not its starter" in others.blocked["fail"]


def test_a_definition_is_warned_of_transitions_that_the_question_bars(
    lite: sandbar.Database,
) -> None:
    warned = lite.workflows.define(asking(), principal="ann").warnings
    assert [one.at for one in warned] == ["transitions[4]"]
    timed = asking(after={"seconds": 60, "transition": "rest"})
    assert not lite.workflows.define(timed, principal="ann").warnings


# --- who answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "who", "roles", "is_asked"),
    [
        (None, "ann", (), True),
        ("not-starter", "ann", ("admin",), False),
        ("not-starter", "bob", (), True),
        ("approver", "bob", ("writer",), False),
        ("approver", "ann", ("approver",), True),
        ("user/bob", "user/bob", (), True),
        ("user/bob", "user/bo", ("admin",), False),
        (["approver", "user/eve"], "user/eve", (), True),
        (["approver", "user/eve"], "bob", ("approver",), True),
        (["approver", "not-starter"], "ann", ("approver",), False),
        (["approver", "not-starter"], "bob", ("approver",), True),
        (["ann", "not-starter"], "ann", (), False),
    ],
)
@pytest.mark.parametrize("road", ["answer", "decline", "transition"])
def test_only_those_who_are_asked_answer(
    lite: sandbar.Database, by: Any, who: str, roles: tuple[str, ...], is_asked: bool, road: str
) -> None:
    id = begin(lite, asking(by))
    calls = {
        "answer": lambda: said(lite, id, who, *roles),
        "decline": lambda: said(lite, id, who, *roles, replies=NO),
        "transition": lambda: lite.workflows.transition(id, "fail", principal=who, roles=roles),
    }
    if is_asked:
        assert calls[road]().kind is not None
        return
    before = lite.t
    problem = refusal(calls[road])
    assert (type(problem), problem.code, lite.t) == (Forbidden, "workflow.not-asked", before)
    assert lite.workflows.cancel(id, principal=who, roles=roles).kind == "cancel"


def test_a_process_that_a_timer_starts_is_its_grandparents_starters_own(
    db: sandbar.Database,
) -> None:
    db.workflows.define(asking("not-starter"), principal="ann")
    start = {"effects": [{"start": "order/asking"}]}
    timed = one_step("order/timed", {"after": {"seconds": 0.1, "transition": "go"}}, start)
    db.start_worker()
    parent = begin(db, timed)
    ended(db, parent)
    (child,) = [one for one in db.workflows.active("order/asking")[0] if one.parent == parent]
    assert child.started_by == "sandbar"
    assert refusal(lambda: said(db, child.process_id, "ann")).code == "workflow.not-asked"
    assert said(db, child.process_id, "bob").kind == "success"


@pytest.mark.parametrize("by", [5, [], {}, [5], ["x"] * 21, "two words", [None], True])
def test_who_is_asked_is_checked_when_it_is_defined(by: Any) -> None:
    places = codes_of(asking(by))
    assert all(at.startswith("states[0].input.by") for at, _ in places)


def test_admins_are_told_of_names_that_no_one_has(lite: sandbar.Database) -> None:
    spec = asking(["approver", "writer", "local", "user/nobody", "not-starter"])

    def warned(caller: Caller) -> list[str]:
        found = lite.call_as(caller, "workflow.define", {"spec": spec}).warnings
        return [one["message"] for one in found if one["at"].endswith("input.by")]

    told = warned(local_caller(lite.workspace_name))
    assert [name for one in told for name in spec["states"][0]["input"]["by"] if name in one] == [
        "approver",
        "user/nobody",
    ]
    assert warned(as_role(lite, "writer")) == []


# --- what guards see ------------------------------------------------------------------------------


def test_actor_is_the_name_of_who_makes_the_transition(db: sandbar.Database) -> None:
    spec = one_step("order/acting", None, {"guard": "actor == 'user/anna'"})
    id = begin(db, spec)
    assert refusal(lambda: move(db, id, "go")).code == "workflow.guard-refused"
    seen = [db.workflows.state(id, principal=who).transitions for who in ("ann", "user/anna")]
    assert [("go" in names) for names in seen if names is not None] == [False, True]
    assert db.workflows.transition(id, "go", principal="user/anna").kind == "success"


def test_the_actor_of_a_timer_is_the_server(lite: sandbar.Database) -> None:
    first = {"after": {"seconds": 0.1, "transition": "go"}}
    lite.start_worker()
    id = begin(lite, one_step("order/timed", first, {"guard": "actor == 'sandbar'"}))
    assert until(lite, id, lambda view: view.is_complete).kind == "success"


def test_the_actor_of_an_answer_is_who_answers(lite: sandbar.Database) -> None:
    spec = asking()
    spec["transitions"][0]["guard"] = "actor != process['started-by']"
    id = begin(lite, spec)
    assert refusal(lambda: said(lite, id, "ann")).code == "workflow.guard-refused"
    assert said(lite, id, "bob").kind == "success"
