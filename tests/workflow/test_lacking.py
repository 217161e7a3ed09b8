"""What a definition names and nobody has: told when it is defined, and where a process hangs."""

from __future__ import annotations

from typing import Any

import sandbar
from sandbar.errors import Problem
from sandbar.workflow import Outcome, Running
from sandbar.workflow.lacking import WARNINGS_MAX
from tests.workflow.orders import PLAIN, begin, ended, move, one_step, until, with_code

EFFECTS: list[dict[str, Any]] = [
    {"set": {"order/status": "x", "order/stauts": "x"}},
    {"create": "note/Nte", "slots": {"note/text": "x", "note/colour": 1}},
    {"create": "note/Note", "slots": {"db/ident": "note/one", "note/text": "x"}},
    {"start": "order/unknown"},
    {"start": "order/lacking"},
    {"start": "order/plain"},
    {"start": "validation/resource"},
    {"data": {"note/colour": 1}},
]
SPEC = one_step(
    "order/lacking",
    {"activity": "order/pack"},
    {"effects": EFFECTS, "handler": "order/tell"},
)


def warned(db: sandbar.Database, spec: dict[str, Any]) -> dict[str, str]:
    """The places that a definition is warned about."""
    defined = db.workflows.define(spec, principal="ann")
    return {one.at: one.message for one in defined.warnings}


def test_what_is_not_there_yet_is_told_and_hinders_nothing(lite: sandbar.Database) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    found = warned(lite, SPEC)
    assert list(found) == [
        "states[0].activity",
        "transitions[0].effects[0].set",
        "transitions[0].effects[1].create",
        "transitions[0].effects[1].slots",
        "transitions[0].effects[3].start",
        "transitions[0].handler",
    ]
    assert "order/pack" in found["states[0].activity"]
    assert "order/tell" in found["transitions[0].handler"]
    assert "did you mean order/status" in found["transitions[0].effects[0].set"]
    assert "did you mean note/Note" in found["transitions[0].effects[1].create"]
    assert "order/unknown" in found["transitions[0].effects[3].start"]
    assert lite.workflows.start("order/lacking", principal="ann").state == "step/first"


def test_what_has_come_is_no_longer_told(lite: sandbar.Database) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    before = warned(lite, SPEC)
    with_code(lite, {"order/pack": lambda job: Outcome("go")}, {"order/tell": lambda one: None})
    lite.define(properties={"order/stauts": {"dt/range": "db.type/string"}})
    lite.workflows.define(one_step("order/unknown"), principal="ann")
    assert set(before) - set(warned(lite, SPEC)) == {
        "states[0].activity",
        "transitions[0].effects[0].set",
        "transitions[0].effects[3].start",
        "transitions[0].handler",
    }
    assert warned(lite, PLAIN) == {}


def test_a_name_that_is_something_else_is_no_workflow(lite: sandbar.Database) -> None:
    spec = one_step("order/wrong", go={"effects": [{"start": "order/one"}]})
    assert list(warned(lite, spec)) == ["transitions[0].effects[0].start"]


def test_there_are_not_too_many_warnings(lite: sandbar.Database) -> None:
    slots = {f"order/none-{n}": 1 for n in range(WARNINGS_MAX + 10)}
    spec = one_step("order/many", go={"effects": [{"create": "note/Note", "slots": slots}]})
    assert len(lite.workflows.define(spec, principal="ann").warnings) == WARNINGS_MAX


# --- a process that hangs --------------------------------------------------------------------


def lacks_code(view: Any) -> bool:
    return (view.error or {}).get("code") == "activity.no-code"


def test_a_process_without_code_says_so_once(db: sandbar.Database, monkeypatch: Any) -> None:
    monkeypatch.setattr("sandbar.workflow.worker._NO_CODE_PAUSE_S", 0.02)
    monkeypatch.setattr("sandbar.workflow.worker._RELUCTANCE_S", 0.0)
    looks: list[float] = []

    def rest_s(record: Any, most_s: float) -> float:
        looks.append(most_s)
        return most_s

    monkeypatch.setattr("sandbar.workflow.worker.rest_s", rest_s)
    with_code(db)
    id = begin(db, one_step("order/lost", {"activity": "nobody/has"}))
    db.start_worker()
    view = until(db, id, lacks_code)
    assert "nobody/has" in (view.error or {})["message"]
    assert (view.error or {})["hint"]
    assert lacks_code(db.workflows.state(id, principal="ann"))
    seen = len(looks)
    until(db, id, lambda view: len(looks) >= seen + 5)
    assert db.workflows.view(id).t == view.t, "written once, not at every look"
    assert len(db.workflows.history(id)) == 1
    # It is said of this state: who moves the process on leaves it behind, whoever comes back not.
    assert move(db, id, "fail").error is None
    move(db, id, "retry")
    until(db, id, lacks_code)
    assert db.workflows.cancel(id, principal="ann").error is None


def test_a_server_that_has_the_code_takes_the_word_back(
    lite: sandbar.Database, monkeypatch: Any
) -> None:
    monkeypatch.setattr("sandbar.workflow.worker._NO_CODE_PAUSE_S", 0.02)
    with_code(lite)
    id = begin(lite, one_step("order/late", {"activity": "nobody/has"}))
    lite.start_worker()
    until(lite, id, lacks_code)
    seen: list[Any] = []

    def work(job: Running) -> Outcome:
        seen.append(job.workspace.get(job.process.process_id).get("workflow/error"))
        return Outcome("go")

    with_code(lite, {"nobody/has": work})
    assert ended(lite, id).error is None
    assert seen == [None]


def test_an_error_that_was_overcome_is_not_the_end_of_it(lite: sandbar.Database) -> None:
    tries: list[int] = []

    def work(job: Running) -> Outcome:
        tries.append(1)
        if len(tries) == 1:
            raise Problem("test.once", "not now", hint="again")
        return Outcome("go")

    with_code(lite, {"test/work": work})
    id = begin(
        lite, one_step("order/twice", {"activity": "test/work", "retries": 1, "backoff": 0.1})
    )
    lite.start_worker()
    view = ended(lite, id)
    assert (view.kind, view.error, len(tries)) == ("success", None, 2)
