"""What one request may set off: sizes of what is written and kept, and how many processes."""

from __future__ import annotations

import random
import time
from typing import Any

import msgspec
import pytest

import sandbar
from sandbar.errors import Conflict, Incorrect
from sandbar.workflow import Outcome, Reply, Running, starting
from sandbar.workflow.budgets import (
    CHECKPOINT_BYTES_MAX,
    DATA_BYTES_MAX,
    EFFECTS_BYTES_MAX,
    ERROR_BYTES_MAX,
    RESULT_BYTES_MAX,
    Budget,
    weight,
)
from sandbar.workflow.jobs import told
from sandbar.workflow.specs import read_spec
from tests.workflow.orders import (
    PLAIN,
    begin,
    ended,
    move,
    one_step,
    path_of,
    refusal,
    until,
    working,
)

DOUBLE = {"data": {"x": [{"from": "data"}, {"from": "data"}]}}
SOON_S = 2.0  # what is refused is refused at once; a busy machine takes its time


def effecting(*effects: dict[str, Any], **state: Any) -> dict[str, Any]:
    """A workflow whose transition `go` has these effects."""
    return one_step("order/effects", state, go={"effects": list(effects)})


# --- weighing --------------------------------------------------------------------------------


def some_json(rng: random.Random, depth: int = 4) -> Any:
    """Any JSON, texts and containers of all sizes."""
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [some_json(rng, depth - 1) for _ in range(rng.randrange(8))]
    if kind == 6:
        return {f"k{n}ä": some_json(rng, depth - 1) for n in range(rng.randrange(8))}
    texts = ("", "plain", "straße", "日本語" * rng.randrange(40))
    return (None, True, rng.random(), rng.randrange(10**9), rng.choice(texts))[kind]


def test_weight_is_about_the_size_as_json() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(300):
        value = [some_json(rng) for _ in range(20)]
        size, found = len(msgspec.json.encode(value)), weight(value, 1 << 30)
        assert size / 2.5 < found < size * 2.5, (seed, value)


def test_weight_ends_soon_where_the_same_thing_stands_many_times() -> None:
    shared: Any = "ha"
    for _ in range(200):
        shared = [shared, {"x": shared}]
    cycle: list[Any] = []
    cycle.append(cycle)
    keys: dict[str, Any] = {"k" * 1000 + str(n): n for n in range(1000)}
    for value in (shared, cycle, [cycle, cycle], [keys] * 10_000):
        begun_s = time.monotonic()
        assert weight(value, 100_000) > 100_000
        assert time.monotonic() - begun_s < SOON_S


def test_a_budget_is_spent_once() -> None:
    budget = Budget(100)
    budget.spend("x" * 50)
    problem = refusal(lambda: budget.spend("x" * 50))
    assert (type(problem), problem.code) == (Incorrect, "workflow.effects-too-large")
    Budget(100).spend("x" * 98)
    assert refusal(lambda: Budget(100).spend("x" * 99)).code == "workflow.effects-too-large"


# --- effects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [18, 50])
def test_effects_that_double_the_data_are_refused_at_once(db: sandbar.Database, times: int) -> None:
    id = begin(db, effecting(*[DOUBLE] * times), s="ha")
    before, view = db.t, db.workflows.view(id)
    begun_s = time.monotonic()
    problem = refusal(lambda: move(db, id, "go"))
    assert time.monotonic() - begun_s < SOON_S
    assert (type(problem), problem.code) == (Incorrect, "workflow.effects-too-large")
    assert problem.hint is not None
    assert db.t == before
    assert db.workflows.view(id) == view


def test_effects_that_double_the_data_a_few_times_are_not(lite: sandbar.Database) -> None:
    id = begin(lite, effecting(*[DOUBLE] * 3), s="ha")
    data = move(lite, id, "go").data
    assert data["x"][0]["x"][1]["x"][0] == {"s": "ha"}


def test_a_timer_with_such_effects_is_over(db: sandbar.Database) -> None:
    after = {"seconds": 0.1, "transition": "go"}
    id = begin(db, effecting(*[DOUBLE] * 45, after=after), s="ha")
    db.start_worker()
    view = until(db, id, lambda view: view.error is not None)
    assert view.error is not None
    assert (view.error["code"], view.timer_at) == ("workflow.effects-too-large", None)
    assert view.data == {"s": "ha"}
    assert move(db, id, "cancel").kind == "cancel"


BIG = {"from": "context.big"}
WRITING: dict[str, dict[str, Any]] = {
    "set": {"set": {"order/status": BIG}},
    "create": {"create": "note/Note", "slots": {"note/text": BIG}},
    "start": {"start": "order/plain", "data": {"big": BIG}},
    "data": {"data": {"big": BIG}},
    "one of each": {},
}


