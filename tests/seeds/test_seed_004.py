"""Seed 004, writing an MCP client: what it prints is typed, what it promises is checked."""

from __future__ import annotations

import json
import queue
from pathlib import Path
from typing import Any

import httpx
import pytest

import sandbar
from tests.mcp.without_tls import WITHOUT_TLS
from tests.seeds.configured import configuration, tools_seen
from tests.seeds.following import ORDER, begun, begun_order, moved, told_of
from tests.seeds.printing import HERE, absent, filled, printed, replaced
from tests.seeds.remembering import forgotten, remembered
from tests.seeds.typing_it import (
    LISTEN,
    PATIENCE_S,
    PRINTED_ADDRESS,
    TOKEN,
    ShellStream,
    call,
    payload,
    post,
    rpc,
    shell,
)

BOOT = "mcp://sandbar/zorp/SpaceBoot/product/hull-walker"
MEMORY = "mcp://sandbar/mm/Memory/decisions/foo"
STATUS = "notifications/tasks/status"
PRINTED_ID = "12345"
QUIET_S = 0.5


# --- the handshake --------------------------------------------------------------------------------


def test_initialize(address: str, folder: Path) -> None:
    """Capabilities are those of seed 000, and tasks."""
    message = shell(printed("seed-004/initialize.sh"), address, folder).json()
    assert message["id"] == 1
    result = message["result"]
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"]["name"] == "sandbar"
    assert result["serverInfo"]["version"] == sandbar.__version__
    assert {"tools", "resources", "prompts", "tasks"} <= set(result["capabilities"])
    assert result["capabilities"]["resources"]["subscribe"] is True


def test_initialized_is_accepted_without_an_answer(address: str) -> None:
    answer = post(address, printed("seed-004/initialized.json"))
    assert (answer.status, answer.body) == (202, "")


def test_initialized_with_an_id_is_answered(address: str) -> None:
    """The printed Python client numbers its notification."""
    message = json.loads(printed("seed-004/initialized.json")) | {"id": 2}
    assert post(address, message).result() == {}


@pytest.mark.parametrize("id", [7, "seven"])
def test_responses_pair_with_requests_by_their_id(address: str, id: int | str) -> None:
    template = replaced(printed("seed-004/envelope.txt"), "{...}", "{}")
    request = filled(template, number_or_string=json.dumps(id), method_name="tools/list")
    answer = post(address, request)
    assert answer.json()["id"] == id
    assert answer.result()["tools"]
    failed = post(address, replaced(request, "tools/list", "no/such")).json()
    assert (failed["id"], failed["error"]["code"]) == (id, -32601)
    assert isinstance(failed["error"]["message"], str)


# --- tools ----------------------------------------------------------------------------------------


def test_tools_list_by_curl_without_a_content_type(address: str, folder: Path) -> None:
    answer = shell(printed("seed-004/tools-list.sh"), address, folder)
    assert answer.json()["id"] == 2
    tools = {tool["name"]: tool for tool in answer.result()["tools"]}
    for name in ("sandbar.schema.classes", "sandbar.entity.create"):
        assert tools[name]["title"]
        assert tools[name]["description"]
        assert tools[name]["inputSchema"]["type"] == "object"
    assert tools["sandbar.schema.classes"]["inputSchema"].get("required", []) == []
    create = tools["sandbar.entity.create"]["inputSchema"]
    assert {"class", "format", "source", "attributes"} <= set(create["properties"])
    assert create["required"] == ["class"]


def test_a_memory_is_made_by_curl_from_markdown(address: str, folder: Path) -> None:
    forgotten(address, "mm/foo")
    answer = shell(printed("seed-004/create-memory.sh"), address, folder)
    assert answer.json()["id"] == 3
    made = payload(answer.result())
    assert isinstance(made["entity-id"], int)
    assert made["ident"] == "mm/foo"
    (content,) = _contents(address, "mcp://sandbar/mm/Memory/mm/foo")
    assert content["mimeType"] == "text/markdown"
    assert content["text"] == "---\nname: Foo\ntype: idea\n---\n# Context\n\nA quick thought.\n"


def test_a_retry_without_an_ident_makes_no_second_memory(address: str, folder: Path) -> None:
    """The name makes the ident, and what is there already is not made again."""
    forgotten(address, "mm/foo")
    command = printed("seed-004/create-memory.sh")
    first = payload(shell(command, address, folder).result())
    second = payload(shell(command, address, folder).result())
    assert (second["entity-id"], second["created"]) == (first["entity-id"], False)


def test_creating_the_same_ident_again_is_a_no_op(address: str) -> None:
    arguments = {
        "class": "zorp/SpaceBoot",
        "attributes": {"db/ident": "boot/once", "footwear/name": "Once"},
    }
    first = payload(call(address, "sandbar.entity.create", arguments))
    second = payload(call(address, "sandbar.entity.create", arguments))
    assert second["entity-id"] == first["entity-id"]
    assert (first["created"], second["created"]) == (True, False)


