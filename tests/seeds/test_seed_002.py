"""Seed 002, the tasks API: what it prints is typed, and each printed answer is had.

Two things are said otherwise, by decision: a task's id is the number of its process and a digest
behind it (design, section 6), and process data stand in JSON where the seed has Clojure's notation.
What the seed prints in Clojure is written in Python in the pack `bulk`, and run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.live_server import LiveServer
from tests.malformed.verdict import faults_logged
from tests.mcp.without_tls import WITHOUT_TLS
from tests.seeds.bulk.code import BRAKE
from tests.seeds.following import asked, begun, ended, moved, told_of
from tests.seeds.printing import HERE, absent, filled, printed, replaced
from tests.seeds.typing_it import (
    ACCOUNT,
    KEY,
    LISTEN,
    PATIENCE_S,
    Answer,
    ShellStream,
    call,
    payload,
    post,
)

PRINTED_ID = "17592186045700"
PROGRESS = "notifications/progress"
LETTERS = "bulk/Letter"
HOW_MANY = 142  # as printed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server where the pack of the seed's reader is installed, and 142 letters to look at."""
    site = tmp_path_factory.mktemp("site")
    info = site / "bulk-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bulk\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[sandbar.packs]\nbulk = tests.seeds.bulk.code\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{site}:{HERE.parents[1]}")
        database = tmp_path_factory.mktemp("server") / "tasks.db"
        with LiveServer(database, packs=["bulk"]) as running:
            running.sandbar("account", "add", ACCOUNT, "--api-key", KEY)
            letters = [{"op": "create", "class": LETTERS, "slots": {}}] * HOW_MANY
            running.call("entity.transact", {"operations": letters})
            yield running
            assert faults_logged(running.log()) == []


def _begin(address: str) -> str:
    """The handle of a bulk validation."""
    handle = begun(address, "bulk_validate", {"class": LETTERS})["taskId"]
    assert isinstance(handle, str)
    return handle


@contextmanager
def _braked(address: str) -> Iterator[None]:
    """Validations do not get on in here."""
    brake = {"class": "bulk/Brake", "slots": {"db/ident": BRAKE}}
    begun(address, "sandbar.entity.create", brake)
    try:
        yield
    finally:
        begun(address, "sandbar.entity.delete", {"entity": BRAKE})


def _sent(block: str, address: str, handle: str) -> Answer:
    """Send a printed request about our task: its headers, if it has any, and its body."""
    head, body = replaced(block, PRINTED_ID, handle).split("\n{", 1)
    first, *lines = head.splitlines()
    method, path = first.split()
    headers = dict(line.split(": ", 1) for line in lines)
    headers.setdefault("Authorization", f"Bearer {ACCOUNT}:{KEY}")
    response = httpx.request(
        method,
        f"http://{address}{path}",
        headers=headers,
        content="{" + body,
        timeout=PATIENCE_S,
        verify=WITHOUT_TLS,
    )
    return Answer(response.status_code, dict(response.headers), response.text)


def _get(address: str, handle: str) -> Answer:
    block = filled(printed("seed-002/task-get.txt"), service=ACCOUNT, key=KEY)
    return _sent(block, address, handle)


def _cancel(address: str, handle: str) -> Answer:
    return _sent(printed("seed-002/task-cancel.txt"), address, handle)


def _answer(block: str, handle: str) -> Any:
    """A printed answer, with our task's id for the printed one."""
    assert PRINTED_ID in block
    return json.loads(block.replace(PRINTED_ID, handle))


def _clojure_map(text: str) -> dict[str, Any]:
    """A flat map in Clojure's notation, as the JSON it is here."""
    pairs = re.findall(r":([\w-]+)\s+(:[\w/-]+|\"[^\"]*\"|\d+)", text)
    assert len(pairs) == text.count(":") - sum(value.startswith(":") for _, value in pairs)
    return {name: value if value[0] == ":" else json.loads(value) for name, value in pairs}


# --- polling --------------------------------------------------------------------------------------


def test_a_running_task(address: str) -> None:
    request = filled(printed("seed-002/task-get.txt"), service=ACCOUNT, key=KEY)
    with _braked(address):
        handle = _begin(address)
        answer = _sent(request, address, handle)
    assert answer.status == 200
    assert absent(_answer(printed("seed-002/running.json"), handle), answer.json()) == []
    assert "content" not in answer.result(), "only what has ended has content"


