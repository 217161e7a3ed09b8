"""Open streams of each kind, and an ear for what comes through them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import Any

import httpx2

from tests.mcp.served import MODERN, OLD, Served
from tests.mcp.without_tls import WITHOUT_TLS

TOOLS = "notifications/tools/list_changed"
RESOURCES = "notifications/resources/list_changed"
PROMPTS = "notifications/prompts/list_changed"
UPDATED = "notifications/resources/updated"
ALL_LISTS = ("toolsListChanged", "resourcesListChanged", "promptsListChanged")


class Ear:
    """A stream being read on a thread of its own: messages with the moment of their arrival."""

    def __init__(self, response: httpx2.Response) -> None:
        self.heard: Queue[tuple[float, dict[str, Any]]] = Queue()
        self.is_over = threading.Event()
        self._response = response
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._response.iter_lines():
                if line.startswith("data:") and line[5:].strip():
                    self.heard.put((time.monotonic(), json.loads(line[5:])))
        except (httpx2.HTTPError, RuntimeError):
            pass  # the test has closed it
        self.is_over.set()

    def wait_for(self, method: str, timeout_s: float = 5.0) -> tuple[float, dict[str, Any]]:
        """The next message of a kind."""
        end = time.monotonic() + timeout_s
        while True:
            moment, message = self.heard.get(timeout=max(end - time.monotonic(), 0.001))
            if message.get("method") == method or (method == "result" and "result" in message):
                return moment, message

    def before(self, method: str, timeout_s: float = 5.0) -> list[str]:
        """The methods of all that comes before the next message of a kind."""
        passed: list[str] = []
        end = time.monotonic() + timeout_s
        while True:
            _, message = self.heard.get(timeout=max(end - time.monotonic(), 0.001))
            if message.get("method") == method:
                return passed
            passed.append(message.get("method", "result"))

    def all_for(self, for_s: float) -> list[dict[str, Any]]:
        """Everything that comes within a while."""
        time.sleep(for_s)
        return [self.heard.get()[1] for _ in range(self.heard.qsize())]

    def silent(self, method: str, for_s: float = 0.3) -> bool:
        """Whether nothing of a kind comes for a while."""
        try:
            self.wait_for(method, for_s)
        except Empty:
            return True
        return False


@contextmanager
def streaming(
    served: Served,
    method: str,
    path: str,
    *,
    workspace: str = "main",
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Iterator[Ear]:
    """An open stream."""
    token = served.token("admin", workspace)
    sent = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **(headers or {})}
    url = served.url.removesuffix("/mcp") + path
    with (
        httpx2.Client(verify=WITHOUT_TLS, timeout=20) as client,
        client.stream(method, url, headers=sent, json=body) as response,
    ):
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        connection: socket.socket = response.extensions["network_stream"].get_extra_info("socket")
        ear = Ear(response)
        try:
            yield ear
        finally:
            # While the ear reads, closing alone would not tell the server that nobody listens.
            with suppress(OSError):  # the server was first
                connection.shutdown(socket.SHUT_RDWR)
            assert ear.is_over.wait(5)


@contextmanager
def open_sse(served: Served, workspace: str = "main") -> Iterator[Ear]:
    """`GET /mcp/sse`."""
    with streaming(served, "GET", "/mcp/sse", workspace=workspace) as ear:
        yield ear


@contextmanager
def settled(served: Served) -> Iterator[None]:
    """Meanwhile the hub is awake, and what was committed before is news to nobody."""
    with open_sse(served) as ear:
        cls = f"settled/C{time.monotonic_ns()}"
        served.db.define(classes={cls: {"dt/subclass-of": "dt/Resource"}})
        ear.wait_for(TOOLS)
        yield


@contextmanager
def open_session(served: Served, workspace: str = "main") -> Iterator[Ear]:
    """A session's standing stream."""
    token = served.token("admin", workspace)
    both = "application/json, text/event-stream"
    headers = {"Authorization": f"Bearer {token}", "Accept": both}
    info = {"protocolVersion": OLD, "clientInfo": {"name": "t", "version": "1"}, "capabilities": {}}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    with httpx2.Client(verify=WITHOUT_TLS, timeout=20) as client:
        answer = client.post(served.url, headers=headers, json=greeting)
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.post(served.url, headers=headers | session, json=ready).status_code == 202
    with streaming(served, "GET", "/mcp", workspace=workspace, headers=session) as ear:
        time.sleep(0.05)
        yield ear


@contextmanager
def open_listen(
    served: Served,
    workspace: str = "main",
    wanted: dict[str, Any] | None = None,
    honoured: dict[str, Any] | None = None,
) -> Iterator[Ear]:
    """`subscriptions/listen`, for all lists unless something else is wanted."""
    if wanted is None:
        wanted = dict.fromkeys(ALL_LISTS, True)
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {
        "jsonrpc": "2.0",
        "id": "listen-1",
        "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": meta},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "subscriptions/listen",
    }
    with streaming(served, "POST", "/mcp", workspace=workspace, body=body, headers=headers) as ear:
        _, told = ear.wait_for("notifications/subscriptions/acknowledged")
        assert told["params"]["notifications"] == (wanted if honoured is None else honoured)
        yield ear


STREAMS = {"sse": open_sse, "session": open_session, "listen": open_listen}
