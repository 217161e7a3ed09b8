"""Seed 001, the MCP surface: what it prints is typed, what it promises is checked."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live_server import LiveServer
from tests.seeds.following import ORDER, asked, begun, begun_order, ended, moved, told_of
from tests.seeds.printing import absent, filled, printed
from tests.seeds.remembering import forgotten
from tests.seeds.typing_it import (
    LISTEN,
    PATIENCE_S,
    TOKEN,
    ShellStream,
    call,
    payload,
    post,
    rpc,
)

STATUS = "notifications/tasks/status"


def _tools(address: str, path: str = "/mcp") -> dict[str, Any]:
    tools = post(address, rpc("tools/list"), path=path).result()["tools"]
    return {tool["name"]: tool for tool in tools}


def test_the_minimal_exchange_as_bytes(address: str) -> None:
    """As printed, with the two headers that HTTP itself needs and the seed leaves out."""
    request = filled(printed("seed-001/tools-list.txt"), token=TOKEN)
    head, body = request.split("\n\n")
    needed = [f"Host: {address}", f"Content-Length: {len(body)}"]
    lines = "\r\n".join([*head.split("\n"), *needed])
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        connection.sendall(f"{lines}\r\n\r\n{body}".encode())
        response = http.client.HTTPResponse(connection, method="POST")
        response.begin()
        message = json.loads(response.read())
    assert (response.version, response.status) == (11, 200)
    assert response.headers["Content-Type"] == "application/json"
    assert (message["jsonrpc"], message["id"]) == ("2.0", 1)
    (create,) = [t for t in message["result"]["tools"] if t["name"] == "sandbar.entity.create"]
    assert create["title"]
    assert 0 < len(create["description"]) <= 200
    schema = create["inputSchema"]
    assert schema["type"] == "object"
    assert {"class", "format", "source", "attributes"} <= set(schema["properties"])
    assert "class" in schema["required"]
    assert not {"oneOf", "anyOf", "allOf"} & set(schema), "clients refuse unions at the root"


def _printed_verbs() -> Iterator[tuple[str, str]]:
    for line in printed("seed-001/verbs.txt").splitlines():
        group, names = line.split(".*")
        for name in names.removesuffix(" (batch)").split(", "):
            yield group, f"sandbar.{group}.{name}"


def test_every_verb_of_the_table_is_a_tool(address: str) -> None:
    """All 37."""
    table = printed("seed-001/verbs.txt")
    assert len(table.splitlines()) == 9
    verbs = [name for _, name in _printed_verbs()]
    assert len(verbs) == 37
    tools = _tools(address)
    assert [name for name in verbs if name not in tools] == []


def test_the_class_of_create_is_reflected_from_the_metamodel(address: str) -> None:
    before = _tools(address)
    classes = before["sandbar.entity.create"]["inputSchema"]["properties"]["class"]
    assert "zorp/Boot" in classes["enum"]
    assert "zorp/Footwear" not in classes["enum"], "it is abstract"
    define = {"classes": {"zorp/Clog": {"dt/subclass-of": ["zorp/Footwear"]}}}
    assert not call(address, "sandbar.schema.define", define).get("isError")
    after = _tools(address)
    assert len(after) == len(before), "the catalogue does not grow with the classes"
    shown = after["sandbar.entity.create"]["inputSchema"]["properties"]["class"]["enum"]
    assert set(shown) - set(classes["enum"]) == {"zorp/Clog"}
    listed = payload(call(address, "sandbar.schema.classes", {}))
    assert "zorp/Clog" in listed["classes"]


def test_the_surface_follows_a_slot_that_comes_and_a_class_that_goes(
    address: str, server: LiveServer
) -> None:
    """Changing what exists is for administrators."""
    define = {
        "properties": {"pop/name": {"dt/range": "db.type/string"}},
        "classes": {"pop/Up": {"dt/slots": ["pop/name"]}},
    }
    assert not call(address, "sandbar.schema.define", define).get("isError")
    tool = "sandbar.class.pop.Up"
    assert tool in _tools(address, "/mcp?tools=classes")
    more = {
        "properties": {"pop/size": {"dt/range": "db.type/long"}},
        "classes": {"pop/Up": {"dt/slots": ["pop/name", "pop/size"]}},
    }
    changed = call(address, "sandbar.schema.define", more, token=server.token)
    assert not changed.get("isError"), changed
    schema = _tools(address, "/mcp?tools=classes")[tool]["inputSchema"]
    assert schema["properties"]["pop/size"]["type"] == "integer"
    gone = call(address, "sandbar.entity.delete", {"entity": "pop/Up"}, token=server.token)
    assert not gone.get("isError"), gone
    assert tool not in _tools(address, "/mcp?tools=classes")


def test_bootstrap_by_discovery(address: str) -> None:
    """The printed flow: initialize, tools/list, resources/list, tools/call entity.create."""
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "flow", "version": "1"}}
    assert post(address, rpc("initialize", hello)).result()["serverInfo"]["name"] == "sandbar"
    assert "sandbar.entity.create" in _tools(address)
    assert post(address, rpc("resources/list")).result()["resources"]
    source = json.dumps({"footwear/name": "Discovered"})
    for arguments in (
        {"class": "zorp/Boot", "attributes": {"footwear/name": "Discovered"}},
        {"class": "zorp/Boot", "slots": {"footwear/name": "Discovered"}},
        {"class": "zorp/Boot", "format": "json", "source": source},
    ):
        result = call(address, "sandbar.entity.create", arguments)
        assert not result.get("isError"), (arguments, result)
        assert isinstance(payload(result)["entity-id"], int)


def test_a_memory_is_made_and_the_payload_is_json_inside_the_content_array(address: str) -> None:
    """The printed call; what it answers is what the printed envelope has."""
    forgotten(address, "mm/foo")
    answer = post(address, printed("seed-001/create-memory.json"))
    assert answer.json()["id"] == 2
    result = answer.result()
    assert [block["type"] for block in result["content"]] == ["text"]
    made = json.loads(result["content"][0]["text"])
    assert isinstance(made["entity-id"], int)
    assert (made["ident"], made["class"], made["created"]) == ("mm/foo", "mm/Memory", True)
    found = payload(call(address, "sandbar.entity.find", {"entity": "mm/foo"}))["entity"]
    assert found["entity-id"] == made["entity-id"]
    assert (found["slots"]["memory/name"], found["slots"]["memory/body"]) == (
        "Foo",
        "# Context\n...",
    )


def test_errors_carry_a_number_and_structured_data(address: str) -> None:
    params = {"name": "sandbar.order.refund", "arguments": {}}
    error = post(address, rpc("tools/call", params)).error()
    assert error["code"] == -32602
    assert {"code", "request-id", "available-tools"} <= set(error["data"])


def test_failed_auth_tells_nothing_of_the_inside(address: str) -> None:
    """−32001 with HTTP 401 instead of −32000."""
    answer = post(address, rpc("tools/list"), token="claude:another-key")
    assert (answer.status, answer.error()["code"]) == (401, -32001)
    for word in ("argon", "bcrypt", "hash", "service/", "Traceback"):
        assert word not in answer.body


# --- tasks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sandbar.validation.start", {"class": "zorp/Footwear"}),
        ("sandbar.workflow.start-process", ORDER),
    ],
)
def test_long_running_tools_answer_with_a_task(
    address: str, tool: str, arguments: dict[str, Any]
) -> None:
    """The printed envelope at the top of the result, and in the payload for whoever unwraps it."""
    envelope = json.loads(printed("seed-001/task-envelope.json"))
    result = begun(address, tool, arguments)
    envelope["task-id"] = result["task-id"]
    assert absent(envelope, result) == []
    assert absent(envelope, payload(result)) == []
    assert result["taskId"] == payload(result)["taskId"] == result["task-id"]


def test_a_task_becomes_complete_and_of_a_kind(address: str, folder: Path) -> None:
    """`notifications/tasks/status` at every step; by `tasks/cancel` the kind is cancel."""
    ways = {
        "success": ("confirm", "ship", "deliver"),
        "failure": ("expire",),
        "cancel": (),
    }
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        for kind, transitions in ways.items():
            handle = begun_order(address)
            steps = [told_of(stream, STATUS, handle)]
            for name in transitions:
                moved(address, handle, name)
                steps.append(told_of(stream, STATUS, handle))
            if kind == "cancel":
                task = asked(address, "tasks/cancel", **{"task-id": handle})["result"]
                assert (task["status"], task["kind"]) == ("complete", kind)
                steps.append(told_of(stream, STATUS, handle))
            told = [(step["params"]["status"], step["params"].get("kind")) for step in steps]
            between = [("running", None)] * (len(steps) - 2)
            assert told == [("pending", None), *between, ("complete", kind)]


def test_a_validation_goes_from_the_envelope_to_its_results(address: str) -> None:
    """The group `validation`, as a task and by its own verbs."""
    handle = begun(address, "sandbar.validation.start", {"class": "zorp/Footwear"})["task-id"]
    task = ended(address, "task-id", handle)
    assert (task["status"], task["kind"]) == ("complete", "success")
    assert task["state"] == ":validation/passed"
    results = payload(call(address, "sandbar.validation.results", {"process": handle}))
    assert results["checked"] == task["result"]["checked"] > 0
    listed = payload(call(address, "sandbar.validation.history", {"class": "zorp/Footwear"}))
    assert results["process-id"] in [each["process-id"] for each in listed["validations"]]


# --- streams --------------------------------------------------------------------------------------


def test_subscriptions_end_with_their_stream(address: str, folder: Path) -> None:
    """Without an open stream a plain subscribe is refused, with a hint."""
    subscribe = rpc("resources/subscribe", {"uri": "mcp://sandbar/zorp/Boot/product/mud-lord"})
    with ShellStream(LISTEN, address, folder) as stream:
        stream.wait_until_open()
        assert post(address, subscribe).result() == {}
    deadline = time.monotonic() + PATIENCE_S
    while "error" not in (message := post(address, subscribe).json()):
        assert time.monotonic() < deadline, "the stream was closed, and its subscriptions live on"
    assert message["error"]["data"]["hint"]


def test_whoever_does_not_listen_sees_only_answers(address: str) -> None:
    """A commit in between changes nothing about the answer to a bare request."""
    boot = {"class": "zorp/Boot", "attributes": {"db/ident": "boot/quiet", "footwear/name": "Q"}}
    assert not call(address, "sandbar.entity.create", boot).get("isError")
    answer = post(address, rpc("tools/list"))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == 1
