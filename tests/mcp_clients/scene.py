"""What every client does in these tests: one entity to find and read, and changes to hear of."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import count
from typing import Any

import httpx

from tests.live_server import LiveServer
from tests.mcp.without_tls import WITHOUT_TLS
from tests.mcp_clients.drivers import RESOURCE_UPDATED, TOOLS_CHANGED, Driver

BOOT = "product/moon-boot-pro"
BOOT_URI = f"mcp://sandbar/zorp/SpaceBoot/{BOOT}"
BOOT_NAME = "Moon Boot Pro"
FIND = "sandbar_entity_find"

HEARD_WITHIN_S = 0.1  # of the commit, as promised
# A SQLite server looks for the commits of other processes every 50 ms.
HEARD_FROM_ANOTHER_PROCESS_WITHIN_S = HEARD_WITHIN_S + 0.05
LOST_AFTER_S = 5
ROUNDS = 3

_numbers = count(1)

# A way to call a verb: over HTTP, or with the command line.
Caller = Callable[[str, dict[str, Any]], Any]


def lists_calls_and_reads(client: Driver) -> None:
    """The three requests that every agent begins with."""
    assert FIND in client.tools()
    result = client.call(FIND, {"entity": BOOT})
    assert not result.get("isError"), result
    found = result["structuredContent"]
    assert found["entity"]["ident"] == BOOT
    assert json.loads(result["content"][0]["text"]) == found
    (content,) = client.read(BOOT_URI)["contents"]
    assert content["uri"] == BOOT_URI
    assert BOOT_NAME in content["text"]


def over_http(server: LiveServer) -> Caller:
    """Calls a verb with a bare request, as the seeds' scripts do."""

    def call(verb: str, arguments: dict[str, Any]) -> Any:
        params = {"name": f"sandbar.{verb}", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = httpx.post(
            server.url, headers=server.headers, json=body, timeout=30, verify=WITHOUT_TLS
        ).json()
        assert not answer.get("result", {"isError": True}).get("isError"), answer
        return answer["result"]["structuredContent"]

    return call


def make_a_class(call: Caller) -> float:
    """Make a class that nobody has seen before; when that was committed, by the monotonic clock."""
    ident = f"scene/Thing{next(_numbers)}-{time.monotonic_ns()}"
    definition = {"db/doc": "Made while everybody listens.", "dt/subclass-of": ["dt/Ref"]}
    return _committed(call("schema.define", {"classes": {ident: definition}}))


def change_the_boot(call: Caller) -> float:
    """Paint the boot; when that was committed, by the monotonic clock."""
    colour = f"shade {next(_numbers)}-{time.monotonic_ns()}"
    arguments = {"entity": BOOT, "attributes": {"footwear/color": colour}}
    return _committed(call("entity.update", arguments))


def _committed(answer: dict[str, Any]) -> float:
    instant = datetime.fromisoformat(answer["receipt"]["instant"])
    return time.monotonic() - (time.time() - instant.timestamp())


def begin_to_listen(clients: Mapping[str, Driver], call: Caller) -> None:
    """Return when every client has a stream: a handshake client does not say when it is open."""
    for client in clients.values():
        client.listen(BOOT_URI)
    deadline = time.monotonic() + 2 * LOST_AFTER_S
    waiting = dict(clients)
    while waiting:
        assert time.monotonic() < deadline, f"no stream: {', '.join(waiting)}"
        since = time.monotonic()
        change_the_boot(call)
        for name, client in list(waiting.items()):
            if client.inbox.wait_for(RESOURCE_UPDATED, BOOT_URI, since=since, timeout_s=0.5):
                del waiting[name]


def delays_of_a_class(clients: Mapping[str, Driver], call: Caller) -> dict[str, list[float]]:
    """Make classes; how long each client took to hear of each one."""
    return _delays(clients, lambda: make_a_class(call), TOOLS_CHANGED, None)


def delays_of_a_change(clients: Mapping[str, Driver], call: Caller) -> dict[str, list[float]]:
    """Change the boot; how long each client took to hear of each change."""
    return _delays(clients, lambda: change_the_boot(call), RESOURCE_UPDATED, BOOT_URI)


def _delays(
    clients: Mapping[str, Driver], change: Callable[[], float], method: str, uri: str | None
) -> dict[str, list[float]]:
    delays: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        since = time.monotonic()
        committed = change()
        for name, client in clients.items():
            told = client.inbox.wait_for(method, uri, since=since, timeout_s=LOST_AFTER_S)
            assert told is not None, f"{name} was not told: {method} {uri or ''}"
            delays[name].append(told.at - committed)
    return delays


def check_delays(delays: Mapping[str, list[float]], within_s: float = HEARD_WITHIN_S) -> str:
    """The promise holds when the machine has time: in the best round of each client."""
    late = {name: min(times) for name, times in delays.items() if min(times) > within_s}
    assert not late, f"told too late (s): {late}"
    everybody = sorted(time for times in delays.values() for time in times)
    parts = [f"{name} {min(times) * 1000:.0f}" for name, times in delays.items()]
    middle = everybody[len(everybody) // 2] * 1000
    return f"ms from commit to client, best of {ROUNDS}: {', '.join(parts)}; median {middle:.0f}"
