"""Real clients behind one small interface, so that one suite runs with all of them.

A driver is entered to connect. `listen` makes the client hear of changed tool lists and of one
resource; what it is told lands in its `inbox`, with the time of arrival.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import fastmcp
import httpx2
import mcp_types
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, ServerEvent, ToolsListChanged

from tests.mcp.without_tls import WITHOUT_TLS
from tests.mcp_clients import node

TOOLS_CHANGED = "notifications/tools/list_changed"
RESOURCE_UPDATED = "notifications/resources/updated"

_ANSWER_TIMEOUT_S = 30
_STREAM_TIMEOUT_S = 300


class Endpoint(Protocol):
    """What a client needs to know of a server."""

    @property
    def url(self) -> str: ...
    @property
    def token(self) -> str: ...


class Address(NamedTuple):
    """An endpoint in so many words."""

    url: str
    token: str


@dataclass(frozen=True)
class Told:
    """A notification, and when it came by the monotonic clock."""

    method: str
    uri: str | None
    at: float


class Inbox:
    """What a client was told, from whatever thread."""

    def __init__(self) -> None:
        self._told: list[Told] = []
        self._arrival = threading.Condition()

    def put(self, told: Told) -> None:
        """Keep a notification and wake whoever waits for it."""
        with self._arrival:
            self._told.append(told)
            self._arrival.notify_all()

    def wait_for(
        self, method: str, uri: str | None = None, *, since: float, timeout_s: float
    ) -> Told | None:
        """The first such notification that came after `since`; None when none came in time."""

        def found() -> Told | None:
            wanted = (one for one in self._told if (one.method, one.uri) == (method, uri))
            return next((one for one in wanted if one.at > since), None)

        with self._arrival:
            return self._arrival.wait_for(found, timeout_s)


class Driver(ABC):
    """A client that obeys."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            self._connect(opening)
            self._closing = opening.pop_all()
        return self

    def __exit__(self, *failure: object) -> None:
        self._closing.close()

    @abstractmethod
    def _connect(self, closing: ExitStack) -> None:
        """Connect; what must be undone goes on the stack."""

    @abstractmethod
    def revision(self) -> str:
        """The revision of the protocol that was agreed upon."""

    @abstractmethod
    def tools(self) -> list[str]:
        """The names of all tools."""

    @abstractmethod
    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; its result as it stands on the wire."""

    @abstractmethod
    def read(self, uri: str) -> dict[str, Any]:
        """Read a resource; the result as it stands on the wire."""

    @abstractmethod
    def listen(self, uri: str) -> None:
        """Begin to hear of changed tool lists and of this resource."""


class _AsyncDriver(Driver):
    """A client of asyncio in a thread of its own."""

    _portal: BlockingPortal
    _client: Any

    def _enter(self, closing: ExitStack, client: Any) -> None:
        self._portal = closing.enter_context(start_blocking_portal())
        self._client = closing.enter_context(self._portal.wrap_async_context_manager(client))

    def tools(self) -> list[str]:
        return [tool.name for tool in self._portal.call(self._all_tools)]

    async def _all_tools(self) -> list[Any]:
        page = await self._client.list_tools()
        found = list(page.tools)
        while page.next_cursor:
            page = await self._client.list_tools(cursor=page.next_cursor)
            found += page.tools
        return found

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return _wire(self._portal.call(self._client.call_tool, name, arguments))

    def read(self, uri: str) -> dict[str, Any]:
        return _wire(self._portal.call(self._client.read_resource, uri))

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self.inbox.put(Told(TOOLS_CHANGED, None, time.monotonic()))
        elif isinstance(message, mcp_types.ResourceUpdatedNotification):
            uri = str(message.params.uri)
            self.inbox.put(Told(RESOURCE_UPDATED, uri, time.monotonic()))


class PythonSdk(_AsyncDriver):
    """The official Python client; `mode` is legacy, auto or a revision."""

    def __init__(self, endpoint: Endpoint, mode: str, verify: ssl.SSLContext = WITHOUT_TLS) -> None:
        super().__init__()
        self.listening: Future[Any] | None = None  # done when the server has ended a listen stream
        self._endpoint, self._mode, self._verify = endpoint, mode, verify

    def _connect(self, closing: ExitStack) -> None:
        self._enter(closing, self._signed_in())

    @asynccontextmanager
    async def _signed_in(self) -> Any:
        http = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {self._endpoint.token}"},
            timeout=httpx2.Timeout(_ANSWER_TIMEOUT_S, read=_STREAM_TIMEOUT_S),
            verify=self._verify,
        )
        async with (
            http,
            Client(
                streamable_http_client(self._endpoint.url, http_client=http),
                mode=self._mode,
                message_handler=self._on_message if self._mode == "legacy" else None,
                read_timeout_seconds=_ANSWER_TIMEOUT_S,
            ) as client,
        ):
            yield client

    def revision(self) -> str:
        return str(self._client.protocol_version)

    def listen(self, uri: str) -> None:
        if self._mode == "legacy":
            self._portal.call(self._client.subscribe_resource, uri)
            return
        self.listening, _ = self._portal.start_task(self._listen, uri)
        self._closing.callback(self.listening.cancel)

    async def _listen(
        self, uri: str, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED
    ) -> None:
        async with self._client.listen(
            tools_list_changed=True, resource_subscriptions=[uri]
        ) as subscription:
            task_status.started()
            async for event in subscription:
                self._on_event(event)

    def _on_event(self, event: ServerEvent) -> None:
        if isinstance(event, ToolsListChanged):
            self.inbox.put(Told(TOOLS_CHANGED, None, time.monotonic()))
        elif isinstance(event, ResourceUpdated):
            self.inbox.put(Told(RESOURCE_UPDATED, event.uri, time.monotonic()))


class FastMcp(_AsyncDriver):
    """FastMCP's client. It hears on handshake connections only: it opens no listen stream."""

    def __init__(self, endpoint: Endpoint, mode: str) -> None:
        super().__init__()
        self._endpoint, self._mode = endpoint, mode

    def _connect(self, closing: ExitStack) -> None:
        transport = StreamableHttpTransport(
            self._endpoint.url,
            headers={"Authorization": f"Bearer {self._endpoint.token}"},
            verify=WITHOUT_TLS,
        )
        client = fastmcp.Client(transport, mode=self._mode, message_handler=self._on_message)
        self._enter(closing, client)

    def revision(self) -> str:
        return str(self._client.session.protocol_version)

    def tools(self) -> list[str]:
        return [tool.name for tool in self._portal.call(self._client.list_tools)]

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return _wire(self._portal.call(self._client.call_tool_mcp, name, arguments))

    def read(self, uri: str) -> dict[str, Any]:
        return _wire(self._portal.call(self._client.read_resource_mcp, uri))

    def listen(self, uri: str) -> None:
        self._portal.call(self._client.session.subscribe_resource, uri)


