"""Tasks without a session and without an extension: the seeds' words, and plain tools."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbar.access import revoke
from sandbar.edge.streams import Stream, Streams
from sandbar.errors import TooMany
from tests.live_server import LiveServer
from tests.mcp.served import Served, serving
from tests.mcp.tasking import NOBODYS, Extension, Message, Session, refusal, until

CLIENTS: dict[str, Callable[[Served], Session | Extension]] = {
    "session": Session,
    "modern": lambda served: Extension(served, is_declared=False),
}


def _begin(served: Served, **arguments: Any) -> Message:
    answer = served.post("tools/call", {"name": "confirm_delete", "arguments": arguments})
    result: Message = answer["result"]
    return result


def _answer(served: Served, handle: str) -> None:
    arguments = {"process": handle, "answers": {"confirm": {"confirm": True}}}
    served.call("sandbar.workflow.answer", arguments)


# --- the seeds' words -----------------------------------------------------------------------------


def test_what_begins_a_task_says_its_handle(tasked: Served) -> None:
    result = _begin(tasked, filename="a.txt")
    told = json.loads(result["content"][0]["text"])
    assert result["taskId"] == result["task-id"] == told["task-id"]
    assert told["status"] == "pending"


@pytest.mark.parametrize(
    ("spelling", "before", "after"),
    [
        ("taskId", "running", "completed"),
        ("task-id", "pending", "complete"),
        ("task_id", "pending", "complete"),
    ],
)
def test_each_spelling_has_its_words(
    tasked: Served, spelling: str, before: str, after: str
) -> None:
    handle = _begin(tasked)["taskId"]
    now = tasked.post("tasks/get", {spelling: handle})["result"]
    assert now["taskId"] == now["task-id"] == handle
    assert (now["status"], now["state"]) == (before, ":deletion/asking")
    assert "kind" not in now
    _answer(tasked, handle)

    def ended() -> Message | None:
        task: Message = tasked.post("tasks/get", {spelling: handle})["result"]
        return task if "kind" in task else None

    task = until(ended)
    assert (task["status"], task["kind"], task["state"]) == (after, "success", ":deletion/deleted")
    assert task["result"]["content"][0]["text"].startswith("Deleted")


def test_cancelling_says_what_became_of_it(tasked: Served) -> None:
    handle = _begin(tasked)["taskId"]
    cancelled = tasked.post("tasks/cancel", {"task-id": handle})["result"]
    assert (cancelled["status"], cancelled["kind"]) == ("complete", "cancel")
    assert cancelled["content"][0]["text"].startswith("Task cancelled.")
    again = tasked.post("tasks/cancel", {"task-id": handle})
    assert refusal(again) == (-32602, "workflow.already-completed")
    assert again["error"]["data"]["reason"] == "already-completed"
    told = tasked.post("tasks/cancel", {"taskId": handle})["result"]
    assert told["isError"] is True
    assert ":already-completed" in told["content"][0]["text"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_a_handle_works_for_its_owner_only(tasked: Served, method: str) -> None:
    handle = _begin(tasked)["taskId"]
    for given in (handle, NOBODYS):
        answer = tasked.post(method, {"taskId": given}, role="writer")
        assert refusal(answer) == (-32602, "task.unknown")
    missing = tasked.post(method, {})
    assert refusal(missing) == (-32602, "request.params")
    assert missing["error"]["message"] == f"{method} requires :taskId parameter"


def test_a_bare_request_may_wish_for_a_task_too(tasked: Served) -> None:
    params = {"name": "slow_compute", "arguments": {"seconds": 0.1}, "task": {}}
    handle = tasked.post("tools/call", params)["result"]["task"]["taskId"]
    result = tasked.post("tasks/result", {"taskId": handle})["result"]
    assert result["content"][0]["text"].startswith("Computed")


# --- waiting in vain ------------------------------------------------------------------------------


def test_the_wait_ends_with_the_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listens = threading.Event()
    open_stream = Streams.open

    async def noting(self: Streams, stream: Stream) -> TooMany | None:
        refused = await open_stream(self, stream)
        listens.set()
        return refused

    monkeypatch.setattr(Streams, "open", noting)
    with serving(tmp_path / "end.db", ("everything",)) as served:
        params = {"name": "confirm_delete", "arguments": {}}
        handle = served.post("tools/call", params, role="writer")["result"]["taskId"]
        answers: list[Message] = []
        given = {"taskId": handle}
        waiting = threading.Thread(
            target=lambda: answers.append(served.post("tasks/result", given, role="writer"))
        )
        waiting.start()
        assert listens.wait(20)
        revoke(served.db.workspace, "test-writer")
        waiting.join(20)
        assert refusal(answers[0]) == (-32603, "stream.ended")


def test_a_server_stops_while_somebody_waits(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "stop.db", packs=["everything"]).start()
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:

        def ask(method: str, params: Message) -> None:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            connection.request("POST", "/mcp", json.dumps(body), dict(server.headers))

        ask("tools/call", {"name": "confirm_delete", "arguments": {}})
        begun = json.loads(connection.getresponse().read())["result"]
        ask("tasks/result", {"taskId": begun["taskId"]})  # it is sent when this returns
        time.sleep(0.5)
        server.stop()  # objects to errors in the log
        answer = json.loads(connection.getresponse().read())
    assert refusal(answer) == (-32603, "stream.ended")


# --- clients that know no tasks -------------------------------------------------------------------


def _call(client: Any, name: str, arguments: Message) -> Message:
    answer = client.ask("tools/call", {"name": name, "arguments": arguments})
    result: Message = answer["result"]
    return result


@pytest.mark.parametrize("kind", CLIENTS)
def test_tools_serve_whoever_knows_no_tasks(tasked: Served, kind: str) -> None:
    client = CLIENTS[kind](tasked)
    begun = _call(client, "confirm_delete", {"filename": "a.txt"})["structuredContent"]
    handle = begun["task-id"]
    assert begun["hint"]
    shown = _call(client, "sandbar_task_get", {"task-id": handle})["structuredContent"]
    assert (shown["task-id"], shown["status"]) == (handle, "pending")
    listed = _call(client, "sandbar_task_list", {})["structuredContent"]["tasks"]
    assert handle in [task["task-id"] for task in listed]
    ended = _call(client, "sandbar_task_cancel", {"task-id": handle})["structuredContent"]
    assert (ended["status"], ended["kind"]) == ("complete", "cancel")
    again = _call(client, "sandbar_task_cancel", {"task-id": handle})
    assert again["isError"] is True
    assert again["structuredContent"]["reason"] == "already-completed"


def test_the_tools_know_whose_a_task_is(tasked: Served) -> None:
    handle = _begin(tasked)["taskId"]
    writer, reader = Session(tasked, "writer"), Session(tasked, "reader")
    for client, name in ((writer, "get"), (writer, "cancel"), (reader, "get")):
        refused = _call(client, f"sandbar_task_{name}", {"task-id": handle})
        assert refused["structuredContent"]["error"] == "task.unknown"
    mine = reader.begin("slow_compute", {"seconds": 0})["taskId"]
    refused = _call(reader, "sandbar_task_cancel", {"task-id": mine})
    assert refused["structuredContent"]["error"] == "verb.forbidden"
    elsewhere = Session(tasked, workspace="beside")
    refused = _call(elsewhere, "sandbar_task_get", {"task-id": handle})
    assert refused["structuredContent"]["error"] == "task.unknown"
