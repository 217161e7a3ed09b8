"""Tasks of 2025-11-25: the client wishes for one, and asks for its result."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.mcp.served import Role, Served
from tests.mcp.tasking import NOBODYS, RELATED, YES, Message, Session, reason, refusal

ELICITS: Message = {"elicitation": {"form": {}}}
METHODS = ("tasks/get", "tasks/result", "tasks/cancel")


@pytest.fixture(scope="module")
def session(tasked: Served) -> Session:
    """An administrator's session that can be asked."""
    return Session(tasked, capabilities=ELICITS)


# --- what is offered ------------------------------------------------------------------------------


def test_the_handshake_offers_tasks(session: Session) -> None:
    offered = session.welcome["capabilities"]
    assert offered["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert "extensions" not in offered


def test_tools_say_whether_they_can_be_tasks(session: Session) -> None:
    tools = session.ask("tools/list")["result"]["tools"]
    support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in tools}
    assert support["slow_compute"] == "optional"
    assert support["failing_job"] == "required"
    assert support["sandbar_workflow_start-process"] == "optional"
    assert support["sandbar_entity_find"] is None


# --- a task begins --------------------------------------------------------------------------------


def test_a_call_becomes_a_task(session: Session) -> None:
    task = session.begin("slow_compute", {"seconds": 0.2, "label": "tide"})
    assert task["status"] == "working"
    assert task["ttl"] is None
    assert task["pollInterval"] > 0
    assert task["createdAt"] <= task["lastUpdatedAt"]
    ended = session.ended(task["taskId"])
    assert ended["status"] == "completed"
    assert ended["taskId"] == task["taskId"]
    assert ended["createdAt"] == task["createdAt"] < ended["lastUpdatedAt"]


@pytest.mark.parametrize(
    ("name", "more"), [("sandbar_entity_find", {"task": {}}), ("failing_job", {})]
)
def test_the_wish_must_fit_the_tool(session: Session, name: str, more: dict[str, Any]) -> None:
    answer = session.ask("tools/call", {"name": name, "arguments": {}, **more})
    assert refusal(answer) == (-32601, "method.unknown")


def test_an_unknown_tool_is_unknown_as_a_task_too(session: Session) -> None:
    answer = session.ask("tools/call", {"name": "no_such", "arguments": {}, "task": {}})
    assert refusal(answer) == (-32602, "verb.unknown")
    assert "available-tools" in answer["error"]["data"]


def test_wrong_arguments_are_refused_or_fail_the_task(session: Session) -> None:
    params = {"name": "slow_compute", "arguments": {"seconds": "soon"}, "task": {}}
    answer = session.ask("tools/call", params)
    assert refusal(answer)[0] == -32602


def test_without_the_wish_a_long_call_is_just_a_call(session: Session) -> None:
    answer = session.ask("tools/call", {"name": "slow_compute", "arguments": {"seconds": 0.1}})
    assert answer["result"]["content"][0]["text"] == "Computed  in 0.1 s"


# --- its result -----------------------------------------------------------------------------------