class TypeScript(Driver):
    """A client in a Node process; see driving.mjs for what passes between us."""

    def __init__(self, endpoint: Endpoint, script: str, *words: str) -> None:
        super().__init__()
        self._command = [str(node.NODE), str(node.HERE / script), endpoint.url, endpoint.token]
        self._command += words
        self._answers: dict[int, Future[Any]] = {}
        self._ready: Future[None] = Future()

    def _connect(self, closing: ExitStack) -> None:
        node.package("@modelcontextprotocol/client")
        self._process = closing.enter_context(
            subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=node.environment(),
            )
        )
        closing.callback(self._end)
        threading.Thread(target=self._hear, name="typescript", daemon=True).start()
        self._ready.result(_ANSWER_TIMEOUT_S)

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ANSWER_TIMEOUT_S)
        finally:
            self._process.kill()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "told" in message:
                self.inbox.put(Told(**message["told"]))
            elif "ready" in message:
                self._ready.set_result(None)
            elif "error" in message:
                self._answers.pop(message["id"]).set_exception(RuntimeError(message["error"]))
            else:
                self._answers.pop(message["id"]).set_result(message["answer"])
        ended = RuntimeError(f"the client has ended: {self._process.stderr.read()}")
        for waiting in [self._ready, *self._answers.values()]:
            if not waiting.done():
                waiting.set_exception(ended)

    def ask(self, command: str, **given: Any) -> Any:
        """Give a command of the script, and wait for what it answers."""
        assert self._process.stdin is not None
        number = time.monotonic_ns()
        self._answers[number] = answer = Future[Any]()
        line = json.dumps({"id": number, "command": command, **given})
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return answer.result(_ANSWER_TIMEOUT_S)

    def revision(self) -> str:
        return str(self.ask("revision"))

    def tools(self) -> list[str]:
        return list(self.ask("tools"))

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return dict(self.ask("call", name=name, arguments=arguments))

    def read(self, uri: str) -> dict[str, Any]:
        return dict(self.ask("read", uri=uri))

    def listen(self, uri: str) -> None:
        self.ask("listen", uri=uri)


def _wire(result: Any) -> dict[str, Any]:
    return dict(result.model_dump(by_alias=True, mode="json", exclude_none=True))


HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"

# Which client, how it is made, and the revision that it must end up with.
CLIENTS: dict[str, tuple[Callable[[Endpoint], Driver], str]] = {
    "python auto": (partial(PythonSdk, mode="auto"), STATELESS),
    "python legacy": (partial(PythonSdk, mode="legacy"), HANDSHAKE),
    "python 2026-07-28": (partial(PythonSdk, mode=STATELESS), STATELESS),
    "fastmcp auto": (partial(FastMcp, mode="auto"), STATELESS),
    "fastmcp legacy": (partial(FastMcp, mode="legacy"), HANDSHAKE),
    "typescript 2 default": (
        lambda to: TypeScript(to, "typescript_client.mjs", "legacy"),
        HANDSHAKE,
    ),
    "typescript 2 auto": (lambda to: TypeScript(to, "typescript_client.mjs", "auto"), STATELESS),
    "typescript 2 pinned": (
        lambda to: TypeScript(to, "typescript_client.mjs", STATELESS),
        STATELESS,
    ),
    "typescript 1": (lambda to: TypeScript(to, "typescript_sdk.mjs"), HANDSHAKE),
}
DEAF = {"fastmcp auto"}  # opens no listen stream