def test_an_unknown_tool_names_those_there_are(address: str) -> None:
    params = {"name": "foo.bar.baz", "arguments": {}}
    error = post(address, rpc("tools/call", params)).error()
    assert error["code"] == -32602
    assert error["message"] == "Unknown tool: foo.bar.baz"
    assert "sandbar.entity.create" in error["data"]["available-tools"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("{not json", -32700),
        ('{"id":1,"method":"tools/list"}', -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"foo/bar"}', -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"foo"}}', -32602),
    ],
)
def test_the_table_of_errors(address: str, body: str, code: int) -> None:
    assert post(address, body).error()["code"] == code


def test_a_validation_failure_is_a_result_with_all_findings(address: str) -> None:
    """An `isError` result, as in seed 000, instead of −32000."""
    wrong = {"footwear/name": 5, "footwear/price": "dear", "no/such": 1}
    result = call(
        address, "sandbar.entity.create", {"class": "zorp/SpaceBoot", "attributes": wrong}
    )
    assert result["isError"] is True
    for slot in wrong:
        assert slot in result["content"][0]["text"]


# --- resources ------------------------------------------------------------------------------------


def _contents(address: str, uri: str) -> Any:
    return post(address, rpc("resources/read", {"uri": uri})).result()["contents"]


def test_resources_list_by_curl(address: str, folder: Path) -> None:
    remembered(address, "decisions/foo", name="Foo", body="# Context\n")
    answer = shell(printed("seed-004/resources-list.sh"), address, folder)
    assert answer.json()["id"] == 4
    resources = {each["uri"]: each for each in answer.result()["resources"]}
    assert resources[BOOT]["name"] == "product/hull-walker"
    assert resources[BOOT]["mimeType"] == "application/json"
    assert resources[MEMORY]["name"] == "decisions/foo"
    assert resources[MEMORY]["mimeType"] == "text/markdown"


def test_a_memory_is_read_by_curl(address: str, folder: Path) -> None:
    remembered(address, "decisions/foo", name="Foo", status="open", body="# Context\n\nWhy.\n")
    answer = shell(printed("seed-004/read-memory.sh"), address, folder)
    assert answer.json()["id"] == 5
    (content,) = answer.result()["contents"]
    assert (content["uri"], content["mimeType"]) == (MEMORY, "text/markdown")
    text = "---\nident: decisions/foo\nname: Foo\nstatus: open\n---\n# Context\n\nWhy.\n"
    assert content["text"] == text


def _rename(address: str, name: str, entity: str = "product/hull-walker") -> None:
    slot = "memory/name" if entity.startswith("decisions/") else "footwear/name"
    change = {"entity": entity, "attributes": {slot: name}}
    assert not call(address, "sandbar.entity.update", change).get("isError")


def test_a_memory_is_subscribed_to_by_curl(address: str, folder: Path) -> None:
    """First the response, then the connection stays open for what happens to the resource."""
    remembered(address, "decisions/foo", name="Foo")
    with ShellStream(printed("seed-004/subscribe-memory.sh"), address, folder) as stream:
        assert stream.next() == {"jsonrpc": "2.0", "id": 6, "result": {}}
        status, headers = stream.headers()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        assert headers["x-accel-buffering"] == "no"
        for name in ("Foo II", "Foo"):
            _rename(address, name, "decisions/foo")
            assert stream.next() == {
                "jsonrpc": "2.0",
                "method": "notifications/resources/updated",
                "params": {"uri": MEMORY},
            }
        call(address, "sandbar.class.mm.Memory", {"memory/name": "Another"})
        with pytest.raises(queue.Empty):
            stream.next(QUIET_S)


def test_unsubscribe(address: str, folder: Path) -> None:
    unsubscribe = replaced(printed("seed-004/unsubscribe.json"), "...", BOOT)
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        assert post(address, rpc("resources/subscribe", {"uri": BOOT})).result() == {}
        _rename(address, "Hull Walker III")
        assert stream.until("notifications/resources/updated")["params"]["uri"] == BOOT
        assert post(address, unsubscribe).json() == {"jsonrpc": "2.0", "id": 7, "result": {}}
        _rename(address, "Hull Walker")
        with pytest.raises(queue.Empty):
            stream.until("notifications/resources/updated", QUIET_S)


# --- tasks ----------------------------------------------------------------------------------------


def _asked_by_curl(block: str, handle: str, address: str, folder: Path) -> Any:
    return shell(replaced(block, PRINTED_ID, handle), address, folder).json()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sandbar.validation.start", {"class": "zorp/Footwear"}),
        ("sandbar.workflow.start-process", ORDER),
    ],
)
def test_a_long_operation_answers_with_an_envelope(
    address: str, tool: str, arguments: dict[str, Any]
) -> None:
    result = begun(address, tool, arguments)
    envelope = replaced(printed("seed-004/task-envelope.json"), PRINTED_ID, result["task-id"])
    assert absent(json.loads(envelope), {"result": result}) == []


