"""A client that can be asked, and may answer, is asked what its processes ask."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from sandbar.mcp import call_asking, task_asking
from sandbar.mcp.left_open import LeftOpen
from sandbar.verbs import Content, Context, NeedsInput, Text
from sandbar.workflow import Question
from tests.mcp.listening import streaming
from tests.mcp.planting import plant_in
from tests.mcp.served import MODERN, Role, Served, serving
from tests.mcp.tasking import Extension, Message, Session, refusal, until

pytestmark = pytest.mark.anyio

FORM = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
YES = types.ElicitResult(action="accept", content={"yes": True})
NO = types.ElicitResult(action="decline")
UNFIT = types.ElicitResult(action="accept", content={"yes": "maybe"})
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
START = "sandbar_workflow_start-process"
LOOKS = {"sandbar_task_get": "task-id", "sandbar_workflow_process-state": "process"}
REVISIONS = pytest.mark.parametrize("mode", ["legacy", MODERN])


def _spec(name: str, first: dict[str, Any] | None = None, **input: Any) -> dict[str, Any]:
    """A workflow that asks at once, or after what is given as its first state."""
    wanted = {"message": "Well?", "schema": FORM, "accept": "go", **input}
    asking: dict[str, Any] = {"name": "asking", "input": wanted}
    before = [{"name": "before", "initial?": True, **first}] if first is not None else []
    return {
        "name": name,
        "states": [
            *before,
            asking if before else {**asking, "initial?": True},
            {"name": "done", "terminal?": True, "terminal-kind": "success"},
            {"name": "kept", "terminal?": True, "terminal-kind": "failure"},
            {"name": "left", "terminal?": True, "terminal-kind": "cancel"},
        ],
        "transitions": [
            *([{"name": "ask", "from": "before", "to": "asking"}] if before else []),
            {"name": "go", "from": "asking", "to": "done"},
            {"name": "no", "from": "asking", "to": "kept"},
            {"name": "leave", "from": "asking", "to": "left"},
        ],
    }


SPECS = (
    _spec("ask/once", decline="no"),
    _spec("ask/firmly"),
    _spec("ask/others", decline="no", by="not-starter"),
    _spec("ask/admins", decline="no", by="admin"),
    _spec("ask/moved", {}),
    _spec("ask/timed", {"after": {"seconds": 0.1, "transition": "ask"}}),
)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with workflows that ask."""
    path: Path = tmp_path_factory.mktemp("asking") / "asking.db"
    with serving(path, packs=()) as served:
        for spec in SPECS:
            served.db.call("workflow.define", spec=spec)
        for role in ("reader", "writer", "admin"):
            served.token(role)
        yield served


