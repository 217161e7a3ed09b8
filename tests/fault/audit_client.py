"""Clients of real servers that remember every answer they received, under the id they gave it.

Each client keeps to one server and one road, and asks for all kinds of things: reads, writes, what
fails, what is refused, and what cannot be read at all. When its server is killed in the middle of
a request, it notes that there was no answer, and goes on as soon as the server is back.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tests.live_server import LiveServer

Road = Literal["bare", "modern", "session", "plain"]
ROADS: tuple[Road, ...] = ("bare", "modern", "session", "plain")
CLASS, MARK = "mark/Thing", "mark/of"
MODERN, SESSION = "2026-07-28", "2025-11-25"

_BOTH = {"Accept": "application/json, text/event-stream"}
_CLIENT = {"name": "tests", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}
_TIMEOUT_S = 30
_BACK_S = 60.0  # a server that was killed is back after this
_RUDE_S = 0.01
_LEAVING = 0.03


class Tokens(NamedTuple):
    """Whom to be: nobody limits the writer; the reader may not write; the hasty is limited."""

    writer: str
    reader: str
    hasty: str


class Wish(NamedTuple):
    """What to ask for: a message or something unreadable, and the audit's words for it."""

    body: dict[str, Any] | bytes
    token: str
    method: str | None  # None: it has no row, whatever happens
    verb: str | None = None
    marks: tuple[str, ...] = ()  # what it writes, if it succeeds
    is_leaving: bool = False  # it ends the session


@dataclass
class Asked:
    """One request, and what its client knows of it."""

    id: str
    method: str | None
    verb: str | None
    marks: tuple[str, ...]
    sent_s: float
    ended_s: float = 0.0
    is_answered: bool = False
    is_success: bool = False
    code: str | None = None


@dataclass
class Memory:
    """What all clients together have asked and been told."""

    asked: dict[str, Asked] = field(default_factory=dict)
    kills: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def answers(self) -> int:
        """How many requests were answered."""
        return sum(one.is_answered for one in list(self.asked.values()))


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A `tools/call`."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def _find(entity: str, token: str) -> Wish:
    body = call("sandbar_entity_find", {"entity": entity})
    return Wish(body, token, "tools/call", "entity.find")


def _create(token: str, mark: str, class_: str = CLASS, marks: tuple[str, ...] = ()) -> Wish:
    body = call("sandbar_entity_create", {"class": class_, "slots": {MARK: mark}})
    return Wish(body, token, "tools/call", "entity.create", marks)


def _pair(token: str, mark: str) -> Wish:
    marks = (f"{mark}-a", f"{mark}-b")
    operations = [{"op": "create", "class": CLASS, "slots": {MARK: one}} for one in marks]
    body = call("sandbar_entity_transact", {"operations": operations})
    return Wish(body, token, "tools/call", "entity.transact", marks)


def wishes(tokens: Tokens) -> dict[str, Callable[[str], Wish]]:
    """All kinds of requests, by the id that the request will have."""
    writer, reader, hasty = tokens
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    return {
        "found": lambda id: _find("dt/Class", writer),
        "found by a reader": lambda id: _find("dt/Class", reader),
        "missing": lambda id: _find("no/thing", writer),
        "written": lambda id: _create(writer, id, marks=(id,)),
        "written again": lambda id: _create(writer, f"{id}-again", marks=(f"{id}-again",)),
        "pair": lambda id: _pair(writer, id),
        "wrong": lambda id: _create(writer, id, class_="no/Class"),
        "twice": lambda id: _create(writer, "the-one"),
        "forbidden": lambda id: _create(reader, id),
        "limited": lambda id: _find("dt/Class", hasty),
        "resources": lambda id: Wish(_message("resources/list"), writer, "resources/list"),
        "resource": lambda id: Wish(
            _message("resources/read", {"uri": "no://thing"}), writer, "resources/read"
        ),
        "listed": lambda id: Wish(_message("tools/list"), writer, "tools/list"),
        "unknown tool": lambda id: Wish(call("no_tool", {}), writer, "tools/call", "no_tool"),
        "unknown method": lambda id: Wish(_message("no/method"), writer, "no/method"),
        "told": lambda id: Wish(told, writer, "notifications/cancelled"),
        "unreadable": lambda id: Wish(b"{oops", writer, None),
        "no message": lambda id: Wish(b'{"a":1}', writer, None),
        "a stranger": lambda id: Wish(_message("ping"), "nobody:knows-this-key", None),
    }


