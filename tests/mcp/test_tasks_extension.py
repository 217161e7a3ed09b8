"""Tasks of the extension of 2026-07-28: the server decides, and everything is inline."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.mcp.served import Role, Served
from tests.mcp.tasking import EXTENSION, NOBODYS, YES, Extension, Message, refusal
from tests.mcp.without_tls import WITHOUT_TLS

METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


@pytest.fixture(scope="module")
def client(tasked: Served) -> Extension:
    """An administrator's client that knows tasks."""
    return Extension(tasked)


@pytest.fixture(scope="module")
def plain(tasked: Served) -> Extension:
    """One that does not."""
    return Extension(tasked, is_declared=False)


def _params(method: str, handle: str) -> Message:
    params: Message = {"taskId": handle}
    return params | ({"inputResponses": {}} if method == "tasks/update" else {})


# --- what is offered, and to whom -----------------------------------------------------------------


def test_discovery_offers_the_extension(client: Extension) -> None:
    offered = client.ask("server/discover", {})["result"]["capabilities"]
    assert offered["extensions"][EXTENSION] == {}
    assert "tasks" not in offered


@pytest.mark.parametrize("method", METHODS)
def test_who_has_not_declared_it_may_not(plain: Extension, method: str) -> None:
    answer = plain.ask(method, _params(method, NOBODYS), name=NOBODYS)
    assert refusal(answer) == (-32021, "client.capability-missing")
    needed = answer["error"]["data"]["requiredCapabilities"]
    assert needed == {"extensions": {EXTENSION: {}}}


def test_nor_follow_tasks(plain: Extension) -> None:
    wanted = {"notifications": {"taskIds": [NOBODYS]}}
    assert refusal(plain.ask("subscriptions/listen", wanted))[0] == -32021


def test_nor_call_what_needs_a_task(plain: Extension) -> None:
    answer = plain.ask("tools/call", {"name": "failing_job", "arguments": {}})
    assert refusal(answer)[0] == -32021


def test_who_knows_no_tasks_waits_for_a_long_call(plain: Extension) -> None:
    params = {"name": "slow_compute", "arguments": {"seconds": 0.1}}
    result = plain.ask("tools/call", params)["result"]
    assert result["resultType"] == "complete"
    assert result["content"][0]["text"].startswith("Computed")


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
def test_methods_of_the_past_are_gone(client: Extension, method: str) -> None:
    assert refusal(client.ask(method, {"taskId": NOBODYS}))[0] == -32601


# --- from the beginning to the end ----------------------------------------------------------------


def test_a_long_call_becomes_a_task(client: Extension) -> None:
    begun = client.begin("slow_compute", {"seconds": 0.3, "label": "tide"})
    assert begun["status"] == "working"
    assert begun["ttlMs"] is None
    assert begun["pollIntervalMs"] > 0
    assert not {"ttl", "result", "error", "inputRequests"} & set(begun)
    now = client.get(begun["taskId"])
    assert (now["resultType"], now["taskId"]) == ("complete", begun["taskId"])
    ended = client.ended(begun["taskId"])
    assert (ended["resultType"], ended["status"]) == ("complete", "completed")
    assert ended["result"]["resultType"] == "complete"
    assert ended["result"]["content"] == [{"type": "text", "text": "Computed tide in 0.3 s"}]
    assert client.get(begun["taskId"])["result"] == ended["result"]


@pytest.mark.parametrize("wish", [{}, {"ttl": 5}])
def test_wishes_of_the_past_are_ignored(client: Extension, wish: Any) -> None:
    answer = client.ask(
        "tools/call", {"name": "sandbar_schema_datatypes", "arguments": {}, "task": wish}
    )
    assert answer["result"]["resultType"] == "complete"