def test_a_completed_task(address: str) -> None:
    """The data are those printed, in JSON; what the tool gave the process stands beside them."""
    handle = _begin(address)
    assert ended(address, "taskId", handle)["status"] == "completed"
    answer = _get(address, handle).json()
    expected = _answer(printed("seed-002/completed.json"), handle)
    (content,) = expected["result"]["content"]
    (given,) = answer["result"]["content"]
    state, data = content["text"].split("\nProcess data: ")
    our_state, our_data = given["text"].split("\nProcess data: ")
    assert our_state == state == "Task in state: :validation/passed"
    assert absent(_clojure_map(data), json.loads(our_data)) == []
    assert _clojure_map(data) == {"instances-validated": HOW_MANY, "failures": 0}
    content["text"] = given["text"]
    assert absent(expected, answer) == []


def test_a_missing_task(address: str) -> None:
    answer = _get(address, PRINTED_ID)
    assert answer.status == 200
    expected = json.loads(printed("seed-002/missing.json"))
    assert absent(expected, answer.json()) == []


@pytest.mark.parametrize("handle", ["not-a-number", "", "12.5", "1" * 150, "-7", ":validation/x"])
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_an_id_that_cannot_be_read_is_not_found(address: str, method: str, handle: str) -> None:
    error = asked(address, method, taskId=handle)["error"]
    assert error["code"] == -32602
    assert error["message"].startswith(f"Task not found: {handle[:100]}")
    assert error["data"]["received-task-id"] == handle[:100]


def test_a_request_without_a_task(address: str) -> None:
    expected = json.loads(printed("seed-002/missing-parameter.json"))
    given: list[dict[str, Any]] = [{"params": {}}, {"params": {"other": "1"}}, {}]
    for params in given:
        message = {"jsonrpc": "2.0", "id": 42, "method": "tasks/get", **params}
        assert absent(expected, post(address, message).json()) == []
        told = post(address, message | {"method": "tasks/cancel"}).error()
        assert (told["code"], told["message"]) == (
            -32602,
            "tasks/cancel requires :taskId parameter",
        )


def test_the_task_of_somebody_else_is_not_found(address: str, server: LiveServer) -> None:
    """And the number of a process alone is nobody's handle."""
    handle = _begin(address)
    stranger = server.add_account("stranger", "writer")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": handle}}
    assert post(address, body, token=stranger).error()["message"] == f"Task not found: {handle}"
    number = handle.split("-")[0]
    assert asked(address, "tasks/get", taskId=number)["error"]["code"] == -32602


def test_the_task_is_the_process(address: str) -> None:
    """No registry beside: the number in the handle is the entity's, and its state the task's."""
    handle = _begin(address)
    task = ended(address, "taskId", handle)
    number = int(handle.split("-")[0])
    found = payload(call(address, "sandbar.entity.find", {"entity": number}))
    assert found["entity"]["class"] == "workflow/Process"
    state = payload(call(address, "sandbar.workflow.process-state", {"process": number}))
    assert task["state"] == f":{state['state']}"


def test_the_mapping_of_states_to_statuses(address: str) -> None:
    """Each printed map, by a task in that state; `kind` tells failure from success."""
    running, passed, failed, missing = [
        _clojure_map(text)
        for text in re.findall(r"{[^}]*}", printed("seed-002/status-mapping.clj"))
    ]
    with _braked(address):
        handle = _begin(address)
        assert absent(running, _get(address, handle).result()) == []
        moved(address, handle, "fail")
        result = _get(address, handle).result()
        assert absent({**failed, "kind": "failure"}, result) == []
    result = ended(address, "taskId", _begin(address))
    assert absent({**passed, "kind": "success"}, result) == []
    assert missing == {"status": "missing"}
    assert "Task not found" in _get(address, PRINTED_ID).error()["message"]


# --- cancelling -----------------------------------------------------------------------------------


def test_a_task_is_cancelled(address: str) -> None:
    with _braked(address):
        handle = _begin(address)
        answer = _sent(printed("seed-002/task-cancel.txt"), address, handle)
        expected = _answer(printed("seed-002/cancelled.json"), handle)
        assert absent(expected, answer.json()) == []
    after = _get(address, handle).result()
    assert after == answer.result(), "it stays so, though nothing holds it up any more"


