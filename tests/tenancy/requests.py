"""Random requests of the protocol: any method, by any road, over real HTTP."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import httpx2

from tests.mcp.served import MODERN, OLD
from tests.tenancy.attacker import Attacker, filled_in
from tests.tenancy.victim import Loot
from tests.tenancy.world import PLAYERS

BOTH = "application/json, text/event-stream"
ROADS = ("bare", "session", "modern", "care")
PATHS = ("/mcp", "/mcp", "/mcp?tools=all", "/mcp?tools=full&names=portable", "/mcp?tools=classes")
_PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default takes 20 ms to make, each time

Params = dict[str, Any]


class Sent(NamedTuple):
    """A request, and all that came back for it."""

    request: str
    status: int
    text: str  # headers and body


class Requests:
    """Chooses methods and their parameters."""

    def __init__(self, random: Random, attacker: Attacker, loot: Loot) -> None:
        self._random, self._attacker, self._loot = random, attacker, loot
        self._uris = [*loot.uris(), "mcp://sandbar/shared/Thing/thing/n1", "mcp://sandbar/"]
        self.makers: dict[str, Callable[[], Params]] = {
            "ping": dict,
            "server/discover": dict,
            "tools/list": self._page,
            "tools/call": self._call,
            "resources/list": self._page,
            "resources/templates/list": self._page,
            "resources/read": self._resource,
            "resources/subscribe": self._resource,
            "resources/unsubscribe": self._resource,
            "prompts/list": self._page,
            "prompts/get": self._prompt,
            "completion/complete": self._completion,
            "tasks/get": self._task,
            "tasks/result": self._task,
            "tasks/update": self._task,
            "tasks/cancel": self._task,
            "tasks/list": self._page,
            "logging/setLevel": lambda: {"level": "debug"},
        }

    def choose(self) -> tuple[str, Params]:
        """A method and what it is given."""
        is_call = self._random.random() < 0.4
        method = "tools/call" if is_call else self._random.choice(sorted(self.makers))
        return method, self.makers[method]()

    def _page(self) -> Params:
        if self._random.random() < 0.5:
            return {}
        return {"cursor": self._random.choice(self._loot.cursors)}

    def _call(self) -> Params:
        attempt = self._attacker.attempt(0)
        arguments = filled_in(attempt.arguments, {"entity": []})
        return {"name": attempt.verb, "arguments": arguments}

    def _resource(self) -> Params:
        return {"uri": self._random.choice(self._uris)}

    def _prompt(self) -> Params:
        arguments = {"class": self._random.choice(self._loot.classes)}
        return {"name": self._random.choice(self._loot.prompts), "arguments": arguments}

    def _completion(self) -> Params:
        pick = self._random.choice
        refs = [
            {"type": "ref/resource", "uri": "mcp://sandbar/{ns}/{class}/{+ident}"},
            {"type": "ref/prompt", "name": pick(self._loot.prompts)},
        ]
        begun = pick(["", "", "thing/", *self._loot.idents, *self._loot.classes])
        name = pick(["ns", "class", "ident", "subject", "planet"])
        begun = begun[: self._random.randint(0, len(begun))]
        params: Params = {"ref": pick(refs), "argument": {"name": name, "value": begun}}
        if self._random.random() < 0.5:
            ns, cls = pick(self._loot.classes).split("/")
            params["context"] = {"arguments": {"ns": ns, "class": cls}}
        return params

    def _task(self) -> Params:
        """Only of the victim's: for the end of one's own one would wait."""
        return {"taskId": self._random.choice(self._loot.handles)}


class Clients:
    """Clients of one workspace, one for each role, that keep their connections and sessions."""

    def __init__(self, url: str, tokens: dict[str, str]) -> None:
        self._base = url.removesuffix("/mcp")
        self._http = {
            role: httpx2.Client(
                timeout=60, verify=_PLAIN, headers={"Authorization": f"Bearer {tokens[role]}"}
            )
            for role in PLAYERS
        }
        self._sessions = {role: self._begun(role) for role in PLAYERS}
        self._id = 100_000  # all of one length

    def close(self) -> None:
        """Let go of the connections."""
        for client in self._http.values():
            client.close()

    def session(self, role: str) -> str:
        """The id of a role's session."""
        return self._sessions[role]

    def send(
        self, role: str, road: str, path: str, method: str, params: Params, session: str = ""
    ) -> Sent:
        """One request by a road; another's session may be named."""
        self._id += 1
        headers = {"Accept": "application/json"}
        if road == "session":
            headers = {"Accept": BOTH, "Mcp-Session-Id": session or self._sessions[role]}
        elif road == "modern":
            headers = {"Accept": BOTH, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            name = params.get("name") or params.get("uri") or params.get("taskId")
            if isinstance(name, str) and name.isascii() and name.isprintable():
                headers["Mcp-Name"] = name
            params = params | {"_meta": _META}
        body = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        url = self._base + ("/api/mcp" if road == "care" else path)
        answer = self._http[role].post(url, headers=headers, json=body)
        return Sent(json.dumps(body), answer.status_code, f"{dict(answer.headers)} {answer.text}")

    def _begun(self, role: str) -> str:
        info = {
            "protocolVersion": OLD,
            "clientInfo": {"name": "t", "version": "1"},
            "capabilities": {},
        }
        greeting = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info}
        client, url = self._http[role], f"{self._base}/mcp"
        answer = client.post(url, headers={"Accept": BOTH}, json=greeting)
        session: str = answer.headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        client.post(url, headers={"Accept": BOTH, "Mcp-Session-Id": session}, json=ready)
        return session


_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    },
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