class Client:
    """A thread that asks one server on one road until it is told to stop."""

    def __init__(
        self, name: str, server: LiveServer, road: Road, tokens: Tokens, seed: str, memory: Memory
    ) -> None:
        self._name, self._server, self._road, self._memory = name, server, road, memory
        self._tokens = tokens
        self._chance = random.Random(f"{seed}/{name}")
        self._wishes = wishes(tokens)
        self._session: dict[str, str] | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._number = 0
        self._stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name=name)

    def stop(self) -> None:
        """Let the last request be answered; then the thread ends."""
        self._stop.set()

    def _run(self) -> None:
        kinds = list(self._wishes)
        try:
            while not self._stop.is_set():
                if self._road == "session" and self._session is None:
                    self._greet()
                    continue
                if self._session is not None and self._chance.random() < _LEAVING:
                    self._ask(Wish(b"", self._tokens.writer, "DELETE /mcp", is_leaving=True))
                    self._session = None
                else:
                    self._ask(self._wishes[self._chance.choice(kinds)])
        except (AssertionError, KeyError, ValueError) as error:
            self._memory.broken.append(f"{self._name}: {error!r}")
        finally:
            if self._connection is not None:
                self._connection.close()

    def _greet(self) -> None:
        """Open a session; its requests are remembered like all others."""
        params = {"protocolVersion": SESSION, "capabilities": {}, "clientInfo": _CLIENT}
        headers = self._ask(Wish(_message("initialize", params), self._tokens.writer, "initialize"))
        if headers is None:
            return
        self._session = {
            **_BOTH,
            "MCP-Protocol-Version": SESSION,
            "Mcp-Session-Id": headers["mcp-session-id"],
        }
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self._ask(Wish(body, self._tokens.writer, "notifications/initialized"))

    def _ask(self, wanted: Wish | Callable[[str], Wish]) -> dict[str, str] | None:
        """One request; the headers of its answer, None if there is none."""
        if self._connection is None and not self._connect():
            return None
        assert self._connection is not None
        self._number += 1
        id = f"{self._name}-{self._number}"
        wish = wanted if isinstance(wanted, Wish) else wanted(id)
        one = Asked(id, wish.method, wish.verb, wish.marks, time.monotonic())
        self._memory.asked[id] = one
        path = "/api/mcp" if self._road == "plain" else "/mcp"
        headers = {**self._headers(wish), "X-Request-Id": id}
        try:
            verb = "DELETE" if wish.is_leaving else "POST"
            self._connection.request(verb, path, self._body(wish), headers)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            one.ended_s = time.monotonic()
            self._connection.close()
            self._connection = self._session = None
            return None
        found = {name.lower(): value for name, value in answer.getheaders()}
        assert found["x-request-id"] == id
        one.is_success, one.code = _outcome(answer.status, body)
        one.ended_s, one.is_answered = time.monotonic(), True
        return found

    def _connect(self) -> bool:
        """Come to the server, as soon as it is there again."""
        deadline = time.monotonic() + _BACK_S
        while not self._stop.is_set():
            connection = http.client.HTTPConnection(
                "127.0.0.1", self._server.port, timeout=_TIMEOUT_S
            )
            try:
                connection.connect()
            except OSError:
                time.sleep(_RUDE_S)
            else:
                self._connection = connection
                return True
            assert time.monotonic() < deadline, "the server does not come back"
        return False

    def _body(self, wish: Wish) -> bytes:
        if isinstance(wish.body, bytes):
            return wish.body
        if self._road != "modern":
            return json.dumps(wish.body).encode()
        params = wish.body.get("params", {}) | {"_meta": _META}
        return json.dumps(wish.body | {"params": params}).encode()

    def _headers(self, wish: Wish) -> dict[str, str]:
        signed = {"Authorization": f"Bearer {wish.token}", "Content-Type": "application/json"}
        if self._road == "session" and wish.token == self._tokens.writer:
            return signed | (self._session or _BOTH)  # the session is the writer's
        if self._road != "modern" or isinstance(wish.body, bytes):
            return signed
        method = wish.body["method"]
        params = wish.body.get("params", {})
        name = params.get("name") or params.get("uri")
        named = {} if name is None else {"Mcp-Name": name}
        return signed | _BOTH | {"MCP-Protocol-Version": MODERN, "Mcp-Method": method} | named


def _outcome(status: int, body: bytes) -> tuple[bool, str | None]:
    """Whether an answer tells of success; if not, the code that it has for its client."""
    if status < 300 and not body:
        return True, None
    if body.startswith((b"event:", b"data:", b"id:")):
        events = body.replace(b"\r\n", b"\n").strip().split(b"\n\n")
        body = events[-1].partition(b"data: ")[2]
    message = json.loads(body)
    if "error" in message:
        return False, message["error"]["data"]["code"]
    assert status == 200, (status, message)
    result = message["result"]
    if result.get("isError"):
        return False, result["structuredContent"]["error"]
    return True, None