def test_an_error_of_a_tool_is_a_result(client: Extension) -> None:
    ended = client.ended(client.begin("failing_job")["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["isError"] is True
    assert "error" not in ended


def test_a_defect_is_a_failed_task(client: Extension) -> None:
    ended = client.ended(client.begin("protocol_error_job")["taskId"])
    assert ended["status"] == "failed"
    assert ended["error"]["code"] == -32603
    assert "result" not in ended
    assert ended["error"]["data"]["code"] == "verb.failed"


# --- what it asks ---------------------------------------------------------------------------------


def _update(client: Extension, handle: str, given: Any) -> Message:
    params = {"taskId": handle, "inputResponses": given}
    return client.ask("tasks/update", params, name=handle)


def _asked(client: Extension, handle: str) -> dict[str, Message]:
    task = client.get(handle)
    assert task["status"] == "input_required", task
    requests: dict[str, Message] = task["inputRequests"]
    return requests


def test_a_question_is_answered(client: Extension) -> None:
    handle = client.begin("confirm_delete", {"filename": "a.txt"})["taskId"]
    ((key, question),) = _asked(client, handle).items()
    assert question["method"] == "elicitation/create"
    assert question["params"]["message"] == "Really delete the file?"
    assert _update(client, handle, {key: YES})["result"]["resultType"] == "complete"
    assert client.ended(handle)["result"]["content"][0]["text"].startswith("Deleted a.txt")


def test_answers_may_come_one_by_one(client: Extension) -> None:
    handle = client.begin("multi_input")["taskId"]
    name, sure = _asked(client, handle)
    _update(client, handle, {name: {"action": "accept", "content": {"name": "Ada"}}})
    assert list(_asked(client, handle)) == [sure]
    _update(client, handle, {name: {"action": "accept", "content": {"name": "Bob"}}, sure: YES})
    ended = client.ended(handle)
    assert ended["result"]["structuredContent"]["data"] == {"name": "Ada"}


def test_unknown_keys_are_ignored(client: Extension) -> None:
    handle = client.begin("confirm_delete")["taskId"]
    (key,) = _asked(client, handle)
    for given in ({}, {"confirm": YES, "": YES}, {"no-such": 5}):
        assert _update(client, handle, given)["result"]["resultType"] == "complete"
        assert list(_asked(client, handle)) == [key], given
    _update(client, handle, {"no-such": None, key: YES})
    assert client.ended(handle)["status"] == "completed"
    assert "result" in _update(client, handle, {key: YES}), "late, but no mistake"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"action": "accept", "content": {"confirm": "maybe"}}, "workflow.answer-invalid"),
        ({"action": "accept", "content": {}}, "workflow.answer-invalid"),
        ({"action": "accept"}, "workflow.answer-invalid"),
        ({"action": "accept", "content": []}, "request.params"),
        ({"action": "shrug"}, "request.params"),
        ({}, "request.params"),
        (None, "request.params"),
        ("yes", "request.params"),
    ],
)
def test_a_wrong_answer_is_refused(client: Extension, reply: Any, code: str) -> None:
    handle = client.begin("confirm_delete")["taskId"]
    (key,) = _asked(client, handle)
    assert refusal(_update(client, handle, {key: reply})) == (-32602, code)
    assert list(_asked(client, handle)) == [key]


@pytest.mark.parametrize("given", [None, [], "yes", 5])
def test_answers_are_an_object(client: Extension, given: Any) -> None:
    handle = client.begin("confirm_delete")["taskId"]
    assert refusal(_update(client, handle, given)) == (-32602, "request.params")


def test_who_declines_ends_it(client: Extension) -> None:
    handle = client.begin("confirm_delete")["taskId"]
    (key,) = _asked(client, handle)
    _update(client, handle, {key: {"action": "decline"}})
    ended = client.ended(handle)
    assert ended["status"] == "completed"
    assert ended["result"]["isError"] is True


# --- cancelling -----------------------------------------------------------------------------------


def test_cancelling_is_acknowledged_however_often(client: Extension) -> None:
    handle = client.begin("slow_compute", {"seconds": 60})["taskId"]
    for _ in range(3):
        answer = client.ask("tasks/cancel", {"taskId": handle}, name=handle)
        assert answer["result"]["resultType"] == "complete"
        assert "taskId" not in answer["result"]
    ended = client.ended(handle)
    assert ended["status"] == "cancelled"
    assert not {"result", "error"} & set(ended)


def test_the_end_is_not_undone(client: Extension) -> None:
    handle = client.begin("slow_compute", {"seconds": 0})["taskId"]
    ended = client.ended(handle)
    assert "result" in client.ask("tasks/cancel", {"taskId": handle}, name=handle)
    assert client.get(handle) == ended


# --- headers, and whose it is ---------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_the_name_in_the_header_is_right_or_missing(client: Extension, method: str) -> None:
    handle = client.begin("confirm_delete")["taskId"]
    params = _params(method, handle)
    for name in (NOBODYS, "", handle[:-1]):
        assert refusal(client.ask(method, params, name=name))[0] == -32020, name
    assert "result" in client.ask(method, params)
    assert "result" in client.ask(method, params, name=handle)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whose", ["another principal", "another workspace", "nobody"])
def test_a_handle_works_for_its_owner_only(tasked: Served, method: str, whose: str) -> None:
    owner = Extension(tasked)
    handle = owner.begin("confirm_delete")["taskId"] if whose != "nobody" else NOBODYS
    is_elsewhere = whose == "another workspace"
    role: Role = "admin" if is_elsewhere else "writer"
    stranger = Extension(tasked, role, "beside" if is_elsewhere else "main")
    answer = stranger.ask(method, _params(method, handle), name=handle)
    assert refusal(answer) == (-32602, "task.unknown")
    if whose != "nobody":
        assert owner.get(handle)["status"] == "input_required"


def test_a_reader_may_give_up_what_it_may_call(tasked: Served) -> None:
    reader = Extension(tasked, "reader")
    handle = reader.begin("slow_compute", {"seconds": 30})["taskId"]
    assert "result" in reader.ask("tasks/cancel", {"taskId": handle}, name=handle)
    assert reader.ended(handle)["status"] == "cancelled"


def test_nobody_looks_without_signing_in(tasked: Served, client: Extension) -> None:
    handle = client.begin("slow_compute", {"seconds": 0})["taskId"]
    headers = {**client.headers("tasks/get"), "Authorization": "Bearer test-admin:wrong"}
    params = {"taskId": handle, "_meta": client.meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": params}
    answer = httpx2.post(tasked.url, headers=headers, json=body, verify=WITHOUT_TLS)
    assert answer.status_code == 401
