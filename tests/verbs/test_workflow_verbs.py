"""`workflow.*` and `task.*` as callers meet them: names, arguments, answers, lists."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

import sandbar
from sandbar.errors import Incorrect, NotFound
from tests.verbs.conftest import Call, findings, refusal

BOOT = "product/mud-lord"
STATES = [
    {"name": "parcel/packed", "initial?": True},
    {"name": "parcel/delivered", "terminal?": True, "terminal-kind": "success"},
]
MOVES = [{"name": "deliver", "from": "parcel/packed", "to": "parcel/delivered"}]
PARCEL = {"name": "parcel/way", "states": STATES, "transitions": MOVES}


def order(call: Call, role: Any = "writer", **more: Any) -> dict[str, Any]:
    """Start an order."""
    given = {"workflow": "order/fulfillment", "subject": BOOT, "data": {"quantity": 2}, **more}
    started: dict[str, Any] = call("workflow.start-process", given, role=role)
    return started


def on(call: Call, process: Any, transition: str, **more: Any) -> dict[str, Any]:
    """Move a process on."""
    given = {"process": process, "transition": transition, **more}
    view: dict[str, Any] = call("workflow.transition", given, role="writer")
    return view


def test_an_order_from_wish_to_doorstep(call: Call) -> None:
    started = order(call)
    process = started["process-id"]
    assert (started["state"], started["status"]) == ("order/pending", "pending")
    assert started["hint"]
    state = call("workflow.process-state", {"process": process}, role="reader")
    assert set(state["transitions"]) >= {"confirm", "cancel"}
    for name, state_name in (
        ("confirm", "confirmed"),
        ("ship", "shipped"),
        ("deliver", "delivered"),
    ):
        view = on(call, process, name)
        assert view["state"] == f"order/{state_name}"
        state = call("workflow.process-state", {"process": process}, role="writer")
        assert view == state, "one call does, where two were needed"
    history = call("workflow.process-history", {"process": process}, role="reader")["history"]
    assert [(row["n"], row["action"]) for row in history] == [
        (0, "start"),
        (1, "confirm"),
        (2, "ship"),
        (3, "deliver"),
    ]
    assert [row.get("from") for row in history[:2]] == [None, "order/pending"]
    assert {row["actor"] for row in history} == {"test-writer"}
    task = call("task.get", {"task-id": started["task-id"]}, role="writer")
    assert (task["status"], task["kind"]) == ("complete", "success")


@pytest.mark.parametrize("key", ["process", "process-id", "process_id", "id", "task-id"])
def test_a_process_is_named_in_many_ways(call: Call, key: str) -> None:
    process = order(call)["process-id"]
    for value in (process, str(process)):
        state = call("workflow.process-state", {key: value})
        assert state["process-id"] == process


@pytest.mark.parametrize("key", ["task-id", "taskId", "task_id", "task"])
def test_a_task_is_named_in_many_ways(call: Call, key: str) -> None:
    handle = order(call)["task-id"]
    assert call("task.get", {key: handle}, role="writer")["task-id"] == handle


@pytest.mark.parametrize("key", ["workflow", "name", "definition", "ident"])
def test_a_workflow_is_named_in_many_ways(call: Call, key: str) -> None:
    found = call("workflow.find", {key: ":order/fulfillment"}, role="reader")
    assert found["workflow"] == "order/fulfillment"
    assert found["spec"]["states"][0]["name"] == "order/pending"
    assert found["diagram"].startswith("stateDiagram-v2")


def test_all_workflows_are_listed(call: Call) -> None:
    listed = call("workflow.find", role="reader")["workflows"]
    assert [one["workflow"] for one in listed] == sorted(one["workflow"] for one in listed)
    names = {one["workflow"] for one in listed}
    assert {"order/fulfillment", "validation/resource"} <= names
    assert "task/call" not in names, "nobody can start it"


def test_a_definition_comes_whole_or_by_its_members(call: Call) -> None:
    answer = call("workflow.define", {"spec": PARCEL}, role="writer")
    assert (answer["workflow"], answer["version"], answer["created"]) == ("parcel/way", 1, True)
    assert answer["states"] == ["parcel/packed", "parcel/delivered"]
    assert call("workflow.define", PARCEL, role="writer")["created"] is False
    described = call("workflow.define", {"spec": PARCEL, "description": "A parcel."}, role="writer")
    assert (described["version"], described["created"]) == (2, True)
    assert call("workflow.find", {"workflow": "parcel/way"})["spec"]["description"] == "A parcel."
    assert "description" not in call("workflow.find", {"name": "parcel/way", "version": 1})["spec"]
    assert refusal(call, "workflow.define", {}).code == "arguments.invalid"


def test_what_a_definition_lacks_is_told_beside_the_answer(call: Call) -> None:
    assert "warnings" not in call("workflow.define", {"spec": PARCEL})
    moves = [{**MOVES[0], "handler": "parcel/ring", "effects": [{"set": {"parcel/none": 1}}]}]
    answer = call("workflow.define", {"spec": {**PARCEL, "transitions": moves}})
    assert answer["created"] is True
    assert [one["at"] for one in answer["warnings"]] == [
        "transitions[0].effects[0].set",
        "transitions[0].handler",
    ]
    assert all(one["message"] for one in answer["warnings"])


def test_a_guard_tells_what_it_wants(call: Call) -> None:
    guard = "context.signed"
    call("workflow.define", {"spec": {**PARCEL, "transitions": [{**MOVES[0], "guard": guard}]}})
    started = call("workflow.start-process", {"workflow": "parcel/way"})
    assert started.get("transitions", []) == []
    process = started["process-id"]
    state = call("workflow.process-state", {"process": process})
    assert (state["transitions"], state["blocked"]) == ([], {"deliver": guard})
    given = {"process": process, "transition": "deliver"}
    problem = refusal(call, "workflow.transition", given)
    assert (problem.code, problem.data["transition"]) == ("workflow.guard-refused", "deliver")
    assert on(call, process, "deliver", context={"signed": True})["kind"] == "success"


def test_a_history_comes_in_pages(call: Call, zorp: sandbar.Database) -> None:
    """Each page reads its own rows only."""
    process = order(call)["process-id"]
    for n in range(6):
        for verb in ("workflow.pause", "workflow.resume"):
            call(verb, {"process": process, "reason": f"{n}"})
    asked: list[int] = []
    query = type(zorp.workspace).query

    def counted(*args: Any, **more: Any) -> Any:
        page = query(*args, **more)
        asked.append(len(page.items))
        return page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(zorp.workspace), "query", counted)
        given: dict[str, Any] = {"process": process, "limit": 5}
        pages = [call("workflow.process-history", given)]
        while "cursor" in pages[-1]:
            more = {**given, "cursor": pages[-1]["cursor"]}
            pages.append(call("workflow.process-history", more))
    assert asked == [5, 5, 3]
    rows = [row for page in pages for row in page["history"]]
    assert [row["n"] for row in rows] == list(range(13))
    assert rows == call("workflow.process-history", {"process": process})["history"]
    other = order(call)["process-id"]
    wrong = {"process": other, "limit": 5, "cursor": pages[0]["cursor"]}
    assert refusal(call, "workflow.process-history", wrong).code.startswith("cursor.")


def test_a_page_of_history_that_nobody_asked_to_be_long_fits(call: Call) -> None:
    process = order(call)["process-id"]
    for _ in range(15):
        for verb in ("workflow.pause", "workflow.resume"):
            call(verb, {"process": process, "reason": "x" * 2000})
    first = call("workflow.process-history", {"process": process})
    assert 1 < len(first["history"]) < 31
    rest = call("workflow.process-history", {"process": process, "cursor": first["cursor"]})
    seen = [row["n"] for row in first["history"] + rest["history"]]
    assert seen[: len(seen)] == list(range(len(seen)))
    assert len(rest["history"]) > 1


def test_everything_that_is_wrong_with_a_definition_is_told(call: Call) -> None:
    wrong = {
        "name": "parcel/way",
        "states": [{"name": "a/b", "terminal?": True}, {"name": "a/b"}],
        "transitions": [{"name": "x", "from": "a/b", "to": "a/c", "guard": "1 +"}],
    }
    problem = refusal(call, "workflow.define", {"spec": wrong}, role="writer")
    assert (type(problem), problem.code) == (Incorrect, "workflow.invalid")
    codes = {one["code"] for one in problem.data["findings"]}
    assert {
        "workflow.terminal-without-kind",
        "workflow.repeated-state",
        "workflow.no-initial",
        "workflow.unknown-state",
    } <= codes


def test_readers_look_and_do_not_touch(call: Call) -> None:
    process = order(call)["process-id"]
    reader: Any = {"role": "reader"}
    for verb, arguments in (
        ("workflow.define", {"spec": PARCEL}),
        ("workflow.start-process", {"workflow": "order/fulfillment"}),
        ("workflow.transition", {"process": process, "transition": "confirm"}),
        ("workflow.pause", {"process": process}),
        ("workflow.resume", {"process": process}),
        ("workflow.answer", {"process": process}),
        ("task.cancel", {"task-id": "x"}),
    ):
        assert refusal(call, verb, arguments, **reader).code == "verb.forbidden", verb
    for verb, arguments in (
        ("workflow.find", {"workflow": "order/fulfillment"}),
        ("workflow.process-state", {"process": process}),
        ("workflow.process-history", {"process": process}),
        ("workflow.active-processes", {}),
        ("workflow.stats", {"workflow": "order/fulfillment"}),
        ("task.list", {}),
    ):
        call(verb, arguments, **reader)


def test_what_one_may_not_see_one_may_not_start_with(call: Call, zorp: sandbar.Database) -> None:
    sandbar.access.install_access(zorp.workspace)
    made = sandbar.access.add_account(zorp.workspace, "root", role="admin")
    account = made.account.entity_id
    call("workflow.define", {"spec": PARCEL})
    for subject in (account, {"auth/service-name": "service/root"}, "auth/ServiceAccount-x"):
        given = {"workflow": "parcel/way", "subject": subject}
        code = refusal(call, "workflow.start-process", given, role="writer").code
        assert code == "entity.protected"
    given = {"workflow": "parcel/way", "subject": account}
    assert call("workflow.start-process", given, role="admin")["process-id"]


def test_a_process_asks_and_is_answered(call: Call) -> None:
    process = order(call)["process-id"]
    for name in ("confirm", "ship"):
        on(call, process, name)
    view = on(call, process, "ask-refund", reason="too small")
    (key,) = view["input"]
    assert view["input"][key]["schema"]["properties"].keys() == {"approve"}
    wrong = {"process": process, "answers": {key: {"approve": "perhaps"}}}
    problem = refusal(call, "workflow.answer", wrong, role="writer")
    assert (problem.code, problem.data["findings"][0]["at"]) == (
        "workflow.answer-invalid",
        "answers.answer.approve",
    )
    declined = call("workflow.answer", {"process": process, "action": "decline"}, role="writer")
    assert declined["state"] == "order/shipped"
    again = on(call, process, "ask-refund", reason="much too small")
    (other,) = again["input"]
    assert other != key
    right = {"process": process, "answers": {other: {"approve": True}}}
    assert call("workflow.answer", right, role="writer")["kind"] == "failure"
    assert refusal(call, "workflow.answer", right).code == "workflow.nothing-asked"
    assert (
        refusal(call, "workflow.answer", {**right, "action": "maybe"}).code == "arguments.invalid"
    )


def test_pausing_and_going_on(call: Call) -> None:
    process = order(call)["process-id"]
    assert call("workflow.pause", {"process": process, "reason": "lunch"})["paused"] is True
    asked = {"process": process, "transition": "confirm"}
    assert refusal(call, "workflow.transition", asked).code == "workflow.paused"
    assert "paused" not in call("workflow.resume", {"process": process})
    assert on(call, process, "confirm")["state"] == "order/confirmed"


def test_starting_can_be_retried(call: Call) -> None:
    first = order(call, **{"idempotency-key": "k"})
    assert order(call, **{"idempotency-key": "k"})["task-id"] == first["task-id"]
    given = {"workflow": "order/fulfillment", "data": {"quantity": 3}, "idempotency-key": "k"}
    problem = refusal(call, "workflow.start-process", given, role="writer")
    assert problem.code == "idempotency.mismatch"
    # The key of one caller is nothing to another.
    assert order(call, "admin", **{"idempotency-key": "k"})["process-id"] != first["process-id"]


def test_wrong_arguments_are_all_told(call: Call) -> None:
    problem = refusal(call, "workflow.start-process", {"subject": [], "data": 5, "other": 1})
    assert problem.code == "arguments.invalid"
    assert {name for name, _ in findings(problem)} == {"workflow", "subject", "data", "other"}


@pytest.mark.parametrize("workflow", ["order/fulfilment", "order/fulfillmnt"])
def test_a_misspelt_workflow_is_guessed(call: Call, workflow: str) -> None:
    for verb in ("workflow.find", "workflow.stats", "workflow.active-processes"):
        problem = refusal(call, verb, {"workflow": workflow})
        assert (type(problem), problem.code) == (NotFound, "workflow.unknown")
        assert "order/fulfillment" in str(problem.hint)


# --- lists and counts ------------------------------------------------------------------------


def test_active_processes_come_in_pages_newest_first(call: Call) -> None:
    call("workflow.define", {"spec": PARCEL})
    begun = [order(call)["process-id"] for _ in range(5)]
    call("workflow.start-process", {"workflow": "parcel/way"})
    on(call, begun[2], "cancel")
    given: dict[str, Any] = {"workflow": "order/fulfillment", "limit": 3}
    first = call("workflow.active-processes", given)
    second = call("workflow.active-processes", {**given, "cursor": first["cursor"]})
    seen = [one["process-id"] for one in first["processes"] + second["processes"]]
    assert seen == [begun[4], begun[3], begun[1], begun[0]]
    assert len(first["processes"]) == 3
    assert second.get("cursor") is None
    assert len(call("workflow.active-processes")["processes"]) == 5


def test_all_versions_of_a_workflow_are_listed_together(call: Call) -> None:
    call("workflow.define", {"spec": PARCEL})
    old = call("workflow.start-process", {"workflow": "parcel/way"})["process-id"]
    call("workflow.define", {"spec": {**PARCEL, "description": "Another."}})
    new = call("workflow.start-process", {"workflow": "parcel/way"})["process-id"]
    listed = call("workflow.active-processes", {"workflow": "parcel/way"})["processes"]
    assert [(one["process-id"], one["version"]) for one in listed] == [(new, 2), (old, 1)]
    stats = call("workflow.stats", {"workflow": "parcel/way"})
    assert (stats["total"], stats["by-state"]["parcel/packed"], stats["version"]) == (2, 2, 2)


def test_a_list_of_tasks_is_the_callers(call: Call) -> None:
    mine = [order(call, "writer")["task-id"] for _ in range(3)]
    theirs = order(call, "admin")["task-id"]
    call("task.cancel", {"task-id": mine[0]}, role="writer")
    listed = call("task.list", role="writer")["tasks"]
    assert [one["task-id"] for one in listed] == [mine[2], mine[1]]
    everything = call("task.list", {"all": True}, role="writer")["tasks"]
    assert [one["task-id"] for one in everything] == [mine[2], mine[1], mine[0]]
    assert [one["task-id"] for one in call("task.list", role="admin")["tasks"]] == [theirs]
    assert call("task.list", role="reader")["tasks"] == []
    page = call("task.list", {"all": True, "limit": 2}, role="writer")
    rest = call("task.list", {"all": True, "limit": 2, "cursor": page["cursor"]}, role="writer")
    assert [one["task-id"] for one in page["tasks"] + rest["tasks"]] == [mine[2], mine[1], mine[0]]


def test_stats_count_and_time(call: Call) -> None:
    begun = [order(call)["process-id"] for _ in range(4)]
    on(call, begun[0], "confirm")
    call("workflow.pause", {"process": begun[0]})
    call("workflow.resume", {"process": begun[0]})
    on(call, begun[0], "ship")
    on(call, begun[1], "cancel")
    stats = call("workflow.stats", {"workflow": "order/fulfillment"}, role="reader")
    assert (stats["total"], stats["active"], stats["completed"]) == (4, 3, 1)
    by_state = stats["by-state"]
    assert {name: count for name, count in by_state.items() if count} == {
        "order/pending": 2,
        "order/shipped": 1,
        "order/cancelled": 1,
    }
    assert by_state["order/delivered"] == 0  # states without a process are named, too
    assert stats["sampled"] == 4
    history = call("workflow.process-history", {"process": begun[0]})["history"]
    assert [row["action"] for row in history] == ["start", "confirm", "pause", "resume", "ship"]
    assert stats["seconds-in-state"].keys() == {"order/pending", "order/confirmed"}
    # A rest is part of the time in a state, not the beginning of another.
    confirmed, shipped = history[1]["at"], history[4]["at"]
    took_s = (sandbar.clock.us_of_text(shipped) - sandbar.clock.us_of_text(confirmed)) / 1e6
    assert stats["seconds-in-state"]["order/confirmed"] == round(took_s, 3)


def test_a_workspace_that_never_had_a_workflow_answers_as_well(tmp_path: Any) -> None:
    with sandbar.open(str(tmp_path / "empty.db")) as db:
        assert db.call("workflow.active-processes").processes == []
        assert db.call("task.list", all=True).tasks == []
        ours = db.call("workflow.find").workflows
        assert [one["workflow"] for one in ours] == ["validation/resource"]
        assert db.call("workflow.find", workflow="validation/resource").diagram
        for verb in ("workflow.process-state", "workflow.process-history"):
            with pytest.raises(NotFound) as caught:
                db.call(verb, process=1)
            assert caught.value.code == "process.unknown"
        with pytest.raises(NotFound) as caught:
            db.call("task.get", {"task-id": "1-" + "0" * 32})
        assert caught.value.code == "task.unknown"


# --- searching -----------------------------------------------------------------------------------


def found(call: Call, role: Any = "admin", **more: Any) -> set[str]:
    """The classes of what a search for orders finds."""
    hits = call("search.text", {"query": "order*", "limit": 100, **more}, role=role)["hits"]
    return {hit["class"] for hit in hits}


def test_processes_are_not_in_the_way_of_what_is_sought(call: Call) -> None:
    for _ in range(60):
        on(call, order(call)["process-id"], "confirm", reason="an order like any other")
    for role in ("admin", "reader"):
        assert "workflow/Definition" in found(call, role)
        records = {f"workflow/{name}" for name in ("History", "Process", "State", "Transition")}
        assert found(call, role) & records == set()
        assert found(call, role, **{"class": "dt/Resource"}) & records == set()
        for name in ("workflow/History", ":workflow/History", "workflow/State"):
            assert found(call, role, **{"class": name}) == {name.removeprefix(":")}


def test_a_class_below_those_is_found_by_its_name(zorp: sandbar.Database, call: Call) -> None:
    """Like the classes above it, and no better."""
    zorp.define(classes={"my/Step": {"dt/subclass-of": ["workflow/State"]}})
    zorp.workspace.transact(
        [{"op": "create", "class": "my/Step", "slots": {"workflow/name": "order-of-mine"}}],
        principal="tests",
    )
    assert "my/Step" not in found(call)
    assert found(call, **{"class": "my/Step"}) == {"my/Step"}
    assert "my/Step" in found(call, **{"class": "workflow/State"})


def test_a_workspace_that_knows_no_workflows_is_searched_as_well(address: str) -> None:
    with sandbar.open(address, f"test-{uuid4()}") as db:
        assert "workflow/History" not in db.schema.classes()
        db.define(classes={"my/Order": {}})
        hits = db.call("search.text", query='"order"').hits
        assert [hit.ident for hit in hits] == ["my/Order"]
        assert db.call("search.text", {"query": '"order"', "class": "dt/Class"}).hits == hits
        assert "workflow/History" not in db.schema.classes(), "looking installs nothing"
