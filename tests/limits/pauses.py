"""How long one tenant's largest calls make another one wait.

    .venv/bin/python -m tests.limits.pauses [DATABASE]

A neighbour asks `entity.find` a hundred times a second over HTTP, in a process and a workspace of
its own, while somebody else makes one large call after another. What is told is how late the worst
of the neighbour's answers came, counted from the moment at which it should have asked.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import multiprocessing.connection
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.live_server import LiveServer

EVERY_S = 0.01
CALL_S_MAX = 60
NEIGHBOUR = "neighbour"


class Pause(NamedTuple):
    """What a call took, and how late the neighbour's worst answer was meanwhile."""

    call: str
    call_s: float
    worst_s: float
    outcome: str


class Caller:
    """One connection with one key."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=CALL_S_MAX)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def call(self, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool call."""
        return self.send(request_of(verb, arguments))

    def send(self, body: bytes) -> dict[str, Any]:
        """The result of a request that was written before."""
        self._connection.request("POST", "/mcp", body, self._headers)
        answer = json.loads(self._connection.getresponse().read())
        result: dict[str, Any] = answer.get("result") or {"isError": True, **answer}
        return result


def request_of(verb: str, arguments: dict[str, Any]) -> bytes:
    """A bare tool call."""
    params = {"name": f"sandbar.{verb}", "arguments": arguments}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ).encode()


def _ask_for_ever(
    port: int, token: str, entity: int, told: multiprocessing.connection.Connection
) -> None:
    """Ask on time; tell the worst delay since the last question about it, then forget it."""
    caller = Caller(port, token)
    request = request_of("entity.find", {"entity": entity})
    worst_s, due_s = 0.0, time.monotonic()
    while True:
        result = caller.send(request)
        assert not result.get("isError"), result
        worst_s = max(worst_s, time.monotonic() - due_s)
        if told.poll():
            if told.recv() is None:
                return
            told.send(worst_s)
            worst_s = 0.0
        due_s += EVERY_S
        time.sleep(max(0.0, due_s - time.monotonic()))
        due_s = max(due_s, time.monotonic() - EVERY_S)  # what was late is told once


class Arena:
    """A server, a neighbour who asks, and a key for whoever disturbs it."""

    def __init__(self, server: LiveServer, told: multiprocessing.connection.Connection) -> None:
        self.caller = Caller(server.port, server.token)
        self._told = told

    def settle(self) -> None:
        """Let what is asked now be answered, and forget how late it was."""
        time.sleep(5 * EVERY_S)
        self.worst_s()

    def worst_s(self) -> float:
        """How late the neighbour's worst answer was since this was last asked."""
        self._told.send(True)
        worst_s: float = self._told.recv()
        return worst_s

    def disturb(self, name: str, verb: str, arguments: dict[str, Any]) -> Pause:
        """Make a call and see what it does to the neighbour."""
        body = request_of(verb, arguments)
        self.worst_s()
        began_s = time.monotonic()
        result = self.caller.send(body)
        call_s = time.monotonic() - began_s
        time.sleep(5 * EVERY_S)  # what was asked during the call is answered soon after it
        outcome = "done"
        if result.get("isError"):
            payload = result.get("structuredContent") or result
            outcome = str(payload.get("code") or payload)[:60]
        return Pause(name, call_s, self.worst_s(), outcome)


@contextmanager
def arena(database: str | Path, program: Sequence[str] = ()) -> Iterator[Arena]:
    """A server on a new database, with a neighbour who asks; another `program` has a defect."""
    server = LiveServer(database)
    server.program = list(program) or server.program
    with server:
        server.sandbar("workspace", "create", NEIGHBOUR)
        words = ("key", "mint", "--name", "quiet", "--rate-limit", "100000")
        minted = server.sandbar(*words, "--workspace", NEIGHBOUR)
        token = re.findall(r"sk-sand-[0-9a-f]{64}", minted)[0]
        with closing(Caller(server.port, token)) as caller:
            entity = _something_to_find(caller)
        ours, theirs = multiprocessing.Pipe()
        neighbour = multiprocessing.Process(
            target=_ask_for_ever, args=(server.port, token, entity, theirs), daemon=True
        )
        neighbour.start()
        try:
            ground = Arena(server, ours)
            yield ground
        finally:
            ground.caller.close()
            ours.send(None)
            neighbour.join(CALL_S_MAX)
            assert neighbour.exitcode == 0