@asynccontextmanager
async def _client(
    served: Served, mode: str, *answers: types.ElicitResult, role: Role = "writer"
) -> AsyncIterator[tuple[Client, list[str]]]:
    """A client whose user gives these answers, and what it was asked."""
    asked: list[str] = []

    async def on_question(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return answers[len(asked) - 1]

    async with served.client(mode, role=role, elicitation_callback=on_question) as client:
        yield client, asked


async def _call(client: Client, name: str, **arguments: Any) -> Message:
    with anyio.fail_after(20):
        result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    found: Message = result.structured_content
    return found


# --- a verb that asks -----------------------------------------------------------------------------


def _asks(context: Context, arguments: Any) -> Content | NeedsInput:
    replies = context.ask({"sure": Question("Well?", FORM)})
    if isinstance(replies, NeedsInput):
        return replies
    return Content([Text(f"{replies['sure'].action} {replies['sure'].content}")])


@REVISIONS
@pytest.mark.parametrize(
    ("reply", "told"), [(YES, "accept {'yes': True}"), (NO, "decline {}"), (None, None)]
)
async def test_a_verb_asks_whoever_calls_it(
    asking: Served,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    reply: types.ElicitResult | None,
    told: str | None,
) -> None:
    """In a session or by its result, whichever the client knows; or it says that nobody can be."""
    name = plant_in(asking, monkeypatch)("are_you_sure", _asks)
    if reply is None:
        async with asking.client(mode, role="writer") as client:
            with pytest.raises(MCPError) if mode == MODERN else nullcontext():
                refused = await client.call_tool(name, {})
                assert refused.is_error
                assert refused.structured_content["error"] == "client.capability-missing"
        return
    async with _client(asking, mode, reply) as (client, asked):
        with anyio.fail_after(20):
            result = await client.call_tool(name, {})
        assert [block.model_dump().get("text") for block in result.content] == [told]
        assert asked == ["Well?"]


# --- asked and answered ---------------------------------------------------------------------------


@REVISIONS
@pytest.mark.parametrize(("reply", "state"), [(YES, "done"), (NO, "kept")])
async def test_who_starts_a_process_that_asks_is_asked(
    asking: Served, mode: str, reply: types.ElicitResult, state: str
) -> None:
    async with _client(asking, mode, reply) as (client, asked):
        begun = await _call(client, START, workflow="ask/once")
        assert (asked, begun["state"], begun["status"]) == (["Well?"], state, "complete")
        rows = await _call(client, "sandbar_workflow_process-history", process=begun["task-id"])
        assert len(rows["history"]) == 2
        mine = await _call(client, "sandbar_task_list")
        assert begun["task-id"] not in [task["task-id"] for task in mine["tasks"]]


@REVISIONS
@pytest.mark.parametrize("name", LOOKS)
async def test_who_polls_a_process_is_asked_when_it_asks(
    asking: Served, mode: str, name: str
) -> None:
    async with _client(asking, mode, YES) as (client, asked):
        begun = await _call(client, START, workflow="ask/timed")
        assert (asked, begun["state"]) == ([], "before")
        with anyio.fail_after(10):
            seen = begun
            while seen["status"] != "complete":
                seen = await _call(client, name, **{LOOKS[name]: begun["task-id"]})
        assert (asked, seen["state"]) == (["Well?"], "done")


@REVISIONS
async def test_who_moves_a_process_on_is_asked_what_it_asks_then(asking: Served, mode: str) -> None:
    async with _client(asking, mode, YES) as (client, asked):
        begun = await _call(client, START, workflow="ask/moved")
        step = {"process": begun["process-id"], "transition": "ask"}
        moved = await _call(client, "sandbar_workflow_transition", **step)
        assert (asked, moved["state"]) == (["Well?"], "done")


@REVISIONS
async def test_an_answer_that_does_not_fit_is_asked_for_again(asking: Served, mode: str) -> None:
    async with _client(asking, mode, UNFIT, YES) as (client, asked):
        begun = await _call(client, START, workflow="ask/once")
        assert (len(asked), begun["state"]) == (2, "done")
    async with _client(asking, mode, *[UNFIT] * 4) as (client, asked):
        begun = await _call(client, START, workflow="ask/once")
        assert (len(asked), begun["state"]) == (3, "asking")


@REVISIONS
async def test_who_leaves_a_question_open_is_not_asked_at_every_look(
    asking: Served, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with _client(asking, mode, NO, YES) as (client, asked):
        begun = await _call(client, START, workflow="ask/firmly")
        assert (len(asked), begun["state"], "input" in begun) == (1, "asking", True)
        for _ in range(3):
            await _call(client, "sandbar_task_get", **{"task-id": begun["task-id"]})
        assert len(asked) == 1
        asking_again = LeftOpen()  # as if a long time had passed
        monkeypatch.setattr(LeftOpen, "holds", asking_again.holds)
        seen = await _call(client, "sandbar_task_get", **{"task-id": begun["task-id"]})
        assert (len(asked), seen["state"]) == (2, "done")


# --- not asked ------------------------------------------------------------------------------------


@REVISIONS
@pytest.mark.parametrize("workflow", ["ask/others", "ask/admins"])
async def test_who_may_not_answer_is_not_asked(asking: Served, mode: str, workflow: str) -> None:
    async with _client(asking, mode) as (client, asked):
        begun = await _call(client, START, workflow=workflow)
        assert (asked, begun["state"], begun["may-answer"]) == ([], "asking", False)
        (question,) = begun["input"].values()
        assert question["by"] == [
            workflow.removeprefix("ask/")
            .replace("others", "not-starter")
            .replace("admins", "admin")
        ]
    async with _client(asking, mode, YES, role="admin") as (client, asked):
        seen = await _call(client, "sandbar_workflow_process-state", process=begun["process-id"])
        assert (asked, seen["state"]) == (["Well?"], "done")


@REVISIONS
async def test_who_cannot_be_asked_gets_the_question_as_a_result(asking: Served, mode: str) -> None:
    async with asking.client(mode, role="writer") as client:
        begun = await _call(client, START, workflow="ask/once")
        assert list(begun["input"]) == ["answer-0"]
        told = {"process": begun["process-id"], "answers": {"answer": {"yes": True}}}
        assert (await _call(client, "sandbar_workflow_answer", **told))["state"] == "done"


def test_who_only_opens_pages_is_not_asked_forms(asking: Served) -> None:
    session = Session(asking, "writer", {"elicitation": {"url": {}}})
    call = {"name": START, "arguments": {"workflow": "ask/once"}}
    assert session.ask("tools/call", call)["result"]["structuredContent"]["state"] == "asking"


# --- by hand --------------------------------------------------------------------------------------


def test_a_call_does_not_wait_for_ever_and_a_late_answer_counts(
    asking: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_asking, "CALL_S", 0.2)
    session, questions = Session(asking, "writer", FORMS), list[Message]()
    call = {"name": START, "arguments": {"workflow": "ask/once"}}
    begun = session.ask("tools/call", call, lambda question: questions.append(question))
    shown = begun["result"]["structuredContent"]
    assert (len(questions), shown["state"]) == (1, "asking")
    look = {"name": "sandbar_task_get", "arguments": {"task-id": shown["task-id"]}}
    seen = session.ask("tools/call", look)["result"]["structuredContent"]
    assert seen["state"] == "asking", "it is being asked: nobody asks it twice"
    session.reply(questions[0], {"action": "accept", "content": {"yes": True}})
    until(lambda: asking.db.workflows.view(shown["process-id"]).state == "done")
    row = asking.db.call("audit.list", verb="workflow.answer", limit=1).entries[0]
    assert (row.principal, row.surface, row.success) == ("service/test-writer", "mcp", True)


def test_two_looks_at_once_ask_once(asking: Served) -> None:
    session, questions = Session(asking, "writer", FORMS), list[Message]()
    come = threading.Event()

    def wait(question: Message) -> None:
        questions.append(question)
        come.set()

    call = {"name": START, "arguments": {"workflow": "ask/once"}}
    answers: list[Message] = []
    starting = threading.Thread(
        target=lambda: answers.append(session.ask("tools/call", call, wait))
    )
    starting.start()
    assert come.wait(10)
    (mine,), _ = asking.db.workflows.active("ask/once", limit=1)
    look = {"name": "sandbar_workflow_process-state", "arguments": {"process": mine.process_id}}
    assert session.ask("tools/call", look)["result"]["structuredContent"]["state"] == "asking"
    session.reply(questions[0], {"action": "accept", "content": {"yes": True}})
    starting.join(10)
    assert answers[0]["result"]["structuredContent"]["state"] == "done"


def test_a_session_that_polls_a_task_is_asked_on_its_own_stream(
    asking: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_asking, "_OWN_MOVE_S", 0.05)
    handle = Session(asking, "writer").begin(START, {"workflow": "ask/once"})["taskId"]
    session = Session(asking, "writer", FORMS)
    with streaming(asking, "GET", "/mcp", headers=session.headers) as ear:
        for _ in range(3):
            assert session.ask("tasks/get", {"taskId": handle})["result"]["status"] != "working"
        _, question = ear.wait_for("elicitation/create")
        session.reply(question, {"action": "accept", "content": {"yes": True}})
        assert session.ended(handle)["status"] == "completed"
        assert ear.silent("elicitation/create")
    row = asking.db.call("audit.list", verb="task.answer", limit=1).entries[0]
    assert (row.principal, row.surface, row.success) == ("service/test-writer", "mcp", True)


def _modern(served: Served, role: Role, *, knows_tasks: bool = False) -> Extension:
    client = Extension(served, role, is_declared=knows_tasks)
    declared = client.meta["io.modelcontextprotocol/clientCapabilities"]
    assert isinstance(declared, dict)
    declared.update(FORMS)
    return client


def test_the_state_that_a_client_carries_is_its_own_and_of_its_call(asking: Served) -> None:
    writer, admin = _modern(asking, "writer"), _modern(asking, "admin")
    call = {"name": START, "arguments": {"workflow": "ask/once"}}
    result = writer.ask("tools/call", call)["result"]
    assert result["resultType"] == "input_required"
    (key,) = result["inputRequests"]
    said = {"inputResponses": {key: {"action": "accept", "content": {"yes": True}}}}
    state = {"requestState": result["requestState"]}
    other = {"name": START, "arguments": {"workflow": "ask/firmly"}}
    before = asking.db.t
    for client, params in (
        (admin, {**call, **said, **state}),
        (writer, {**other, **said, **state}),
        (writer, {**call, **said, "requestState": "sandbar/asks:started:1:0"}),
    ):
        assert client.ask("tools/call", params)["error"]["code"] == -32602
    assert asking.db.t == before
    missing = writer.ask("tools/call", {**call, **state, "inputResponses": {}})["result"]
    assert missing["resultType"] == "input_required", "what is missing is asked for again"
    done = writer.ask("tools/call", {**call, **said, **state})["result"]
    assert (done["resultType"], done["structuredContent"]["state"]) == ("complete", "done")
    again = writer.ask("tools/call", {**call, **said, **state})["result"]
    assert again["structuredContent"] == done["structuredContent"], "nothing is done twice"


def test_in_a_session_nothing_is_carried(asking: Served) -> None:
    session = Session(asking, "writer")
    call = {"name": START, "arguments": {"workflow": "ask/others"}}
    begun = session.ask("tools/call", call)["result"]["structuredContent"]
    forged = f"sandbar/asks:started:{begun['process-id']}:0"
    said = {"answer-0": {"action": "accept", "content": {"yes": True}}}
    session.ask("tools/call", {**call, "requestState": forged, "inputResponses": said})
    assert asking.db.workflows.view(begun["process-id"]).state == "asking"


def test_a_task_asks_nothing_of_who_may_not_answer(asking: Served) -> None:
    client = _modern(asking, "writer", knows_tasks=True)
    call = {"name": START, "arguments": {"workflow": "ask/others"}}
    result = client.ask("tools/call", call)["result"]
    assert result["resultType"] == "complete", "there is nothing that it could wait for"
    handle = result["structuredContent"]["task-id"]
    task = client.get(handle)
    assert (task["status"], "inputRequests" in task) == ("working", False)
    said = {"answer-0": {"action": "accept", "content": {"yes": True}}}
    params = {"taskId": handle, "inputResponses": said}
    assert refusal(client.ask("tasks/update", params, name=handle))[1] == "workflow.not-asked"


@pytest.mark.parametrize(
    ("workflow", "kind"), [("ask/once", "task"), ("ask/timed", "task"), ("ask/moved", "complete")]
)
def test_a_start_is_a_task_if_it_leads_on_by_itself(
    asking: Served, workflow: str, kind: str
) -> None:
    client = _modern(asking, "writer", knows_tasks=True)
    call = {"name": START, "arguments": {"workflow": workflow}}
    assert client.ask("tools/call", call)["result"]["resultType"] == kind
