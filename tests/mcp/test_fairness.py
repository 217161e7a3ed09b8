"""Nobody can keep the others waiting, and what was asked of one is not answered by another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sandbar.mcp import sdk
from sandbar.store.opened import OpenStore
from sandbar.store.trail import current_note
from tests.mcp.in_session import open_session, post
from tests.mcp.planting import Plant
from tests.mcp.served import MODERN, Role, Served, serving
from tests.mcp.without_tls import WITHOUT_TLS


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with tools that ask their clients."""
    with serving(tmp_path_factory.mktemp("everything") / "e.db", ("everything",)) as served:
        yield served


def test_unanswered_questions_do_not_keep_others_waiting(
    everything: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "ANSWER_S", 12.0)
    session = open_session(everything, "reader", {"elicitation": {}})
    call = {"name": "test_elicitation", "arguments": {"message": "Who?"}}
    with ThreadPoolExecutor(80) as pool:
        for number in range(80):
            message = {"id": number, "method": "tools/call", "params": call}
            pool.submit(post, everything, message, session, role="reader")
        time.sleep(0.5)
        start = time.monotonic()
        assert everything.post("tools/list", role="admin")["result"]["tools"]
        took_s = time.monotonic() - start
        monkeypatch.setattr(sdk, "ANSWER_S", 0.05)
        _leave(everything, session, "reader")
        assert took_s < 6.0


def test_the_writes_of_one_caller_do_not_fill_the_queue(everything: Served) -> None:
    """A batch of the writer is as long as what is queued: others would wait for all of it."""
    call = {
        "name": "sandbar.schema.define",
        "arguments": {
            "properties": {"fair/name": {"dt/range": "db.type/string"}},
            "classes": {"fair/Thing": {"dt/slots": ["fair/name"]}},
        },
    }
    assert "result" in everything.post("tools/call", call)
    create = {"class": "fair/Thing", "attributes": {"fair/name": "x"}}
    is_held, let_go = threading.Event(), threading.Event()
    queued: list[Role] = []

    def hold() -> None:
        is_held.set()
        assert let_go.wait(30)

    def write(role: Role) -> Any:
        call = {"name": "sandbar.entity.create", "arguments": create}
        return everything.post("tools/call", call, role=role)

    submit = OpenStore.submit

    def noted(self: OpenStore, *args: Any, **kwargs: Any) -> Any:
        note = current_note()
        if note is not None:
            queued.append("writer" if note.principal.endswith("writer") else "admin")
        return submit(self, *args, **kwargs)

    write("writer"), write("admin")
    with ThreadPoolExecutor(60) as pool, pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenStore, "submit", noted)
        holder = pool.submit(everything.db.run, hold)
        assert is_held.wait(30)
        try:
            many = [pool.submit(write, "writer") for _ in range(48)]
            time.sleep(0.5)
            other = pool.submit(write, "admin")
            _until(lambda: "admin" in queued)
            assert queued.count("writer") == 16
        finally:
            let_go.set()
        holder.result()
        assert all(one.result()["result"]["structuredContent"]["created"] for one in (*many, other))
    assert queued.count("writer") == 48


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.01)


def _leave(served: Served, session: str, role: Role) -> None:
    """End a session, and with it whatever it was asked."""
    headers = {"Authorization": f"Bearer {served.token(role)}", "Mcp-Session-Id": session}
    with httpx2.Client(verify=WITHOUT_TLS) as client:
        assert client.delete(served.url, headers=headers).status_code == 200


def test_a_state_is_of_use_to_who_was_asked_only(everything: Served) -> None:
    name = "test_input_required_result_request_state"
    asked = _modern(everything, name, {}, "admin")
    assert asked["result"]["resultType"] == "input_required"
    state = asked["result"]["requestState"]
    answers = {
        key: {"action": "accept", "content": {"ok": True}}
        for key in asked["result"]["inputRequests"]
    }
    more = {"requestState": state, "inputResponses": answers}
    assert _modern(everything, name, more, "reader")["error"]["code"] == -32602
    assert _modern(everything, name, more, "admin")["result"]["resultType"] == "complete"


def test_a_state_outlives_the_server_that_gave_it(tmp_path: Path) -> None:
    name = "test_input_required_result_request_state"
    with serving(tmp_path / "s.db", ("everything",)) as served:
        asked = _modern(served, name, {}, "admin")["result"]
        token = served.token("admin")
    answers = {key: {"action": "accept", "content": {"ok": True}} for key in asked["inputRequests"]}
    with serving(tmp_path / "s.db", ("everything",)) as served:
        served.keep_token("admin", token)
        more = {"requestState": asked["requestState"], "inputResponses": answers}
        assert _modern(served, name, more, "admin")["result"]["resultType"] == "complete"


def _modern(served: Served, name: str, more: dict[str, Any], role: Role) -> dict[str, Any]:
    capabilities: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    params = {"name": name, "arguments": {}, "_meta": meta, **more}
    headers = {
        "Authorization": f"Bearer {served.token(role)}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": name,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with httpx2.Client(verify=WITHOUT_TLS) as client:
        found: dict[str, Any] = client.post(served.url, headers=headers, json=body).json()
    return found


def test_one_caller_cannot_have_all_threads(served: Served, planted: Plant) -> None:
    gate, busy = threading.Event(), threading.Semaphore(0)

    def wait(context: Any, arguments: Any) -> Any:
        busy.release()
        gate.wait(15)
        return arguments

    name = planted("waiting_verb", wait)
    call = {"name": name, "arguments": {}}
    with ThreadPoolExecutor(80) as pool:
        for _ in range(80):
            pool.submit(served.post, "tools/call", call, role="writer")
        assert busy.acquire(timeout=5)
        time.sleep(0.3)
        start = time.monotonic()
        assert served.post("tools/list", role="admin")["result"]["tools"]
        took_s = time.monotonic() - start
        gate.set()
        assert took_s < 6.0