@pytest.mark.parametrize("kind", WRITING)
def test_all_effects_of_a_transition_have_one_budget(lite: sandbar.Database, kind: str) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    one = [WRITING[kind]] if WRITING[kind] else [WRITING[each] for each in list(WRITING)[:4]]
    big = {"big": "x" * (EFFECTS_BYTES_MAX // 5)}
    id = begin(lite, effecting(*(one * 6)[:6]), "order/one")
    before = lite.t
    assert refusal(lambda: move(lite, id, "go", context=big)).code == "workflow.effects-too-large"
    assert lite.t == before
    other = begin(lite, effecting(*(one * 4)[:4]), "order/one")
    move(lite, other, "go", context=big)


# --- what a process knows --------------------------------------------------------------------

LARGE = {"large": "x" * DATA_BYTES_MAX}
FITTING = {"large": "x" * (DATA_BYTES_MAX - 100)}


def is_too_large(problem: Exception) -> bool:
    """Whether data were refused for their size."""
    code = getattr(problem, "code", None)
    return type(problem) is Incorrect and code == "process.data-too-large"


def test_the_data_of_a_process_are_bounded(db: sandbar.Database) -> None:
    assert is_too_large(refusal(lambda: begin(db, PLAIN, **LARGE)))
    id = begin(db, PLAIN, **FITTING)
    assert is_too_large(refusal(lambda: move(db, id, "confirm", data={"more": "x" * 100})))
    assert move(db, id, "confirm").state == "order/confirmed"
    assert path_of(db, id)[-1] == ("confirm", "order/confirmed")


def test_a_process_cannot_grow_step_by_step(lite: sandbar.Database) -> None:
    more = {"data": {"x": [{"from": "data.x"}, {"from": "context.big"}]}}
    spec = one_step("order/growing")
    grow = {"name": "grow", "from": "step/first", "to": "step/first", "effects": [more]}
    spec["transitions"].append(grow)
    id = begin(lite, spec, x=None)
    context = {"big": "x" * (DATA_BYTES_MAX // 4)}
    for _ in range(3):
        move(lite, id, "grow", context=context)
    assert is_too_large(refusal(lambda: move(lite, id, "grow", context=context)))


def test_a_child_is_given_no_more_than_a_process_may_know(lite: sandbar.Database) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    id = begin(lite, effecting({"start": "order/plain", "data": {"big": BIG}}))
    context = {"big": LARGE}
    assert is_too_large(refusal(lambda: move(lite, id, "go", context=context)))
    assert move(lite, id, "go", context={"big": FITTING["large"][:-100]}).kind == "success"


def test_what_a_process_is_told_is_bounded(lite: sandbar.Database) -> None:
    form = {"type": "object", "properties": {"said": {"type": "string"}}}
    requests = {key: {"message": "Well?", "schema": form} for key in ("one", "two")}
    spec = one_step("order/asking", {"input": {"requests": requests, "accept": "go"}})
    id = begin(lite, spec)

    def say(key: str, length: int) -> str:
        replies = {key: Reply(content={"said": "x" * length})}
        return lite.workflows.answer(id, replies, principal="ann").state

    assert is_too_large(refusal(lambda: say("one", DATA_BYTES_MAX)))
    assert say("one", DATA_BYTES_MAX // 2) == "step/first"
    assert is_too_large(refusal(lambda: say("two", DATA_BYTES_MAX // 2)))
    assert say("two", DATA_BYTES_MAX // 3) == "end/done"


# --- activities ------------------------------------------------------------------------------


def _saving(checkpoint: Any) -> Any:
    def work(job: Running) -> Outcome:
        job.save(checkpoint)
        return Outcome("go")

    return work


def _transacting(checkpoint: Any) -> Any:
    def work(job: Running) -> Outcome:
        note = {"op": "create", "class": "note/Note", "slots": {"note/text": "made"}}
        job.transact([note], checkpoint=checkpoint)
        return Outcome("go")

    return work


def _ending(outcome: Outcome) -> Any:
    return lambda job: outcome


LEAVING: dict[str, tuple[int, str, Any]] = {
    "data": (DATA_BYTES_MAX, "process.data-too-large", lambda x: _ending(Outcome("go", {"x": x}))),
    "result": (RESULT_BYTES_MAX, "activity.too-large", lambda x: _ending(Outcome("go", result=x))),
    "error": (
        ERROR_BYTES_MAX,
        "activity.too-large",
        lambda x: _ending(Outcome("go", error={"message": x})),
    ),
    "checkpoint": (CHECKPOINT_BYTES_MAX, "activity.too-large", _saving),
    "checkpoint of a write": (CHECKPOINT_BYTES_MAX, "activity.too-large", _transacting),
}


@pytest.mark.parametrize("name", LEAVING)
def test_what_an_activity_leaves_behind_is_bounded(lite: sandbar.Database, name: str) -> None:
    most, code, making = LEAVING[name]
    view = ended(lite, working(lite, making("x" * most)))
    assert view.error is not None, view
    assert (view.kind, view.error["code"], view.result) == ("failure", code, None)
    assert view.error["hint"]


@pytest.mark.parametrize("name", LEAVING)
def test_what_is_not_too_large_is_kept(lite: sandbar.Database, name: str) -> None:
    most, _, making = LEAVING[name]
    assert ended(lite, working(lite, making("x" * (most - 100)))).kind == "success"


def test_a_long_message_of_progress_is_cut_visibly(lite: sandbar.Database) -> None:
    def work(job: Running) -> Outcome:
        job.progress(1, 1, "x" * 1_000_000)
        return Outcome("go")

    view = ended(lite, working(lite, work))
    assert view.kind == "success"
    assert view.progress is not None
    assert view.progress["message"] == "x" * 1999 + "…"


def test_a_problem_that_tells_too_much_is_kept_without_its_data() -> None:
    data = {"findings": ["x" * 1000] * 1000}
    kept = told(Conflict("test.no", "語" * 100_000, hint="語" * 100_000, data=data))
    assert (kept["code"], "data" in kept) == ("test.no", False)
    assert len(msgspec.json.encode(kept)) < ERROR_BYTES_MAX
    few = {"findings": [1, 2]}
    assert told(Conflict("test.no", "no", hint="yes", data=few))["data"] == few


# --- processes that start processes ----------------------------------------------------------


def findings_of(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """Where a definition is wrong, and how."""
    found = refusal(lambda: read_spec(spec)).data["findings"]
    return [(one["at"], one["code"]) for one in found]


def test_a_transition_starts_few_processes() -> None:
    start = {"start": "order/effects"}
    assert findings_of(effecting(*[start] * 11)) == [
        ("transitions[0].effects", "workflow.too-large")
    ]
    read_spec(effecting(*[start] * 10, *[{"data": {"x": 1}}] * 40))


@pytest.mark.parametrize("seconds", [1e-9, 0.0999])
def test_what_happens_by_itself_takes_its_time(seconds: float) -> None:
    after = {"after": {"seconds": seconds, "transition": "go"}}
    assert findings_of(one_step("order/hasty", after)) == [
        ("states[0].after.seconds", "workflow.range")
    ]
    hasty = {"activity": "test/work", "retries": 5, "backoff": seconds}
    assert findings_of(one_step("order/hasty", hasty)) == [("states[0].backoff", "workflow.range")]
    read_spec(one_step("order/calm", {"after": {"seconds": 0.1, "transition": "go"}}))
    read_spec(one_step("order/calm", {**hasty, "backoff": 0.1}))


def test_a_process_and_all_that_come_of_it_are_not_many(
    db: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "DESCENDANTS_MAX", 25)
    after = {"seconds": 0.1, "transition": "go"}
    root = begin(db, effecting(*[{"start": "order/effects"}] * 10, after=after))
    db.start_worker()
    deadline_s = time.monotonic() + 30
    while db._store.jobs.next_due_s() is not None:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    views = [db.workflows.view(one.entity_id) for one in all_processes(db)]
    # Ten of the first, ten of one of those; what is left is not enough for another's ten.
    assert len(views) == 1 + 10 + 10
    stuck = [view.error for view in views if not view.is_complete]
    assert [error and error["code"] for error in stuck] == ["process.too-many"] * 19
    assert {error["data"]["process"] for error in stuck if error} == {root}
    assert db.get(root)["workflow/descendants"] == 20


def all_processes(db: sandbar.Database) -> list[Any]:
    """Every process there is."""
    return list(db.query("workflow/Process", limit=1000).items)


def test_others_have_a_number_of_their_own(
    lite: sandbar.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "DESCENDANTS_MAX", 3)
    start = {"start": "order/plain"}
    lite.workflows.define(PLAIN, principal="ann")
    spec = effecting(start, start)
    spec["transitions"][0] |= {"to": "step/first"}
    spec["transitions"].append({"name": "end", "from": "step/first", "to": "end/done"})
    first, second = begin(lite, spec), begin(lite, spec)
    move(lite, first, "go")
    before = lite.t
    problem = refusal(lambda: move(lite, first, "go"))
    assert (type(problem), problem.code) == (Conflict, "process.too-many")
    assert (lite.t, len(all_processes(lite))) == (before, 4)
    move(lite, second, "go")
    assert move(lite, first, "end").kind == "success"