def test_the_result_is_waited_for(session: Session) -> None:
    task = session.begin("slow_compute", {"seconds": 0.5, "label": "tide"})
    begun = time.monotonic()
    result = session.ask("tasks/result", {"taskId": task["taskId"]})["result"]
    assert 0.2 < time.monotonic() - begun < 5
    assert result["content"] == [{"type": "text", "text": "Computed tide in 0.5 s"}]
    assert result["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    assert "resultType" not in result
    again = session.ask("tasks/result", {"taskId": task["taskId"]})["result"]
    assert again == result


def test_a_tool_that_fails_is_a_failed_task_with_a_result(session: Session) -> None:
    task = session.begin("failing_job")
    result = session.ask("tasks/result", {"taskId": task["taskId"]})["result"]
    assert result["isError"] is True
    ended = session.ended(task["taskId"])
    assert (ended["status"], ended["statusMessage"]) == ("failed", "This job always fails")


def test_a_defect_is_an_error_of_the_protocol(session: Session) -> None:
    task = session.begin("protocol_error_job")
    answer = session.ask("tasks/result", {"taskId": task["taskId"]})
    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"]["code"] == "verb.failed"
    assert session.ended(task["taskId"])["status"] == "failed"


def test_the_result_of_a_cancelled_task_says_so(session: Session) -> None:
    task = session.begin("slow_compute", {"seconds": 60})
    waiting: list[Message] = []
    thread = threading.Thread(
        target=lambda: waiting.append(session.ask("tasks/result", {"taskId": task["taskId"]}))
    )
    thread.start()
    time.sleep(0.2)
    session.ask("tasks/cancel", {"taskId": task["taskId"]})
    thread.join(5)
    assert waiting[0]["result"]["isError"] is True
    assert waiting[0]["result"]["structuredContent"]["kind"] == "cancel"


# --- what it asks ---------------------------------------------------------------------------------


def test_the_wait_for_the_result_asks(session: Session) -> None:
    task = session.begin("confirm_delete", {"filename": "a.txt"})
    assert task["status"] == "input_required"
    questions: list[Message] = []

    def answering(question: Message) -> Message:
        questions.append(question)
        return YES

    result = session.ask("tasks/result", {"taskId": task["taskId"]}, answering)["result"]
    assert result["content"][0]["text"] == "Deleted a.txt, or so it seems"
    (question,) = questions
    assert question["method"] == "elicitation/create"
    assert question["params"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    assert question["params"]["requestedSchema"]["required"] == ["confirm"]


def test_who_declines_is_told_what_came_of_it(session: Session) -> None:
    task = session.begin("confirm_delete")
    params = {"taskId": task["taskId"]}
    result = session.ask("tasks/result", params, lambda question: {"action": "decline"})["result"]
    assert result["isError"] is True
    assert session.ended(task["taskId"])["status"] == "failed"


def test_who_answers_wrongly_is_asked_again(session: Session) -> None:
    task = session.begin("confirm_delete")
    wrong = {"action": "accept", "content": {"confirm": "maybe"}}
    answers = iter([wrong, wrong, YES])
    answer = session.ask("tasks/result", {"taskId": task["taskId"]}, lambda _: next(answers))
    assert "result" in answer
    assert next(answers, None) is None


def test_but_not_for_ever(session: Session) -> None:
    """After three wrong answers the task goes on waiting, for another answer or its end."""
    task = session.begin("confirm_delete")
    params = {"taskId": task["taskId"]}
    asked: list[Message] = []

    def wrongly(question: Message) -> Message:
        asked.append(question)
        if len(asked) == 3:
            threading.Timer(0.3, session.ask, ["tasks/cancel", params]).start()
        return {"action": "accept", "content": {"confirm": "maybe"}}

    answer = session.ask("tasks/result", params, wrongly)
    assert (answer["result"]["isError"], len(asked)) == (True, 3)


def test_who_cannot_be_asked_is_not(tasked: Served) -> None:
    mute = Session(tasked)
    task = mute.begin("confirm_delete")
    waiting: list[Message] = []
    thread = threading.Thread(
        target=lambda: waiting.append(mute.ask("tasks/result", {"taskId": task["taskId"]}))
    )
    thread.start()  # it fails if anything is asked
    time.sleep(0.3)
    told = {"taskId": task["taskId"], "answers": {"confirm": {"confirm": True}}}
    called = {
        "name": "sandbar_workflow_answer",
        "arguments": {"process": told["taskId"], "answers": told["answers"]},
    }
    answered = mute.ask("tools/call", called)["result"]
    assert not answered.get("isError"), answered
    thread.join(5)
    assert waiting[0]["result"]["content"][0]["text"].startswith("Deleted")


# --- cancelling and listing -----------------------------------------------------------------------


def test_a_task_is_cancelled_once(session: Session) -> None:
    task = session.begin("slow_compute", {"seconds": 60})
    cancelled = session.ask("tasks/cancel", {"taskId": task["taskId"]})["result"]
    assert (cancelled["taskId"], cancelled["status"]) == (task["taskId"], "cancelled")
    again = session.ask("tasks/cancel", {"taskId": task["taskId"]})
    assert refusal(again) == (-32602, "workflow.already-completed")
    assert reason(again) == "already-completed"


def test_the_protocol_has_no_words_for_a_reason_that_is_demanded(session: Session) -> None:
    ended = {"name": "door/off", "terminal?": True, "terminal-kind": "cancel"}
    move = {"name": "off", "from": "door/shut", "to": "door/off", "requires-reason?": True}
    states = [{"name": "door/shut", "initial?": True}, ended]
    spec = {"name": "door/way", "states": states, "transitions": [move]}

    def call(tool: str, **arguments: Any) -> Message:
        params = {"name": tool, "arguments": arguments}
        result: Message = session.ask("tools/call", params)["result"]
        return result

    call("workflow.define", spec=spec)
    task = call("workflow.start-process", workflow="door/way")["structuredContent"]
    wordless = call("task.cancel", **{"task-id": task["task-id"]})
    assert wordless["isError"] is True
    assert "workflow.reason-required" in str(wordless)
    cancelled = session.ask("tasks/cancel", {"taskId": task["task-id"]})["result"]
    assert cancelled["status"] == "cancelled"
    history = call("workflow.process-history", process=task["process-id"])["structuredContent"]
    assert history["history"][-1]["reason"].startswith("cancelled by ")


def test_all_tasks_are_listed_in_pages(tasked: Served) -> None:
    session = Session(tasked, "writer")
    begun = [session.begin("multi_input")["taskId"] for _ in range(53)]
    first = session.ask("tasks/list")["result"]
    assert len(first["tasks"]) < len(begun)
    listed, page = list(first["tasks"]), first
    while "nextCursor" in page:
        page = session.ask("tasks/list", {"cursor": page["nextCursor"]})["result"]
        listed += page["tasks"]
    assert [task["taskId"] for task in listed] == begun[::-1]
    assert {task["status"] for task in listed} == {"input_required"}
    assert refusal(session.ask("tasks/list", {"cursor": "elsewhere"}))[0] == -32602


# --- whose it is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whose", ["another principal", "another workspace", "nobody"])
def test_a_handle_works_for_its_owner_only(tasked: Served, method: str, whose: str) -> None:
    owner = Session(tasked, "admin")
    handle = owner.begin("confirm_delete")["taskId"] if whose != "nobody" else NOBODYS
    workspace = "beside" if whose == "another workspace" else "main"
    role: Role = "admin" if whose == "another workspace" else "writer"
    stranger = Session(tasked, role, workspace=workspace)
    answer = stranger.ask(method, {"taskId": handle})
    assert refusal(answer) == (-32602, "task.unknown")
    assert handle not in str(stranger.ask("tasks/list"))
    if whose != "nobody":
        assert owner.ask("tasks/get", {"taskId": handle})["result"]["status"] == "input_required"


def test_an_admin_may_use_the_handle_of_somebody_else(tasked: Served, session: Session) -> None:
    handle = Session(tasked, "writer").begin("confirm_delete")["taskId"]
    assert session.ask("tasks/cancel", {"taskId": handle})["result"]["status"] == "cancelled"


def test_a_reader_may_give_up_what_it_may_call(tasked: Served) -> None:
    reader = Session(tasked, "reader")
    task = reader.begin("slow_compute", {"seconds": 30})
    answer = reader.ask("tasks/cancel", {"taskId": task["taskId"]})
    assert answer["result"]["status"] == "cancelled"


@pytest.mark.parametrize("method", [*METHODS, "tasks/list"])
def test_what_only_the_extension_has_is_no_method(session: Session, method: str) -> None:
    answer = session.ask("tasks/update", {"taskId": NOBODYS, "inputResponses": {}})
    assert refusal(answer) == (-32601, "method.unknown")
    if method != "tasks/list":
        answer = session.ask(method, {})
        assert refusal(answer) == (-32602, "request.params")
