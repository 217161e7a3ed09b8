"""Tasks by hand, in each of the three dialects: a session, the extension, bare requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import httpx2

from tests.mcp.in_session import BOTH
from tests.mcp.served import MODERN, OLD, Role, Served
from tests.mcp.without_tls import WITHOUT_TLS

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
NOBODYS = "1-" + "0" * 32  # a handle of the right form that nobody was given
YES = {"action": "accept", "content": {"confirm": True}}

_WAIT_S = 15.0
_ids = count(1)

Message = dict[str, Any]
Answering = Callable[[Message], Message | None]


def refusal(answer: Message) -> tuple[int, str]:
    """The code of an error, and ours."""
    assert "error" in answer, answer
    return answer["error"]["code"], answer["error"]["data"]["code"]


def reason(answer: Message) -> Any:
    """Why a cancellation was refused."""
    return answer["error"]["data"].get("reason")


def until(look: Callable[[], Any], timeout_s: float = _WAIT_S) -> Any:
    """What a look shows once it shows something."""
    end = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


class Session:
    """A session of 2025-11-25 whose streams are read message by message, and can be answered."""

    def __init__(
        self,
        served: Served,
        role: Role = "admin",
        capabilities: dict[str, Any] | None = None,
        workspace: str = "main",
    ) -> None:
        self._served = served
        token = served.token(role, workspace)
        self.headers = {"Authorization": f"Bearer {token}", "Accept": BOTH}
        info = {
            "protocolVersion": OLD,
            "clientInfo": {"name": "t", "version": "1"},
            "capabilities": capabilities or {},
        }
        greeting = self._post({"id": 0, "method": "initialize", "params": info})
        self.headers["Mcp-Session-Id"] = greeting.headers["mcp-session-id"]
        self.welcome = _messages(greeting.text)[-1]["result"]
        assert self._post({"method": "notifications/initialized"}).status_code == 202

    def _post(self, message: Message) -> httpx2.Response:
        with httpx2.Client(timeout=30, verify=WITHOUT_TLS) as client:
            sent = {"jsonrpc": "2.0", **message}
            return client.post(self._served.url, headers=self.headers, json=sent)

    def ask(self, method: str, params: Any = None, answering: Answering | None = None) -> Message:
        """The answer to a request; questions on its stream are answered on the way."""
        id = next(_ids)  # those of one session must differ
        body: Message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            body["params"] = params
        with (
            httpx2.Client(timeout=30, verify=WITHOUT_TLS) as client,
            client.stream("POST", self._served.url, headers=self.headers, json=body) as response,
        ):
            assert response.status_code == 200, response.read()
            if response.headers["content-type"].startswith("application/json"):
                answer: Message = json.loads(response.read())
                return answer
            for line in response.iter_lines():
                for message in _messages(line):
                    if message.get("id") == id and "method" not in message:
                        return message
                    self._reply(message, answering)
        raise AssertionError("the stream ended without an answer")

    def _reply(self, message: Message, answering: Answering | None) -> None:
        if "method" in message and "id" in message:
            assert answering is not None, f"nobody wanted to be asked: {message}"
            reply = answering(message)
            if reply is not None:
                assert self._post({"id": message["id"], "result": reply}).status_code == 202

    def reply(self, question: Message, result: Message) -> None:
        """Answer a question that came on another stream."""
        assert self._post({"id": question["id"], "result": result}).status_code == 202

    def begin(self, name: str, arguments: Any = None, **more: Any) -> Message:
        """The task that a call becomes."""
        params = {"name": name, "arguments": arguments or {}, "task": {}, **more}
        task: Message = self.ask("tools/call", params)["result"]["task"]
        return task

    def ended(self, handle: str) -> Message:
        """A task when it has ended."""

        def look() -> Message | None:
            task: Message = self.ask("tasks/get", {"taskId": handle})["result"]
            return task if task["status"] not in ("working", "input_required") else None

        task: Message = until(look)
        return task


class Extension:
    """A client of 2026-07-28."""

    def __init__(
        self,
        served: Served,
        role: Role = "admin",
        workspace: str = "main",
        *,
        is_declared: bool = True,
    ) -> None:
        self._served = served
        self._token = served.token(role, workspace)
        extensions: Message = {"extensions": {EXTENSION: {}}} if is_declared else {}
        self.meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": extensions,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }

    def headers(self, method: str) -> dict[str, str]:
        """What every request carries."""
        return {
            "Authorization": f"Bearer {self._token}",
            "Accept": BOTH,
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }

    def ask(self, method: str, params: Message, *, name: str | None = None) -> Message:
        """The answer; `name` is the header Mcp-Name, which a call of a tool must have."""
        name = params["name"] if method == "tools/call" and name is None else name
        headers = self.headers(method) | ({} if name is None else {"Mcp-Name": name})
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": self.meta},
        }
        with httpx2.Client(timeout=30, verify=WITHOUT_TLS) as client:
            response = client.post(self._served.url, headers=headers, json=body)
        if response.headers["content-type"].startswith("application/json"):
            answer: Message = response.json()
            return answer
        return _messages(response.text)[-1]

    def begin(self, name: str, arguments: Any = None, **more: Any) -> Message:
        """The task that the server makes of a call."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments or {}, **more})
        task: Message = answer["result"]
        assert task["resultType"] == "task", answer
        return task

    def get(self, handle: str) -> Message:
        """How a task stands."""
        task: Message = self.ask("tasks/get", {"taskId": handle}, name=handle)["result"]
        return task

    def ended(self, handle: str) -> Message:
        """A task when it has ended."""

        def look() -> Message | None:
            task = self.get(handle)
            return task if task["status"] not in ("working", "input_required") else None

        task: Message = until(look)
        return task


def _messages(text: str) -> list[Message]:
    """Those of a body, of an event stream or of one line of it."""
    if text.startswith("{"):
        return [json.loads(text)]
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line.strip()]
