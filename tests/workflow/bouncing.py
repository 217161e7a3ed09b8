"""The attack of timers: processes that bounce between two states and write as they go.

Run it against a server of its own, as an operator would see it:

    python -m tests.workflow.bouncing [seconds]

A writer's key with the usual 60 requests a minute makes two definitions and starts 20 processes,
which then need no request any more. Another workspace reads meanwhile; then the server is killed
and started again.
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROCESSES = 20
TEXT = "x" * 240_000
_MIB = 1 << 20
_SANDBAR = [str(Path(sys.executable).with_name("sandbar"))]


def bouncing(name: str, creates: int = 4, seconds: float = 0.1) -> dict[str, Any]:
    """A workflow of two states that never rests; every transition makes so many entities."""
    make = {"create": "test/Junk", "slots": {"test/text": {"from": "data.text"}}}
    there = {"name": "there", "after": {"seconds": seconds, "transition": "back"}}
    here = {"name": "here", "initial?": True, "after": {"seconds": seconds, "transition": "go"}}
    moves = [("go", "here", "there"), ("back", "there", "here"), ("stop", "here", "gone")]
    return {
        "name": name,
        "states": [here, there, {"name": "gone", "terminal?": True, "terminal-kind": "cancel"}],
        "transitions": [
            {"name": move, "from": [start], "to": end, "effects": [make] * creates}
            if move != "stop"
            else {"name": move, "from": [start, "there"], "to": end}
            for move, start, end in moves
        ],
    }


JUNK: dict[str, dict[str, Any]] = {
    "properties": {"test/text": {"dt/range": "db.type/string"}},
    "classes": {"test/Junk": {"dt/subclass-of": ["dt/Resource"], "dt/slots": ["test/text"]}},
}


class _Server:
    """`sandbar serve` on a port of its own."""

    def __init__(self, folder: Path) -> None:
        self._log = open(folder / "log", "ab")  # noqa: SIM115 - as long as the server
        self._process = subprocess.Popen(
            [*_SANDBAR, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE,
            stderr=self._log, text=True,
        )  # fmt: skip
        self.port = self._find_port()

    def _find_port(self) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found[1])
        raise AssertionError("the server has not begun")

    def call(self, token: str, verb: str, arguments: dict[str, Any]) -> Any:
        """Call a tool; what it answers."""
        body = {"name": f"sandbar.{verb}", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def kill(self) -> None:
        """As a power cut ends it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._log.close()


def _sandbar(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*_SANDBAR, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def _key(folder: Path, workspace: str, *more: str) -> str:
    words = ["key", "mint", "--name", f"of-{workspace}", "--workspace", workspace, *more]
    found = re.search(r"sk-\S+", _sandbar(folder, *words))
    assert found is not None
    return found[0]


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.glob("sandbar.db*"))


def _watch(server: _Server, folder: Path, token: str, seconds: float) -> str:
    began, before, waited = time.monotonic(), _size(folder), []
    while time.monotonic() < began + seconds:
        asked = time.monotonic()
        server.call(token, "entity.find", {"entity": "dt/Class"})
        waited.append((time.monotonic() - asked) * 1000)
        time.sleep(0.01)
    wrote = (_size(folder) - before) / _MIB / (time.monotonic() - began)
    worst = statistics.quantiles(waited, n=100)[98]
    middle = statistics.median(waited)
    return f"{wrote:.1f} MiB/s; another tenant waits {middle:.1f} ms, p99 {worst:.1f}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(seconds: float) -> None:
    """Attack, kill, start again; say what was written and how others fared."""
    with tempfile.TemporaryDirectory(prefix="sandbar-bouncing-") as name:
        folder = Path(name)
        for workspace in ("attacker", "other"):
            _sandbar(folder, "workspace", "create", workspace)
        token = _key(folder, "attacker", "--role", "writer")
        other = _key(folder, "other", "--rate-limit", "0")
        server = _Server(folder)
        try:
            _say(f"nobody attacks:      {_watch(server, folder, other, 3)}")
            server.call(token, "schema.define", JUNK)
            for n in range(2):
                server.call(token, "workflow.define", bouncing(f"test/bounce-{n}"))
            for n in range(PROCESSES):
                start = {"workflow": f"test/bounce-{n % 2}", "data": {"text": TEXT}}
                server.call(token, "workflow.start-process", start)
            _say(f"attacked:            {_watch(server, folder, other, seconds)}")
            server.kill()
            server = _Server(folder)
            _say(f"after the restart:   {_watch(server, folder, other, seconds)}")
            _say(f"the file has {_size(folder) / _MIB:,.0f} MiB")
            _say(json.dumps(server.call(token, "workspace.usage", {}))[:1500])
        finally:
            server.kill()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
