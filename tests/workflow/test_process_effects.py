"""What transitions change besides the state: all of it in one transaction, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

import sandbar
from sandbar.access import add_account, install_access
from sandbar.errors import Conflict, Fault, Forbidden, Incorrect, NotFound, Problem
from sandbar.workflow import Happening, ProcessView
from sandbar.workflow.budgets import Budget
from sandbar.workflow.effects import resolved
from tests.workflow.orders import (
    PLAIN,
    WRITER,
    begin,
    move,
    one_step,
    path_of,
    refusal,
    with_code,
)


def effecting(*effects: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A workflow whose transition `go` has these effects."""
    return one_step("order/effects", go={"effects": list(effects), **more})


def notes(db: sandbar.Database) -> list[str]:
    """The texts of all notes, in the order in which they were made."""
    return [note["note/text"] for note in db.query("note/Note").items]


def test_set_changes_the_subject_or_a_named_entity(db: sandbar.Database) -> None:
    db.create("order/Order", {"db/ident": "order/two", "order/total": 5})
    spec = effecting(
        {"set": {"order/status": "sold", "order/total": None}},
        {"set": {"order/status": "noticed"}, "entity": "order/two"},
        {"set": {"order/code": "C"}, "entity": {"from": "context.other"}},
    )
    id = begin(db, spec, "order/one")
    before = db.t
    move(db, id, "go", context={"other": db.get("order/two").entity_id})
    assert db.t == before + 1
    one, two = db.get("order/one"), db.get("order/two")
    assert one["order/status"] == "sold"
    assert "order/total" not in one.slots
    assert (two["order/status"], two["order/code"]) == ("noticed", "C")
    assert one.t == two.t == db.workflows.view(id).t


def test_create_makes_an_entity_with_what_is_read(db: sandbar.Database) -> None:
    slots = {
        "note/text": {"from": "reason"},
        "note/about": {"from": "subject"},
        "note/n": {"from": "data.lines.1.n"},
    }
    id = begin(db, effecting({"create": "note/Note", "slots": slots}), "order/one")
    move(db, id, "go", reason="because", data={"lines": [{"n": 1}, {"n": 2}]})
    (note,) = db.query("note/Note").items
    assert (note["note/text"], note["note/about"], note["note/n"]) == ("because", "order/one", 2)
    assert db.history(note.entity_id)[0].principal == "ann"


def test_every_path_reads_what_it_says(lite: sandbar.Database) -> None:
    names = ["process", "subject", "actor", "now", "reason", "data.a.b", "context.c"]
    read = {name.replace(".", "-"): {"from": name} for name in names}
    spec = effecting({"data": {"read": read, "plain": {"from": "actor", "x": 1}}})
    id = begin(lite, spec, "order/one", a={"b": [1]})
    view = move(lite, id, "go", reason="why", context={"c": {"from": "actor"}})
    found = view.data["read"]
    assert found["process"] == id
    assert found["subject"] == lite.get("order/one").entity_id
    assert (found["actor"], found["reason"], found["data-a-b"]) == ("ann", "why", [1])
    assert found["now"] == view.completed_at
    assert found["context-c"] == {"from": "actor"}  # what was read is not read again
    assert view.data["plain"] == {"from": "actor", "x": 1}


def test_effects_happen_in_their_order(lite: sandbar.Database) -> None:
    spec = effecting(
        {"data": {"n": 1}},
        {"create": "note/Note", "slots": {"note/text": "first", "note/n": {"from": "data.n"}}},
        {"data": {"n": 2}},
        {"create": "note/Note", "slots": {"note/text": "second", "note/n": {"from": "data.n"}}},
    )
    id = begin(lite, spec, n=0)
    assert move(lite, id, "go").data == {"n": 2}
    made = [(note["note/text"], note["note/n"]) for note in lite.query("note/Note").items]
    assert made == [("first", 1), ("second", 2)]


FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "a value that is refused": ({"set": {"order/total": -1}}, "value.out-of-bounds"),
    "a required slot is missing": ({"create": "note/Note", "slots": {}}, "entity.invalid"),
    "an unknown class": ({"create": "note/None"}, "class.unknown"),
    "an unknown entity": ({"set": {"order/status": "x"}, "entity": "order/none"}, "entity.unknown"),
    "nothing at the path": ({"data": {"x": {"from": "context.x"}}}, "workflow.effect-path"),
    "an unknown workflow": ({"start": "order/none"}, "workflow.unknown"),
    "data that does not fit": ({"data": {"n": "text"}}, "process.data-invalid"),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_effect_that_fails_undoes_everything(db: sandbar.Database, name: str) -> None:
    failing, code = FAILING[name]
    other = one_step("order/other", {"after": {"seconds": 3600, "transition": "go"}})
    db.workflows.define(other, principal="ann")
    spec = effecting(
        {"set": {"order/status": "sold"}},
        {"create": "note/Note", "slots": {"note/text": "made"}},
        {"start": "order/other"},
        failing,
    )
    spec["data-schema"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    id = begin(db, spec, "order/one")
    before, view = db.t, db.workflows.view(id)
    problem = refusal(lambda: move(db, id, "go"))
    assert problem.code == code, problem
    if name != "data that does not fit":  # which is looked at when all effects are done
        assert problem.data["at"] == "transitions.go.effects[3]"
        assert problem.message.endswith("(in transitions.go.effects[3])")
        assert problem.hint
    assert db.t == before
    assert db.workflows.view(id) == view
    assert path_of(db, id) == [("start", "step/first")]
    assert db.get("order/one")["order/status"] == "new"
    assert notes(db) == []
    assert [one.entity_id for one in db.query("workflow/Process").items] == [id]
    assert db._store.jobs.next_due_s() is None or db._store.jobs.next_due_s() > 3600  # type: ignore[operator]


def test_a_subject_that_is_missing_is_told(lite: sandbar.Database) -> None:
    id = begin(lite, effecting({"set": {"order/status": "sold"}}))
    problem = refusal(lambda: move(lite, id, "go"))
    assert (type(problem), problem.code) == (Conflict, "workflow.no-subject")


# --- what effects may not touch --------------------------------------------------------------

FORBIDDEN: dict[str, dict[str, Any]] = {
    "an account": {"set": {"auth/roles": ["admin"]}, "entity": {"from": "context.account"}},
    "a new account": {"create": "auth/ServiceAccount", "slots": {"auth/roles": ["admin"]}},
    "a pack": {"create": "pack/Pack", "slots": {"db/ident": "pack/evil"}},
    "a class that exists": {"set": {"db/doc": "mine"}, "entity": "order/Order"},
    "a property that exists": {"set": {"dt/min": None}, "entity": "order/total"},
    "a process": {"set": {"workflow/data": {"x": 1}}, "entity": {"from": "process"}},
    "the subject of a process": {
        "set": {"workflow/subject": "order/one"},
        "entity": {"from": "process"},
    },
    "a new process": {
        "create": "workflow/Process",
        "slots": {
            "workflow/definition": "order/effects",
            "workflow/current-state": {"from": "context.state"},
            "workflow/started-at": "2026-01-01T00:00:00Z",
            "workflow/started-by": "nobody",
        },
    },
    "history": {"create": "workflow/History", "slots": {"workflow/process": {"from": "process"}}},
    "a definition": {"set": {"db/doc": "x"}, "entity": "order/effects"},
    "about an account": {"start": "order/plain", "subject": {"from": "context.account"}},
}


HOUSES_OWN = ("a process", "the subject of a process", "a new process", "history", "a definition")


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("way", ["data", "code"])
@pytest.mark.parametrize("writer", ["definer", "mover", "neither"])
def test_effects_touch_only_what_mover_and_definer_may(
    lite: sandbar.Database, name: str, way: str, writer: str
) -> None:
    """Both have to be admins; and what is the house's own is not touched even so."""
    install_access(lite.workspace)
    lite.load_pack("zorp")
    account = add_account(lite.workspace, "root", role="admin").account.entity_id
    effect = FORBIDDEN[name]
    if way == "code" and "start" in effect:
        return  # code starts no processes
    if way == "code":
        with_code(lite, effects={"test/touch": lambda happening: _as_code(happening, effect)})
    lite.workflows.define(PLAIN, principal="boss")
    more = {"handler": "test/touch"} if way == "code" else {"effects": [effect]}
    spec = one_step("order/effects", go=more)
    lite.workflows.define(spec, principal="ann", caller=WRITER if writer == "definer" else None)
    id = begin(lite, spec)
    before = lite.t
    context = {"account": account, "state": lite.get("order/effects")["workflow/states"][0]}

    def go() -> ProcessView:
        caller = WRITER if writer == "mover" else None
        return lite.workflows.transition(id, "go", principal="bob", context=context, caller=caller)

    if writer == "neither" and name not in HOUSES_OWN:
        if name != "a new account":  # which lacks a name
            assert go().is_complete
        return
    problem = refusal(go)
    assert type(problem) is Forbidden, problem
    assert problem.code in ("entity.protected", "schema.admin-only")
    if way == "data":
        assert "both their mover and ann" in str(problem.hint)
    assert lite.t == before


def _as_code(happening: Happening, effect: dict[str, Any]) -> None:
    scope = {"process": happening.process.process_id, "context": happening.context}
    said = resolved(effect, scope, Budget())
    if "create" in said:
        operation = {"op": "create", "class": said["create"], "slots": said.get("slots", {})}
    else:
        operation = {"op": "update", "entity": said["entity"], "set": said["set"]}
    happening.transact([operation])


def test_an_effect_may_define_what_a_writer_may(lite: sandbar.Database) -> None:
    """The control of the test above: the same roads are open for other things."""
    spec = effecting({"create": "dt/Class", "slots": {"db/ident": "mine/Thing"}})
    lite.workflows.define(spec, principal="ann", caller=WRITER)
    move(lite, begin(lite, spec), "go", caller=WRITER)
    assert "mine/Thing" in lite.schema.classes()


# --- effects by code -------------------------------------------------------------------------


def test_code_is_part_of_the_transition(db: sandbar.Database) -> None:
    seen: list[Any] = []

    def tell(happening: Happening) -> None:
        order = happening.get("order/one")
        seen.append((happening.process.state, happening.transition, happening.actor))
        seen.append((happening.reason, dict(happening.context), order["order/status"]))
        text = {"note/text": f"{order['order/status']} by code"}
        happening.transact([{"op": "create", "class": "note/Note", "slots": text}])

    with_code(db, effects={"test/tell": tell})
    spec = effecting({"set": {"order/status": "sold"}}, handler="test/tell")
    id = begin(db, spec, "order/one")
    before = db.t
    move(db, id, "go", reason="why", context={"a": 1})
    assert db.t == before + 1
    assert notes(db) == ["sold by code"]  # after the effects that are data, and it sees them
    assert seen[-2:] == [("step/first", "go", "ann"), ("why", {"a": 1}, "sold")]


@pytest.mark.parametrize("error", [Conflict("test.no", "no"), KeyError("secret"), ValueError()])
def test_code_that_fails_undoes_everything(
    db: sandbar.Database, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(happening: Happening) -> None:
        happening.transact([{"op": "create", "class": "note/Note", "slots": {"note/text": "x"}}])
        raise error

    with_code(db, effects={"test/fail": fail})
    id = begin(db, effecting({"set": {"order/status": "sold"}}, handler="test/fail"), "order/one")
    before = db.t
    problem = refusal(lambda: move(db, id, "go"))
    assert db.t == before
    assert (notes(db), db.get("order/one")["order/status"]) == ([], "new")
    if isinstance(error, Problem):
        assert problem.code == "test.no"
    else:
        assert (type(problem), problem.code) == (Fault, "workflow.effect-failed")
        assert problem.data["id"] in caplog.text
        assert "secret" not in problem.message + caplog.text


def test_code_that_is_not_here_is_told(lite: sandbar.Database) -> None:
    id = begin(lite, effecting(handler="test/none"))
    problem = refusal(lambda: move(lite, id, "go"))
    assert (type(problem), problem.code) == (Conflict, "workflow.no-handler")
    assert lite.workflows.view(id).state == "step/first"


# --- processes that start processes ----------------------------------------------------------


def test_a_chained_process_knows_who_started_it(db: sandbar.Database) -> None:
    db.workflows.define(PLAIN, principal="ann")
    start = {
        "start": "order/plain",
        "subject": {"from": "subject"},
        "data": {"from-parent": {"from": "data.n"}},
    }
    db.workflows.define(effecting(start), principal="ann")
    caller = {"account": 7, "role": "writer"}
    parent = db.workflows.start(
        "order/effects", "order/one", {"n": 5}, principal="ann", caller=caller
    )
    move(db, parent.process_id, "go")
    (child,) = db.workflows.active("order/plain")[0]
    assert (child.parent, child.data, child.subject) == (
        parent.process_id,
        {"from-parent": 5},
        "order/one",
    )
    assert child.started_by == "ann"
    (row,) = db.workflows.history(child.process_id)
    assert (row.action, row.actor) == ("start", "ann")
    assert str(parent.process_id) in str(row.reason)
    # It acts as the mover does, who has the database here, and not as the parent's starter.
    kept = {"account": None, "key": None, "principal": "ann", "role": "admin", "via": "local"}
    assert db.get(child.process_id)["workflow/caller"] == kept
    assert row.t == db.workflows.view(parent.process_id).t


def test_whoever_moves_a_process_on_does_not_get_the_rights_of_who_started_it(
    lite: sandbar.Database,
) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    lite.workflows.define(effecting({"start": "order/plain"}), principal="ann")
    caller = {"account": 7, "role": "admin"}
    parent = lite.workflows.start("order/effects", principal="ann", caller=caller)
    lite.workflows.transition(parent.process_id, "go", principal="mallory", caller=WRITER)
    (child,) = lite.workflows.active("order/plain")[0]
    assert child.started_by == "mallory"
    kept = lite.get(child.process_id)["workflow/caller"]
    assert kept == {**WRITER, "principal": "mallory"}


def test_a_chain_has_an_end(lite: sandbar.Database) -> None:
    spec = effecting({"start": "order/effects"})
    id = begin(lite, spec)
    for depth in range(10):
        move(lite, id, "go")
        (child,) = lite.workflows.active("order/effects")[0]
        id = child.process_id
        assert lite.get(id)["workflow/depth"] == depth + 1
    problem = refusal(lambda: move(lite, id, "go"))
    assert (type(problem), problem.code) == (Incorrect, "workflow.too-deep")
    assert lite.workflows.view(id).state == "step/first"


def test_a_child_about_what_is_not_there_is_refused(lite: sandbar.Database) -> None:
    lite.workflows.define(PLAIN, principal="ann")
    id = begin(lite, effecting({"start": "order/plain", "subject": "order/none"}))
    assert type(refusal(lambda: move(lite, id, "go"))) is NotFound
