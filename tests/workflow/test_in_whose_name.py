"""Timers and activities act as the starter of their process, within the workflow's definer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import sandbar
from sandbar.access import Caller, revoke, revoke_key, set_role
from sandbar.errors import Forbidden, Problem
from sandbar.workflow import Happening, Outcome, ProcessView, Running
from tests.access.limited import account, key, make_role
from tests.workflow.orders import (
    ended,
    one_step,
    refusal,
    until,
    with_code,
)

SELL = {"set": {"order/status": "sold"}}
LATER_S = 3600

Change = Callable[[sandbar.Database], object]
NOTES_ONLY = {"group": "*", "access": "write", "classes": ["note/Note"]}

# What became of the starter, or of the definer, before anything happened; and the refusal.
SINCE: dict[str, tuple[Change | None, Change | None, str | None]] = {
    "nothing": (None, None, None),
    "starter revoked": (lambda db: revoke(db.workspace, "sue"), None, "access.no-longer"),
    "starter's key revoked": (
        lambda db: revoke_key(db.workspace, "sues"),
        None,
        "access.no-longer",
    ),
    "starter expired": (
        lambda db: db.update(
            {"auth/service-name": "service/sue"}, {"auth/expires-at": "2020-01-01T00:00:00Z"}
        ),
        None,
        "access.no-longer",
    ),
    "starter's key expired": (
        lambda db: db.update(
            {"auth/key-name": "sues"}, {"auth/expires-at": "2020-01-01T00:00:00Z"}
        ),
        None,
        "access.no-longer",
    ),
    "starter purged": (
        lambda db: db.purge({"auth/service-name": "service/sue"}, mode="detach"),
        None,
        "access.no-longer",
    ),
    "starter reads": (
        lambda db: set_role(db.workspace, "sue", "reader"),
        None,
        "access.read-only",
    ),
    "starter's key reads": (
        lambda db: db.update({"auth/key-name": "sues"}, {"auth/read-only?": True}),
        None,
        "access.read-only",
    ),
    "starter keeps notes": (
        lambda db: set_role(db.workspace, "sue", "notes/keeper"),
        None,
        "access.out-of-scope",
    ),
    "starter's key keeps notes": (
        lambda db: db.update({"auth/key-name": "sues"}, {"auth/classes": ["note/Note"]}),
        None,
        "access.out-of-scope",
    ),
    "starter an admin": (lambda db: set_role(db.workspace, "sue", "admin"), None, None),
    "definer revoked": (None, lambda db: revoke(db.workspace, "dan"), "access.no-longer"),
    "definer's key revoked": (None, lambda db: revoke_key(db.workspace, "dans"), None),
    "definer reads": (
        None,
        lambda db: set_role(db.workspace, "dan", "reader"),
        "access.read-only",
    ),
    "definer keeps notes": (
        None,
        lambda db: set_role(db.workspace, "dan", "notes/keeper"),
        "access.out-of-scope",
    ),
    "workspace suspended": (
        lambda db: db.update("auth/workspace", {"auth/suspended?": True}),
        None,
        None,
    ),
}


def people(db: sandbar.Database) -> tuple[Caller, Caller]:
    """Who starts, and who defines; both by keys."""
    account(db, "sue", "writer")
    account(db, "dan", "writer")
    make_role(db, "notes/keeper", NOTES_ONLY)
    return key(db, "sues", "sue"), key(db, "dans", "dan")


def begun(db: sandbar.Database, spec: dict[str, Any], since: str = "nothing") -> int:
    """A process about an order, whose starter and definer have changed since."""
    starter, definer = people(db)
    db.call_as(definer, "workflow.define", {"spec": spec})
    asked = {"workflow": spec["name"], "subject": "order/one"}
    id: int = db.call_as(starter, "workflow.start-process", asked).process_id
    for change in SINCE[since][:2]:
        if change is not None:
            change(db)
    return id


def settled(db: sandbar.Database, id: int) -> ProcessView:
    """The process once it has ended, or has been told why it cannot go on; nothing is due."""
    view = until(db, id, lambda view: view.is_complete or view.error is not None)
    assert (db._store.jobs.next_due_s() or LATER_S) > LATER_S / 2, "it is not tried again and again"
    return view


@pytest.mark.parametrize("since", SINCE)
def test_a_timer_acts_as_the_starter(db: sandbar.Database, since: str) -> None:
    after = {"after": {"seconds": 0.3, "transition": "go"}}
    id = begun(db, one_step("order/later", after, {"effects": [SELL]}), since)
    db.start_worker()
    view, code = settled(db, id), SINCE[since][2]
    if code is None:
        assert (view.kind, db.get("order/one")["order/status"]) == ("success", "sold")
        assert db.workflows.history(id)[-1].actor == "sandbar"
        return
    # It stands where it stood, says why, and its timer is over; others may move it on.
    assert (view.state, view.paused, view.timer_at) == ("step/first", False, None)
    assert (view.error or {})["code"] == code
    assert db.get("order/one")["order/status"] == "new"
    assert db.workflows.transition(id, "cancel", principal="local").kind == "cancel"


@pytest.mark.parametrize("since", SINCE)
def test_an_activity_acts_as_the_starter(db: sandbar.Database, since: str) -> None:
    runs: list[str] = []

    def work(job: Running) -> Outcome:
        runs.append(job.workspace.get("order/one")["order/status"])
        job.transact([{"op": "update", "entity": "order/one", **SELL}])
        return Outcome("go")

    with_code(db, {"test/work": work})
    spec = one_step("order/worked", {"activity": "test/work", "retries": 3, "backoff": 0.1})
    id = begun(db, spec, since)
    db.start_worker()
    view, code = ended(db, id), SINCE[since][2]
    assert (view.kind, (view.error or {}).get("code")) == (
        ("success", None) if code is None else ("failure", code)
    )
    status = db.get("order/one")["order/status"]
    assert status == ("sold" if code is None else "new")
    if code == "access.no-longer":
        assert (runs, view.attempt) == ([], 0), "of those who are gone nothing is begun"


def test_an_activity_of_who_is_gone_rests_where_there_is_no_way_to_fail(
    db: sandbar.Database,
) -> None:
    """Its starter may sign in again: then it goes on when it is resumed."""
    with_code(db, {"test/work": lambda job: Outcome("go")})
    spec = one_step("order/worked", {"activity": "test/work"})
    spec["transitions"] = [way for way in spec["transitions"] if way["name"] in ("go", "cancel")]
    spec["states"] = [state for state in spec["states"] if state["name"] != "end/failed"]
    id = begun(db, spec, "starter's key expired")
    db.start_worker()
    view = settled(db, id)
    assert (view.paused, (view.error or {})["code"]) == (True, "access.no-longer")
    assert "service/sue asked for this" in (view.error or {})["message"]
    db.update({"auth/key-name": "sues"}, {"auth/expires-at": None})
    db.workflows.resume(id, principal="local")
    assert ended(db, id).kind == "success"


def test_rights_that_end_meanwhile_end_the_writing_of_an_activity(db: sandbar.Database) -> None:
    found: list[Problem] = []

    def work(job: Running) -> Outcome:
        job.transact([{"op": "create", "class": "note/Note", "slots": {"note/text": "before"}}])
        set_role(db.workspace, "sue", "notes/keeper")
        job.transact([{"op": "create", "class": "note/Note", "slots": {"note/text": "between"}}])
        found.append(refusal(lambda: job.workspace.get("order/one")))
        revoke(db.workspace, "sue")
        found.append(refusal(lambda: job.workspace.get("order/one")))
        job.transact([{"op": "create", "class": "note/Note", "slots": {"note/text": "after"}}])
        return Outcome("go")

    with_code(db, {"test/work": work})
    id = begun(db, one_step("order/worked", {"activity": "test/work"}))
    db.start_worker()
    assert (ended(db, id).error or {})["code"] == "access.no-longer"
    assert [one.code for one in found] == ["access.out-of-scope", "access.no-longer"]
    assert [one["note/text"] for one in db.query("note/Note").items] == ["before", "between"]


def test_what_an_activity_reads_is_what_its_starter_sees(db: sandbar.Database) -> None:
    seen: dict[str, tuple[int, list[str | None]]] = {}

    def work(job: Running) -> Outcome:
        entities = ("order/one", job.data["account"])
        codes = [_code(partial(job.workspace.get, entity)) for entity in entities]
        seen[job.data["who"]] = job.workspace.instance_count("dt/Resource"), codes
        return Outcome("go")

    with_code(db, {"test/work": work})
    writer, _ = people(db)
    scoped = key(db, "scoped", "sue", classes=["note/Note"])
    admin = account(db, "ada", "admin")
    db.workflows.define(one_step("order/worked", {"activity": "test/work"}), principal="local")
    db.start_worker()
    for who, caller in (("scoped", scoped), ("writer", writer), ("admin", admin)):
        data = {"who": who, "account": admin.account_id}
        asked = {"workflow": "order/worked", "data": data}
        id = db.call_as(caller, "workflow.start-process", asked).process_id
        assert ended(db, id).kind == "success"
    assert {who: codes for who, (_, codes) in seen.items()} == {
        "scoped": ["access.out-of-scope", "entity.protected"],
        "writer": [None, "entity.protected"],
        "admin": [None, None],
    }
    assert 0 == seen["scoped"][0] < seen["writer"][0] < seen["admin"][0]


def _code(work: Callable[[], object]) -> str | None:
    try:
        work()
    except Problem as problem:
        return problem.code
    return None


@pytest.mark.parametrize("since", ["nothing", "definer reads", "definer keeps notes"])
def test_code_of_a_transition_reads_and_writes_as_its_mover(
    db: sandbar.Database, since: str
) -> None:
    read: list[str | None] = []

    def touch(happening: Happening) -> None:
        entities = ("order/one", happening.context["account"])
        read.extend(_code(partial(happening.get, entity)) for entity in entities)
        happening.transact([{"op": "update", "entity": "order/one", **SELL}])

    with_code(db, effects={"test/touch": touch})
    id = begun(db, one_step("order/moved", go={"handler": "test/touch"}), since)
    mover, eyes = account(db, "moe", "writer"), key(db, "eyes", "sue", classes=["note/Note"])
    asked = {"process": id, "transition": "go", "context": {"account": mover.account_id}}
    with pytest.raises(Forbidden):  # whatever it is about, it is out of reach
        db.call_as(eyes, "workflow.transition", asked)
    before, code = db.t, SINCE[since][2]
    if code is None:
        assert db.call_as(mover, "workflow.transition", asked).is_complete
    else:
        with pytest.raises(Forbidden) as caught:
            db.call_as(mover, "workflow.transition", asked)
        assert (caught.value.code, db.t) == (code, before)
    is_seen = since != "definer keeps notes"
    assert read == [None if is_seen else "access.out-of-scope", "entity.protected"]


def test_a_process_that_an_effect_has_started_acts_as_who_made_the_transition(
    db: sandbar.Database,
) -> None:
    after = {"after": {"seconds": 0.3, "transition": "go"}}
    db.workflows.define(one_step("order/later", after, {"effects": [SELL]}), principal="local")
    start = {"start": "order/later", "subject": {"from": "subject"}}
    spec = one_step("order/first", go={"effects": [start]})
    first = begun(db, spec)
    asked = {"workflow": "order/first", "subject": "order/one"}
    second = db.call_as(key(db, "sues-2", "sue"), "workflow.start-process", asked).process_id
    mover = key(db, "moes", account(db, "moe", "writer").principal)
    for id in (first, second):
        db.call_as(mover, "workflow.transition", {"process": id, "transition": "go"})
    revoke(db.workspace, "sue")  # who is none of it any more
    db.start_worker()
    children = db.workflows.active("order/later", is_all=True)[0]
    assert [one.started_by for one in children] == ["service/moe"] * 2
    for child in children:
        assert ended(db, child.process_id).kind == "success"
    assert db.get("order/one")["order/status"] == "sold"
    third = db.workflows.start("order/first", "order/one", principal="local").process_id
    db.call_as(mover, "workflow.transition", {"process": third, "transition": "go"})
    revoke_key(db.workspace, "moes")
    (child,) = db.workflows.active("order/later")[0]
    assert (settled(db, child.process_id).error or {})["code"] == "access.no-longer"


@pytest.mark.parametrize(
    ("who", "effect", "code"),
    [
        ("ada", SELL, None),
        ("ada", {"set": {"db/doc": "mine"}, "entity": "order/Order"}, "schema.admin-only"),
        ("gone", SELL, "access.no-longer"),
        ("nobody", SELL, "access.no-longer"),
    ],
)
def test_a_process_of_an_earlier_version_acts_as_its_starter_at_most_as_a_writer(
    db: sandbar.Database, who: str, effect: dict[str, Any], code: str | None
) -> None:
    """Then nothing was kept of who made the transition that had started it."""
    account(db, "ada", "admin")
    account(db, "gone", "admin")
    after = {"after": {"seconds": 0.3, "transition": "go"}}
    db.workflows.define(one_step("order/later", after, {"effects": [effect]}), principal="local")
    start = {"start": "order/later", "subject": "order/one"}
    db.workflows.define(one_step("order/first", go={"effects": [start]}), principal="local")
    parent = db.workflows.start("order/first", principal="local").process_id
    db.workflows.transition(parent, "go", principal=f"service/{who}")
    (child,) = db.workflows.active("order/later")[0]
    forget = {"op": "update", "entity": child.process_id, "set": {"workflow/caller": None}}
    db.workspace.transact([forget], principal="local")
    revoke(db.workspace, "gone")
    db.start_worker()
    assert (settled(db, child.process_id).error or {}).get("code") == code
