"""Calling tools: what a model can mend comes back as a result, and nothing internal leaves."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from sandbar.mcp import envelopes
from tests.mcp.planting import Endless, Plant
from tests.mcp.served import Served


def _failure(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["result"]["isError"] is True
    payload: dict[str, Any] = json.loads(answer["result"]["content"][0]["text"])
    assert payload == answer["result"]["structuredContent"]
    return payload


def _call(served: Served, name: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return served.post("tools/call", {"name": name, "arguments": arguments}, **more)


@pytest.mark.parametrize("spelling", ["sandbar.entity.create", "sandbar_entity_create"])
@pytest.mark.parametrize("slots", ["attributes", "slots"])
def test_both_spellings_of_everything(served: Served, spelling: str, slots: str) -> None:
    made = served.call(spelling, {"class": "zorp/Boot", slots: {"footwear/name": "Both"}})
    assert made["created"] is True
    found = served.call("sandbar.entity.find", {"entity": made["entity-id"]})
    assert found["entity"]["slots"]["footwear/name"] == "Both"


def test_a_class_tool_in_both_spellings(served: Served) -> None:
    seed = {"footwear/name": "A", "boot/vacuum-rated?": True}
    portable = {"footwear.name": "B", "boot.vacuum-rated": True}
    for name, slots in (
        ("sandbar.class.zorp.SpaceBoot", seed),
        ("sandbar_class_zorp_SpaceBoot", portable),
    ):
        made = served.call(name, slots)
        found = served.call("sandbar.entity.find", {"entity": made["entity-id"]})
        assert found["entity"]["slots"]["boot/vacuum-rated?"] is True
    assert "abstract" in json.dumps(_failure(_call(served, "sandbar.class.zorp.Footwear", seed)))


def test_an_unknown_tool_is_an_error_of_the_protocol(served: Served) -> None:
    answer = _call(served, "sandbar.entity.creat", {})
    assert answer["error"]["code"] == -32602
    assert answer["error"]["message"] == "Unknown tool: sandbar.entity.creat"
    assert "sandbar.entity.create" in answer["error"]["data"]["available-tools"]
    assert "sandbar.entity.create" in answer["error"]["data"]["hint"]
    status, modern = served.modern("tools/call", {"name": "nope", "arguments": {}})
    assert (status, modern["error"]["code"]) == (400, -32602)
    assert "sandbar_entity_create" in modern["error"]["data"]["available-tools"]
    assert modern["error"]["data"]["hint"] == "data.available-tools lists the verbs"


def test_every_finding_comes_back_at_once(served: Served) -> None:
    wrong = {"footwear/nmae": "X", "footwear/price": "cheap", "boot/vacuum-rated?": "perhaps"}
    arguments = {"class": "zorp/SpaceBoot", "attributes": wrong}
    payload = _failure(_call(served, "sandbar.entity.create", arguments))
    slots = {finding["slot"] for finding in payload["findings"]}
    assert slots == {"footwear/nmae", "footwear/name", "footwear/price", "boot/vacuum-rated?"}
    assert "footwear/name" in json.dumps(payload["findings"])
    both = _failure(_call(served, "sandbar.entity.query", {"clas": "zorp/Boot", "limit": "many"}))
    assert {finding["argument"] for finding in both["findings"]} >= {"clas", "class", "limit"}


def test_a_conflict_and_a_missing_entity_are_results(served: Served) -> None:
    made = served.call(
        "sandbar.entity.create", {"class": "zorp/Boot", "slots": {"footwear/name": "C"}}
    )
    update = {"entity": made["entity-id"], "set": {"footwear/name": "D"}, "expect": 1}
    assert "hint" in _failure(_call(served, "sandbar.entity.update", update))
    payload = _failure(_call(served, "sandbar.entity.find", {"entity": "no/body"}))
    assert payload["error"] == "entity.unknown"
    assert "hint" in payload


def test_the_same_answer_in_every_revision(served: Served) -> None:
    arguments = {"entity": "zorp/Boot"}
    bare = _call(served, "sandbar.entity.find", arguments)["result"]
    _, modern = served.modern("tools/call", {"name": "sandbar_entity_find", "arguments": arguments})
    result = modern["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"] == bare["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == bare["structuredContent"]


def test_a_defect_leaves_as_a_number_only(served: Served, planted: Plant) -> None:
    def broken(context: Any, arguments: Any) -> Any:
        raise RuntimeError("the secret is 42, see /etc/passwd")

    name = planted("broken_verb", broken)
    bare = _call(served, name, {})
    _, modern = served.modern("tools/call", {"name": name, "arguments": {}})
    for answer in (bare, modern):
        assert answer["error"]["code"] == -32603
        assert "id" in answer["error"]["data"]
        text = json.dumps(answer)
        for leak in ("42", "passwd", "RuntimeError", "Traceback", ".py"):
            assert leak not in text.replace(answer["error"]["data"]["id"], "").replace(
                str(answer["error"]["data"].get("request-id")), ""
            ).replace(answer["error"]["message"], answer["error"]["message"].split(" as ")[0])


def test_a_client_that_hangs_up_stops_its_work(served: Served, planted: Plant) -> None:
    for build in (_bare_request, _modern_request):
        endless = Endless()
        name = planted(f"endless{build.__name__}", endless)
        port = int(served.url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(build(served, name))
            assert endless.begun.wait(10)
        assert endless.stopped.wait(5), build.__name__


def _bare_request(served: Served, name: str) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
    return _http(served, body, {})


def _modern_request(served: Served, name: str) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": {}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}
    return _http(served, body, headers)


def _http(served: Served, body: dict[str, Any], headers: dict[str, str]) -> bytes:
    content = json.dumps(body).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {served.token()}",
        "Content-Type: application/json",
        f"Content-Length: {len(content)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def test_a_body_that_does_not_come_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelopes, "BODY_S", 0.2)
    port = int(served.url.split(":")[2].split("/")[0])
    for build in (_bare_request, _modern_request):
        with socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(build(served, "sandbar.entity.find")[:-10])
            line.settimeout(5)
            assert line.recv(100).startswith(b"HTTP/1.1 408 ")
