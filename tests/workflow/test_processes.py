"""Starting processes and moving them on: what is refused, what is kept, who did it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect, NotFound, Problem
from sandbar.workflow import ProcessView
from tests.model.conftest import Place
from tests.workflow.orders import PLAIN, begin, move, one_step, path_of, refusal

SCHEMA = {
    "type": "object",
    "properties": {"quantity": {"type": "integer", "minimum": 1}, "note": {"type": "string"}},
    "required": ["quantity"],
}


def start(db: sandbar.Database, workflow: str = "order/plain", **more: Any) -> ProcessView:
    return db.workflows.start(workflow, principal="ann", **more)


# --- starting --------------------------------------------------------------------------------


def test_a_process_begins_in_the_initial_state(db: sandbar.Database) -> None:
    db.workflows.define(PLAIN, principal="ann")
    view = start(db, subject="order/one", data={"n": 1}, reason="wanted")
    assert (view.state, view.status, view.kind) == ("order/pending", "pending", None)
    assert (view.workflow, view.version, view.step, view.run) == ("order/plain", 1, 0, 1)
    assert (view.data, view.started_by, view.completed_at) == ({"n": 1}, "ann", None)
    assert view.started_at == view.updated_at
    (row,) = db.workflows.history(view.process_id)
    assert (row.n, row.action, row.from_, row.to) == (0, "start", None, "order/pending")
    assert (row.actor, row.reason, row.at) == ("ann", "wanted", view.started_at)
    assert row.t == view.t
    assert db.get(view.process_id)["workflow/active?"] is True
    assert db.workflows.view(view.process_id).subject == "order/one"


@pytest.mark.parametrize("named", ["id", "order/one", ":order/one", {"order/code": "A1"}])
def test_a_subject_is_named_as_any_entity(db: sandbar.Database, named: Any) -> None:
    db.workflows.define(PLAIN, principal="ann")
    order = db.get("order/one").entity_id
    view = start(db, subject=order if named == "id" else named)
    # The answer names it by its name if the caller did; whoever looks afterwards finds the name.
    assert view.subject == ("order/one" if isinstance(named, str) and named != "id" else order)
    assert db.get(view.process_id)["workflow/subject"] == "order/one"


@pytest.mark.parametrize("named", [999_999, "order/none", {"order/code": "none"}])
def test_a_subject_that_is_not_there_is_refused(lite: sandbar.Database, named: Any) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    before = lite.t
    problem = refusal(lambda: start(lite, subject=named))
    assert (type(problem), problem.code) == (NotFound, "entity.unknown")
    assert lite.t == before
    assert lite.query("workflow/Process").items == []


def test_data_that_does_not_fit_is_refused_with_every_finding(lite: sandbar.Database) -> None:
    lite.workflows.define({**PLAIN, "data-schema": SCHEMA}, principal="ann")
    problem = refusal(lambda: start(lite, data={"quantity": 0, "note": 7}))
    assert (type(problem), problem.code) == (Incorrect, "process.data-invalid")
    assert {one["at"] for one in problem.data["findings"]} == {"data.quantity", "data.note"}
    assert all(one["code"] and one["message"] for one in problem.data["findings"])
    assert refusal(lambda: start(lite)).code == "process.data-invalid"
    assert start(lite, data={"quantity": 1}).data == {"quantity": 1}


def test_an_unknown_workflow_is_guessed(lite: sandbar.Database) -> None:
    problem = refusal(lambda: start(lite, "order/plain"))
    assert (type(problem), problem.code) == (NotFound, "workflow.unknown")
    lite.workflows.define(PLAIN, principal="ann")
    assert "order/plain" in str(refusal(lambda: start(lite, "order/plian")).hint)
    assert "validation/resource" in str(refusal(lambda: start(lite, "zzz/zzz")).hint)
    assert start(lite, ":order/plain").workflow == "order/plain"


def test_what_is_no_workflow_is_not_started(lite: sandbar.Database) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    assert refusal(lambda: start(lite, "order/Order")).code == "workflow.unknown"
    problem = refusal(lambda: lite.workflows.define({**PLAIN, "name": "order/one"}, principal="a"))
    assert (type(problem), problem.code) == (Conflict, "workflow.name-taken")


def test_a_retry_finds_the_process_that_it_began(db: sandbar.Database) -> None:
    db.workflows.define(PLAIN, principal="ann")
    first = start(db, subject="order/one", data={"n": 1}, idempotency_key="k")
    move(db, first.process_id, "confirm")
    again = start(db, subject="order/one", data={"n": 1}, idempotency_key="k")
    assert again.process_id == first.process_id
    assert again.state == "order/confirmed"
    assert len(db.workflows.history(first.process_id)) == 2
    assert len(db.query("workflow/Process").items) == 1
    # By its number it is the same subject.
    subject = db.get("order/one").entity_id
    assert start(db, subject=subject, data={"n": 1}, idempotency_key="k") == again
    for other in ({"data": {"n": 2}}, {"subject": None, "data": {"n": 1}}):
        asked = {"subject": "order/one", **other}
        problem = refusal(lambda asked=asked: start(db, **asked, idempotency_key="k"))  # type: ignore[misc]
        assert (type(problem), problem.code) == (Conflict, "idempotency.mismatch")
    assert start(db, idempotency_key="another").process_id != first.process_id


def test_many_who_start_with_one_key_begin_one_process(db: sandbar.Database) -> None:
    db.workflows.define(PLAIN, principal="ann")
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda _: start(db, idempotency_key="k").process_id, range(16)))
    assert len(set(begun)) == 1
    assert len(db.query("workflow/History", {"workflow/n": 0}).items) == 1


# --- transitions -----------------------------------------------------------------------------


def test_a_transition_is_one_transaction_with_its_history(db: sandbar.Database) -> None:
    id = begin(db, PLAIN, "order/one")
    before = db.t
    view = move(db, id, ":confirm", reason="paid", data={"n": 1})
    assert db.t == before + 1
    assert (view.state, view.status, view.step, view.data) == (
        "order/confirmed",
        "running",
        1,
        {"n": 1},
    )
    start_row, row = db.workflows.history(id)
    assert (row.n, row.action, row.from_, row.to) == (1, "confirm", "order/pending", view.state)
    assert (row.actor, row.reason, row.t) == ("ann", "paid", view.t)
    assert row.at >= start_row.at
    assert db.workflows.state(id, principal="ann") == view
    changed = next(one for one in db.changes(since=before))
    assert (changed.principal, changed.reason) == ("ann", "paid")


def test_of_many_who_expect_a_state_one_wins(place: Place, db: sandbar.Database) -> None:
    id = begin(db, PLAIN)
    other = place.open()

    def attempt(n: int) -> str:
        try:
            move((db, other)[n % 2], id, "confirm", expect_state=":order/pending")
        except Problem as problem:
            return problem.code
        return "won"

    with ThreadPoolExecutor(8) as pool:
        wins = list(pool.map(attempt, range(16)))
    assert sorted(wins) == ["won"] + ["workflow.state-changed"] * 15
    assert path_of(db, id) == [("start", "order/pending"), ("confirm", "order/confirmed")]


def test_another_state_than_expected_is_told(lite: sandbar.Database) -> None:
    id = begin(lite, PLAIN)
    problem = refusal(lambda: move(lite, id, "confirm", expect_state="order/confirmed"))
    assert (type(problem), problem.code) == (Conflict, "workflow.state-changed")
    assert problem.data == {"state": "order/pending"}


def test_a_transition_that_does_not_leave_the_state_names_those_that_do(
    lite: sandbar.Database,
) -> None:
    id = begin(lite, PLAIN)
    problem = refusal(lambda: move(lite, id, "deliver"))
    assert (type(problem), problem.code) == (Conflict, "workflow.no-transition")
    assert problem.data == {"state": "order/pending", "transitions": ["cancel", "confirm"]}
    assert "cancel, confirm" in str(problem.hint)
    move(lite, id, "confirm")
    move(lite, id, "deliver")
    assert "ended" in str(refusal(lambda: move(lite, id, "deliver")).hint)


@pytest.mark.parametrize("reason", [None, ""])
def test_a_reason_that_is_demanded_must_be_given(
    lite: sandbar.Database, reason: str | None
) -> None:
    id = begin(lite, PLAIN)
    move(lite, id, "confirm")
    problem = refusal(lambda: move(lite, id, "lose", reason=reason))
    assert (type(problem), problem.code) == (Incorrect, "workflow.reason-required")
    assert lite.workflows.view(id).state == "order/confirmed"
    assert move(lite, id, "lose", reason="fell off").kind == "failure"
    assert lite.workflows.history(id)[-1].reason == "fell off"


@pytest.mark.parametrize("id", [1, 10**15])
def test_what_is_no_process_is_unknown(lite: sandbar.Database, id: int) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    problem = refusal(lambda: move(lite, id, "confirm"))
    assert (type(problem), problem.code) == (NotFound, "process.unknown")
    assert refusal(lambda: lite.workflows.view(id)).code == "process.unknown"
    assert refusal(lambda: lite.workflows.history(id)).code == "process.unknown"


def test_the_same_name_leads_elsewhere_from_another_state(lite: sandbar.Database) -> None:
    spec = one_step("order/next")
    spec["states"].insert(1, {"name": "step/second"})
    spec["transitions"] = [
        {
            "name": "next",
            "from": "step/first",
            "to": "step/second",
            "effects": [{"data": {"a": 1}}],
        },
        {"name": "next", "from": "step/second", "to": "end/done", "effects": [{"data": {"b": 2}}]},
        {"name": "fail", "from": "step/second", "to": "end/failed"},
        {"name": "cancel", "from": "step/first", "to": "end/cancelled"},
    ]
    id = begin(lite, spec)
    assert move(lite, id, "next").state == "step/second"
    view = move(lite, id, "next")
    assert (view.state, view.data) == ("end/done", {"a": 1, "b": 2})


def test_data_of_a_transition_must_fit_the_schema(lite: sandbar.Database) -> None:
    id = begin(lite, {**PLAIN, "data-schema": SCHEMA}, quantity=1)
    problem = refusal(lambda: move(lite, id, "confirm", data={"quantity": 0}))
    assert problem.code == "process.data-invalid"
    assert [one["at"] for one in problem.data["findings"]] == ["data.quantity"]
    assert move(lite, id, "confirm", data={"note": "x"}).data == {"quantity": 1, "note": "x"}


# --- the end, and beginning again ------------------------------------------------------------


def test_at_the_end_a_process_is_complete(db: sandbar.Database) -> None:
    id = begin(db, PLAIN)
    move(db, id, "confirm")
    view = move(db, id, "deliver")
    assert (view.status, view.kind, view.is_complete) == ("complete", "success", True)
    assert view.completed_at == view.updated_at
    entity = db.get(id)
    assert "workflow/active?" not in entity.slots
    assert entity["workflow/completed-at"] == view.completed_at
    assert db.workflows.active("order/plain") == ([], None)


def test_a_retry_clears_the_end_and_begins_another_run(db: sandbar.Database) -> None:
    id = begin(db, PLAIN)
    move(db, id, "confirm")
    move(db, id, "lose", reason="fell off")
    view = move(db, id, "retry")
    assert (view.state, view.run, view.step) == ("order/pending", 2, 3)
    assert (view.status, view.kind, view.completed_at) == ("running", None, None)
    entity = db.get(id)
    assert entity["workflow/active?"] is True
    assert "workflow/completed-at" not in entity.slots
    assert [one.process_id for one in db.workflows.active("order/plain")[0]] == [id]
    assert db.workflows.view(id, as_of=view.t - 1).kind == "failure"


# --- guards ----------------------------------------------------------------------------------

GUARDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("process.data.n > 1", {"data": {"n": 1}}, {"data": {"n": 2}}),
    ("process.state == 'step/first' && process.step == 0 && process.run == 1", {}, {}),
    ("process['started-by'] == 'ann'", {}, {}),
    ("process.reason == 'please'", {"reason": "now"}, {"reason": "please"}),
    ("subject['order/total'] < 100", {}, {}),
    ("subject['order/status'] == 'old'", {}, {}),
    ("context.ok", {"context": {"ok": False}}, {"context": {"ok": True}}),
    ("actor == 'boss'", {"principal": "ann"}, {"principal": "boss"}),
    ("has(process.answers.a) || actor == 'boss'", {"principal": "ann"}, {"principal": "boss"}),
]
NEVER_REFUSED = {1, 2, 4}
ALWAYS_REFUSED = {5}


@pytest.mark.parametrize("n", range(len(GUARDS)), ids=[guard for guard, _, _ in GUARDS])
def test_guards_see_process_subject_context_and_actor(lite: sandbar.Database, n: int) -> None:
    guard, wrong, right = GUARDS[n]
    id = begin(lite, one_step("order/guarded", go={"guard": guard}), "order/one")
    if n not in NEVER_REFUSED:
        before = lite.t
        problem = refusal(
            lambda: lite.workflows.transition(id, "go", **{"principal": "ann", **wrong})
        )
        assert (type(problem), problem.code) == (Conflict, "workflow.guard-refused")
        assert guard in str(problem.hint)
        assert problem.data == {"transition": "go", "state": "step/first", "guard": guard}
        assert lite.t == before
    if n not in ALWAYS_REFUSED:
        view = lite.workflows.transition(id, "go", **{"principal": "ann", **right})
        assert view.kind == "success"


@pytest.mark.parametrize(
    ("guard", "why", "is_missing"),
    [
        ("context.missing > 1", "it reads 'missing', which is not there", True),
        ("process.data.n == 1 / 0", "it divides by zero", False),
        ("subject['order/none'] == 1", "it reads 'order/none', which is not there", True),
        ("context.text", "it does not answer true or false", False),
    ],
)
def test_a_guard_that_fails_lets_nothing_pass_and_says_what_is_missing(
    lite: sandbar.Database, guard: str, why: str, is_missing: bool
) -> None:
    id = begin(lite, one_step("order/guarded", go={"guard": guard}), "order/one", n=1)
    problem = refusal(lambda: move(lite, id, "go", context={"text": "true"}))
    assert (type(problem), problem.code) == (Conflict, "workflow.guard-refused")
    assert "the guard of go " in problem.message
    assert why in problem.message
    assert f"it demands: {guard}" in str(problem.hint)
    assert ("`context` or `data`" in str(problem.hint)) is is_missing
    assert "this" not in str(problem.hint)
    assert lite.workflows.view(id).state == "step/first"
    state = lite.workflows.state(id, principal="ann")
    assert state.transitions == ["fail", "cancel"]
    assert state.blocked == {"go": guard}


def test_a_guard_over_the_subject_sees_nothing_when_it_is_gone(lite: sandbar.Database) -> None:
    guard = "!('order/total' in subject)"
    id = begin(lite, one_step("order/guarded", go={"guard": guard}), "order/one")
    assert refusal(lambda: move(lite, id, "go")).code == "workflow.guard-refused"
    lite.delete("order/one", mode="detach")
    assert lite.workflows.view(id).subject is None
    assert move(lite, id, "go").kind == "success"


def test_what_can_be_made_now_is_told(lite: sandbar.Database) -> None:
    spec = one_step("order/guarded", go={"guard": "actor == 'boss'"})
    id = begin(lite, spec)
    for who, names, blocked in (
        ("ann", ["fail", "cancel"], {"go": "actor == 'boss'"}),
        ("boss", ["go", "fail", "cancel"], {}),
    ):
        state = lite.workflows.state(id, principal=who)
        assert (state.transitions, state.blocked) == (names, blocked)
    move(lite, id, "cancel")
    assert lite.workflows.state(id, principal="boss").transitions == []


def test_every_change_answers_what_can_be_made_next(lite: sandbar.Database) -> None:
    """Guards see the process, and what it is about, as the change leaves them."""
    spec = one_step("order/guarded", go={"guard": "subject['order/total'] > 10"})
    spec["states"].insert(0, {"name": "step/zero", "initial?": True})
    spec["states"][1].pop("initial?")
    raise_it = [{"set": {"order/total": {"from": "context.total"}}}]
    spec["transitions"].append(
        {"name": "raise", "from": "step/zero", "to": "step/first", "effects": raise_it}
    )
    lite.workflows.define(spec, principal="ann")
    for total, open, blocked in (
        (11, ["go", "fail", "cancel"], {}),
        (10, ["fail", "cancel"], {"go": "subject['order/total'] > 10"}),
    ):
        view = start(lite, "order/guarded", subject="order/one", idempotency_key=f"k{total}")
        assert (view.transitions, view.blocked) == (["raise"], {})
        moved = move(lite, view.process_id, "raise", context={"total": total})
        assert (moved.transitions, moved.blocked) == (open, blocked)
        again = start(lite, "order/guarded", subject="order/one", idempotency_key=f"k{total}")
        assert again == moved
        assert move(lite, view.process_id, "fail").transitions == ["retry"]


def test_two_guards_in_concurrent_transactions_never_break_an_invariant(
    place: Place, db: sandbar.Database
) -> None:
    """At most one of two processes about one order may take it: the guard of each looks at it."""
    spec = one_step(
        "order/take",
        go={
            "guard": "subject['order/status'] == 'new'",
            "effects": [{"set": {"order/status": {"from": "data.who"}}}],
        },
    )
    db.workflows.define(spec, principal="ann")
    servers = [db, place.open()]
    for n in range(5):
        db.update("order/one", {"order/status": "new"})
        ids = [
            db.workflows.start("order/take", "order/one", {"who": f"{n}-{k}"}, principal="ann")
            for k in range(4)
        ]

        def take(k: int, ids: list[ProcessView] = ids) -> str:
            try:
                move(servers[k % 2], ids[k].process_id, "go")
            except Problem as problem:
                return problem.code
            return "taken"

        with ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(take, range(4)))
        assert sorted(outcomes) == ["taken"] + ["workflow.guard-refused"] * 3
        assert db.get("order/one")["order/status"] == f"{n}-{outcomes.index('taken')}"