def test_a_task_that_has_ended_is_not_cancelled(address: str) -> None:
    handle = _begin(address)
    before = ended(address, "taskId", handle)
    answer = _cancel(address, handle)
    assert answer.json() == json.loads(printed("seed-002/not-cancelled.json"))
    assert _get(address, handle).result() == before


def _defined(address: str, name: str, *, cancel: bool, **members: Any) -> str:
    """Define a workflow whose first state nobody leaves by itself, and begin a process of it."""
    states = [
        {"name": "seed/open", "initial?": True},
        {"name": "seed/shut", "terminal?": True, "terminal-kind": "success"},
    ]
    transitions = [{"name": "shut", "from": "seed/open", "to": "seed/shut"}]
    if cancel:
        states.append({"name": "seed/off", "terminal?": True, "terminal-kind": "cancel"})
        transitions.append({"name": "cancel", "from": "seed/open", "to": "seed/off"})
    spec = {"name": name, "states": states, "transitions": transitions, **members}
    begun(address, "sandbar.workflow.define", {"spec": spec})
    handle = begun(address, "sandbar.workflow.start-process", {"workflow": name})["taskId"]
    assert isinstance(handle, str)
    return handle


def test_the_three_reasons_not_to_cancel(address: str) -> None:
    """An error result for who asks by `taskId`; seed 004 asks by `task-id` and gets an error."""
    done = _begin(address)
    ended(address, "taskId", done)
    handles = {
        "already-completed": done,
        "not-cancellable": _defined(
            address, "seed/stubborn", cancel=True, **{"cancellable?": False}
        ),
        "no-cancel-transition": _defined(address, "seed/endless", cancel=False),
    }
    for reason, handle in handles.items():
        before = _get(address, handle).result()
        answer = _cancel(address, handle).result()
        assert answer["isError"] is True
        text = answer["content"][0]["text"]
        assert re.fullmatch(rf"Cannot cancel task: [\w ]+ \(reason: :{reason}\)", text)
        error = asked(address, "tasks/cancel", **{"task-id": handle})["error"]
        assert (error["code"], error["message"]) == (-32602, text)
        assert error["data"]["reason"] == reason
        assert _get(address, handle).result() == before


def test_the_remedy_for_a_workflow_that_cannot_be_cancelled(address: str) -> None:
    """Add a cancel state and a transition to it: what begins then can be cancelled."""
    old = _defined(address, "seed/mended", cancel=False)
    assert _cancel(address, old).result()["isError"] is True
    new = _defined(address, "seed/mended", cancel=True)
    assert _cancel(address, new).result()["state"] == ":seed/off"
    assert _cancel(address, old).result()["isError"] is True, "a process keeps its version"


def test_a_cancel_that_races_with_the_end(address: str) -> None:
    """Either may win; whichever did is what everybody sees from then on."""
    for _ in range(10):
        handle = _begin(address)
        answer = _cancel(address, handle).result()
        after = _get(address, handle).result()
        assert after["status"] == "completed"
        won = ":validation/passed" if answer.get("isError") else ":validation/cancelled"
        assert after["state"] == won


# --- notifications --------------------------------------------------------------------------------


def test_a_new_task_is_announced_and_so_is_its_end(address: str, folder: Path) -> None:
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        with _braked(address):
            handle = _begin(address)
            expected = _answer(printed("seed-002/progress.json"), handle)
            told = told_of(stream, PROGRESS, handle)
            assert "id" not in told
            assert absent(expected, told) == []
        expected["params"]["status"] = "completed"
        while told["params"]["status"] == "running":
            told = told_of(stream, PROGRESS, handle)
        assert absent(expected, told) == []


def test_clients_filter_by_the_task(address: str, folder: Path) -> None:
    """All methods and all tasks of the caller come through the one stream."""
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        handles = {_begin(address) for _ in range(3)}
        over: set[str] = set()
        while over != handles:
            params = stream.until(PROGRESS)["params"]
            if params["taskId"] in handles and params["status"] == "completed":
                over.add(params["taskId"])


