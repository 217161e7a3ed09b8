"""One series of exchanges with one server: its names, its entries, and the audit of it all."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.live_server import LiveServer
from tests.recordings.places import Place
from tests.recordings.plain import Plain
from tests.recordings.wire import LANES, OLD, TIMEOUT_S, Answer, Door, Lane, sent, shown_body

ACCOUNT, KEY = "claude", "super-secret-mcp-key"
_SHOWN_BYTES = 4000
_AUDITED = ("principal", "key", "surface", "method", "verb", "success", "code")


class Scene:
    """A server with its packs, the account of the seeds (a writer) and an admin's."""

    def __init__(
        self, place: Place, kind: str, packs: Sequence[str], options: Sequence[str] = ()
    ) -> None:
        self.kind = kind
        self.entries: list[dict[str, Any]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="sandbar-recordings-", dir=place.folder)
        self.folder = Path(self._folder.name)
        self.database = place.database(self.folder)
        self.server = LiveServer(self.database, packs=packs, options=options, account="admin")
        self.plain = Plain(folder=str(self.folder), database=self.database)
        self._ids: dict[str, list[int]] = {}
        self._quiet: set[str] = set()
        self.names: set[str] = set()

    def __enter__(self) -> Scene:
        self.server.start()
        self.server.sandbar("account", "add", ACCOUNT, "--api-key", KEY)
        self.plain.know("address", f"127.0.0.1:{self.server.port}")
        self.plain.know("admin-token", self.server.token)
        self.plain.know("port", f":{self.server.port}")
        self.admin = Door(self.server.port, self.server.token)
        self.writer = Door(self.server.port, f"{ACCOUNT}:{KEY}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.server.stop(is_lenient=kind is not None)
        if kind is None:
            self._audit()
        self._folder.cleanup()

    def send(
        self, name: str, request: bytes, verb: str = "POST", events: int = 0, s: float = TIMEOUT_S
    ) -> Answer:
        """Send a request, and write down what was asked and answered."""
        answer = sent(self.server.port, request, verb, events, s)
        self.keep(name, {"request": shown_request(request), **answer.kept()}, answer)
        return answer

    def keep(self, name: str, entry: dict[str, Any], answer: Answer | None = None) -> None:
        """Write an exchange down."""
        assert name not in self.names, f"two exchanges are called {name}"
        self.names.add(name)
        if answer is not None:
            id = answer.header("x-request-id")
            self._ids.setdefault(id, []).append(len(self.entries))
            self.plain.call_now("request-id", id)
        self.entries.append({"name": name, **self.plain.value(entry)})

    def quietly(self, door: Door, method: str, params: Any = None) -> Answer:
        """Ask without writing it down: what prepares an exchange, or waits for something."""
        answer = sent(self.server.port, door.rpc("bare", method, params))
        self._quiet.add(answer.header("x-request-id"))
        return answer

    def made(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a verb answers the admin, quietly."""
        answer = self.quietly(self.admin, "tools/call", {"name": name, "arguments": arguments})
        assert not answer.result().get("isError"), (name, arguments, answer.body)
        payload: dict[str, Any] = answer.payload()
        return payload

    def session(self, name: str, door: Door) -> Door:
        """The same door with a session, whose beginning is written down."""
        info = {"name": "recordings", "version": "1"}
        hello = {
            "protocolVersion": OLD, "clientInfo": info, "capabilities": door.capabilities,
        }  # fmt: skip
        greeting = self.send(f"{name}: initialize", door.rpc("session", "initialize", hello))
        session = greeting.header("mcp-session-id")
        opened = Door(door.port, door.token, session, door.path, door.capabilities)
        ready = opened.rpc("session", "notifications/initialized", id=None)
        self.send(f"{name}: initialized", ready)
        return opened

    def lanes(self, name: str, door: Door) -> list[tuple[Lane, Door]]:
        """All roads to a door."""
        opened = self.session(f"session of {name}", door)
        return [(lane, opened if lane == "session" else door) for lane in LANES]

    def _audit(self) -> None:
        """Put the rows of the audit to their exchanges; those of no exchange come last."""
        others: list[list[Any]] = []
        for row in self.audited():
            id, kept = row["request-id"], [row[name] for name in _AUDITED]
            if id in self._quiet:
                continue
            at = self._ids.get(id, [])
            kept = self.plain.value(kept)
            if at:
                entry = self.entries[at[0] if len(at) == 1 else at.pop(0)]
                entry.setdefault("audit", []).append(kept)
            else:
                others.append(kept)
        self.entries.append({"name": "audit of what was no exchange", "audit": others})

    def audited(self) -> list[dict[str, Any]]:
        """All rows of all workspaces."""
        rows: list[dict[str, Any]] = []
        for workspace in json.loads(self.server.sandbar("workspace", "list", "--json")):
            lines = self.server.sandbar("audit", "export", "--workspace", workspace["name"])
            loaded = [json.loads(line) for line in lines.splitlines()]
            rows += [row for row in loaded if "principal" in row]
        return rows


def shown_request(request: bytes) -> dict[str, Any]:
    """A request as it is written down: the head line by line, the body if it is not too long."""
    head, _, body = request.partition(b"\r\n\r\n")
    if len(head) > _SHOWN_BYTES:
        head = head[:_SHOWN_BYTES] + b"... %d bytes" % len(head)
    lines = head.decode("latin-1").split("\r\n")
    right = f"Content-Length: {len(body)}"
    lines = ["Content-Length: <right>" if line == right else line for line in lines]
    shown: dict[str, Any] = {"head": lines}
    if len(body) > _SHOWN_BYTES:
        digest = hashlib.sha256(body).hexdigest()[:12]
        return shown | {"bytes": len(body), "digest": digest}
    return shown | shown_body(body.decode("utf-8", "backslashreplace"), "")