def test_a_task_is_polled_by_curl_to_its_end(address: str, folder: Path) -> None:
    command = printed("seed-004/task-get.sh")
    handle = begun(address, "sandbar.validation.start", {"class": "zorp/Footwear"})["task-id"]
    told = _asked_by_curl(command, handle, address, folder)
    assert told["id"] == 8
    seen = [told["result"]["status"]]
    while seen[-1] != "complete":
        told = _asked_by_curl(command, handle, address, folder)
        seen.append(told["result"]["status"])
    assert set(seen) <= {"pending", "running", "complete"}
    complete = replaced(printed("seed-004/task-complete.txt"), "{...}", "{}")
    expected = json.loads(replaced(complete, PRINTED_ID, handle))
    assert absent(expected, told) == []
    assert told["result"]["result"]["class"] == "zorp/Footwear"


def test_a_task_that_is_moved_is_pending_running_complete(address: str, folder: Path) -> None:
    command = printed("seed-004/task-get.sh")
    handle = begun_order(address)
    statuses = []
    for name in ("confirm", "ship", "deliver"):
        statuses.append(_asked_by_curl(command, handle, address, folder)["result"]["status"])
        moved(address, handle, name)
    assert statuses == ["pending", "running", "running"]
    result = _asked_by_curl(command, handle, address, folder)["result"]
    assert (result["status"], result["kind"]) == ("complete", "success")


def _event(line: str, handle: str) -> Any:
    """A printed event of the stream, with our task's id."""
    return json.loads(replaced(line, PRINTED_ID, handle).removeprefix("data: "))


def test_the_stream_tells_how_a_task_stands(address: str, folder: Path) -> None:
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        handle = begun_order(address)
        assert told_of(stream, STATUS, handle)["params"]["status"] == "pending"
        moved(address, handle, "confirm")
        told = told_of(stream, STATUS, handle)
        assert absent(_event(printed("seed-004/status-running.txt"), handle), told) == []
        moved(address, handle, "ship")
        told_of(stream, STATUS, handle)
        moved(address, handle, "deliver")
        told = told_of(stream, STATUS, handle)
        assert absent(_event(printed("seed-004/status-complete.txt"), handle), told) == []
        assert "id" not in told


def test_a_task_is_cancelled_where_its_state_allows_it(address: str) -> None:
    """If not, −32602: here, since it has ended by then."""
    handle = begun_order(address)
    request = replaced(printed("seed-004/task-cancel.json"), PRINTED_ID, handle)
    first = post(address, request)
    assert first.json()["id"] == 9
    result = first.result()
    assert (result["task-id"], result["status"], result["kind"]) == (handle, "complete", "cancel")
    error = post(address, request).error()
    assert (error["code"], error["data"]["reason"]) == (-32602, "already-completed")
    refund = begun_order(address)
    moved(address, refund, "confirm", "ship", "ask-refund", reason="too small")
    error = post(address, rpc("tasks/cancel", {"task-id": refund})).error()
    assert (error["code"], error["data"]["reason"]) == (-32602, "not-cancellable")


# --- clients --------------------------------------------------------------------------------------


def _python_client() -> str:
    return (HERE / "restored/client.py.txt").read_text(encoding="utf-8")


def test_the_python_client_is_the_printed_one_with_its_indentation() -> None:
    restored = [line.strip() for line in _python_client().splitlines()]
    assert restored == printed("seed-004/client.py.txt").splitlines()


def test_the_python_client_runs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All of it; its last statement makes a memory."""
    forgotten(address, "mm/foo")
    source = replaced(_python_client(), PRINTED_ADDRESS, address)
    names: dict[str, Any] = {"token": TOKEN}
    exec(compile(source, "seed 004", "exec"), names)
    out = capsys.readouterr().out
    assert "sandbar.entity.create" in out
    assert "'ident': 'mm/foo'" in out.splitlines()[-1]
    mcp = names["mcp"]
    (content,) = mcp.call("resources/read", {"uri": "mcp://sandbar/mm/Memory/mm/foo"})["result"][
        "contents"
    ]
    assert content["text"] == "---\nname: Foo\n---\n..."
    assert mcp.call("notifications/initialized")["result"] == {}
    with pytest.raises(RuntimeError, match="Unknown tool: foo"):
        mcp.tool_call("foo")
    stranger = names["SandbarMCP"](f"http://{address}/mcp", "claude:wrong")
    with pytest.raises(httpx.HTTPStatusError, match="401"):
        stranger.call("tools/list")


def test_what_the_clojure_client_sends(address: str) -> None:
    """clj-http posts the form parameters as JSON and reads JSON back; here without a JVM."""
    response = httpx.post(
        f"http://{address}/mcp",
        headers={
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "Apache-HttpClient/4.5.13 (Java/17)",
        },
        content='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
        timeout=PATIENCE_S,
        verify=WITHOUT_TLS,
    )
    assert response.json()["result"]["tools"]


def test_a_client_with_the_printed_configuration_connects(address: str) -> None:
    text = printed("seed-004/claude-desktop.json")
    config = configuration(filled(text, your_service_account_token=TOKEN), address, {})
    assert "sandbar_entity_create" in tools_seen(config)