def test_a_stream_that_was_lost_is_made_up_for_by_polling(address: str, folder: Path) -> None:
    with _braked(address):
        with ShellStream(LISTEN, address, folder) as stream:
            stream.wait_until_open()
            handle = _begin(address)
            told_of(stream, PROGRESS, handle)
        moved(address, handle, "fail")
        assert _get(address, handle).result()["state"] == ":validation/failed"
        with ShellStream(LISTEN, address, folder) as stream:
            stream.wait_until_open()
            told_of(stream, PROGRESS, _begin(address))


# --- tools that start tasks -----------------------------------------------------------------------


def _workflow_of(snippet: str) -> str:
    """The workflow that a printed handler starts."""
    (name,) = re.findall(r"start-task! (:[\w/-]+)", snippet)
    assert isinstance(name, str)
    return name


def test_the_handler_of_bulk_validation(address: str) -> None:
    """A tool that answers with what it started: the words stand in the payload's hint."""
    snippet = printed("seed-002/bulk-validate.clj")
    result = begun(address, "bulk_validate", {"class": LETTERS})
    handle = result["taskId"]
    task = ended(address, "taskId", handle)
    assert task["workflow"] == _workflow_of(snippet)
    words = "Validation started. Task: "
    assert f'(str "{words}" task-id)' in snippet
    assert payload(result)["hint"] == f"{words}{handle}"
    state = payload(call(address, "sandbar.workflow.process-state", {"process": handle}))
    assert state["subject"] == LETTERS
    assert state["data"]["requested-by"] == state["started-by"]


def test_the_handler_of_the_export(address: str) -> None:
    """A tool with words of its own: they are the content, as printed, and `taskId` is beside."""
    snippet = printed("seed-002/export-all.clj")
    result = begun(address, "export_all", {"scope": LETTERS})
    handle = result["taskId"]
    words = re.search(r"\(str (.*?)\)\}\]", snippet, re.DOTALL)
    assert words is not None
    names = {"scope": LETTERS, "task-id": handle}
    pieces = re.findall(r'"(?:[^"\\]|\\.)*"|scope|task-id', words[1])
    said = "".join(names.get(piece) or json.loads(piece) for piece in pieces)
    assert result["content"] == [{"type": "text", "text": said}]
    assert f'tasks/get {{ taskId: "{handle}" }}' in said
    assert _get(address, handle).result()["workflow"] == _workflow_of(snippet)
    state = moved(address, handle, "write")
    assert (state["subject"], state["data"]["format"]) == (LETTERS, "markdown")
    assert _get(address, handle).result()["status"] == "completed"


def test_what_starting_a_task_does(address: str, folder: Path) -> None:
    """The printed signature: a workflow, a subject and data in; the process's id out, as text."""
    arguments = re.findall(r"[\w-]+", printed("seed-002/start-task.clj").split("!")[1])[:3]
    assert arguments == ["workflow-ident", "subject", "data"]
    given = {"workflow": ":export/all-memories", "subject": LETTERS, "data": {"format": "edn"}}
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        result = begun(address, "sandbar.workflow.start-process", given)
        told_of(stream, PROGRESS, result["taskId"])
    process = payload(
        call(address, "sandbar.workflow.process-state", {"process": result["taskId"]})
    )
    assert result["taskId"].split("-")[0] == str(process["process-id"])
    assert (process["state"], process["data"]) == ("export/asked", {"format": "edn"})


def test_the_model(address: str, folder: Path) -> None:
    """The printed exchange from the call to the content, in its order."""
    model = printed("seed-002/model.txt")
    steps = re.findall(r'tools/call|{ content|notifications/progress|tasks/get|"\w+", \w+', model)
    assert steps == [
        "tools/call",
        "{ content",
        "notifications/progress",
        "tasks/get",
        '"running", state',
        "tasks/get",
        '"completed", content',
    ]
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        with _braked(address):
            result = begun(address, "bulk_validate", {"class": LETTERS})
            handle = result["taskId"]
            assert result["content"]
            told_of(stream, PROGRESS, handle)
            running = _get(address, handle).result()
            assert (running["status"], running["state"]) == ("running", ":validation/in-progress")
        completed = ended(address, "taskId", handle)
    assert (completed["status"], bool(completed["content"])) == ("completed", True)