def _something_to_find(caller: Caller) -> int:
    defined = caller.call("schema.define", schema_of(1, slots=3))
    assert not defined.get("isError"), defined
    made = caller.call("entity.create", {"class": "load/C0", "attributes": {"load/s0": "found"}})
    assert not made.get("isError"), made
    return int(made["structuredContent"]["entity-id"])


def schema_of(
    classes: int, *, slots: int = 0, parents: Callable[[int], list[str]] = lambda n: []
) -> dict[str, Any]:
    """Arguments of `schema.define`: classes, of which the first has slots of its own."""
    properties = {f"load/s{n}": {"dt/range": "db.type/string"} for n in range(slots)}
    made: dict[str, dict[str, Any]] = {
        f"load/C{n}": {"dt/subclass-of": parents(n) or ["dt/Ref"]} for n in range(classes)
    }
    made["load/C0"]["dt/slots"] = list(properties)
    return {"properties": properties, "classes": made}


def creates(count: int, *, text: str = "x") -> dict[str, Any]:
    """Arguments of `entity.transact` that make so many entities."""
    operations = [
        {"op": "create", "class": "load/C0", "attributes": {"load/s0": f"{text}{n}"}}
        for n in range(count)
    ]
    return {"operations": operations}


def main(database: str | None = None) -> None:
    """Print what the largest calls do to a neighbour, on a new SQLite file or in that database."""
    with tempfile.TemporaryDirectory() as folder:
        measure(database or Path(folder) / "pauses.db")


def measure(database: str | Path) -> None:
    """One line for each call."""
    with arena(database) as ground:
        time.sleep(1)
        print(f"{'nothing':32} {'':>8}    worst {ground.worst_s() * 1000:7.1f} ms")  # noqa: T201
        for name, verb, arguments in calls():
            call, call_s, worst_s, outcome = ground.disturb(name, verb, arguments)
            worst = f"{call_s * 1000:8.0f} ms worst {worst_s * 1000:7.1f} ms"
            print(f"{call:32} {worst}  {outcome}", flush=True)  # noqa: T201


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The largest calls that are allowed, and some that are not."""
    yield "1 class, 3 slots", "schema.define", schema_of(1, slots=3)
    yield "10,000 creates", "entity.transact", creates(10_000)
    yield "10,000 creates, 4 MB", "entity.transact", creates(10_000, text="lorem ipsum " * 25)
    yield "990 slots of a class", "schema.define", _renamed(schema_of(1, slots=990), "wide")
    yield "4,990 classes", "schema.define", _renamed(schema_of(4_990), "many")
    yield "chain of 60", "schema.define", _renamed(_chain(60), "chain")
    yield "8,000 slots, refused", "schema.define", _renamed(schema_of(1, slots=8_000), "wider")
    yield "9,000 classes, refused", "schema.define", _renamed(schema_of(9_000), "more")
    yield "chain of 3,000, refused", "schema.define", _renamed(_chain(3_000), "longer")


def _chain(classes: int) -> dict[str, Any]:
    return schema_of(classes, parents=lambda n: [f"load/C{n - 1}"] if n else [])


def _renamed(schema: dict[str, Any], namespace: str) -> dict[str, Any]:
    text = json.dumps(schema).replace("load/", f"{namespace}/")
    renamed: dict[str, Any] = json.loads(text)
    return renamed


if __name__ == "__main__":
    main(*sys.argv[1:])
