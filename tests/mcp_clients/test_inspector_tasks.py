"""Inspector's `mcpdo` with tasks: connections that a daemon keeps, and commands that use them.

What it cannot do: commands of one connection wait for each other, so a task that one of them waits
for can be cancelled through another connection only; and at 2026-07-28 it lists no tasks and shows
the handle of none, so the handle of what is to be cancelled must be known from elsewhere.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live_server import LiveServer
from tests.mcp_clients import node
from tests.mcp_clients.inspector import MCPDO, Ready

pytestmark = pytest.mark.xdist_group("mcp-clients")

ERAS = {"legacy": ["--task"], "modern": []}  # since 2026-07-28 the server alone decides
_WAIT_S = 30
_TOOL_SAYS_ERROR = 5


class Mcpdo:
    """The program with a daemon of its own, connected twice in each era."""

    def __init__(self, home: Path) -> None:
        self._variables = {
            "HOME": str(home),
            "MCP_INSPECTOR_DAEMON_DIR": str(home / "daemon"),
            "MCP_INSPECTOR_DAEMON_TOKEN": secrets.token_urlsafe(32),
            "MCP_INSPECTOR_SECRET_STORE": "memory",
        }
        (home / "daemon").mkdir(mode=0o700)
        self.ready = Ready(MCPDO, self._variables)

    def connect(self, server: LiveServer, name: str, era: str) -> None:
        """Make a connection that later commands name."""
        where = ["--server-url", server.url, "--transport", "http"]
        signed = ["--header", f"Authorization: Bearer {server.token}"]
        answer = self.run(name, "connect", "--era", era, *where, *signed)
        assert answer["protocolEra"] == era

    def run(self, connection: str, *words: str, code: int = 0) -> Any:
        """Run a command to its end; what it prints. One that is to fail is a process of its own."""
        given = self._words(connection, *words)
        if code:
            done = node.run(MCPDO.path, *given, variables=self._variables)
        else:
            done = self.ready.run(*given)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout else done.stderr

    def begin(self, connection: str, *words: str) -> subprocess.Popen[str]:
        """Run a command beside others."""
        return subprocess.Popen(
            [str(node.NODE), str(MCPDO.path), *self._words(connection, *words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=node.environment(self._variables),
        )

    def _words(self, connection: str, *words: str) -> list[str]:
        named = ["--connection", connection] if connection else []
        return ["--format", "json", "--stored-auth-only", *named, *words]


@pytest.fixture(scope="module")
def mcpdo(tasking: LiveServer) -> Iterator[Mcpdo]:
    """A daemon with two connections per era."""
    with tempfile.TemporaryDirectory(prefix="mcpdo-") as home:  # a socket's path must be short
        program = Mcpdo(Path(home))
        with program.ready:
            try:
                for era in ERAS:
                    program.connect(tasking, era, era)
                    program.connect(tasking, f"{era}-beside", era)
                yield program
            finally:
                program.run("", "daemon", "stop")


@pytest.mark.parametrize("era", ERAS)
def test_it_waits_for_the_end(era: str, mcpdo: Mcpdo) -> None:
    called = ["tools/call", "slow_compute", "seconds:=0.3", "label:=tide", *ERAS[era]]
    result = mcpdo.run(era, *called)
    assert result["content"][0]["text"] == "Computed tide in 0.3 s"
    assert ("io.modelcontextprotocol/related-task" in result.get("_meta", {})) is (era == "legacy")


@pytest.mark.parametrize("era", ERAS)
def test_it_cancels_through_another_connection(era: str, mcpdo: Mcpdo) -> None:
    called = ["tools/call", "slow_compute", "seconds:=60", *ERAS[era]]
    with mcpdo.begin(era, *called) as calling:
        task = _working(mcpdo)
        mcpdo.run(f"{era}-beside", "tasks/cancel", task)
        told, refused = calling.communicate(timeout=_WAIT_S)
    assert calling.returncode != 0, told
    assert "cancelled" in refused
    shown = mcpdo.run(f"{era}-beside", "tasks/get", task)["task"]
    assert shown["status"] == "cancelled"


@pytest.mark.parametrize("era", ERAS)
def test_it_answers(era: str, mcpdo: Mcpdo) -> None:
    called = ["tools/call", "confirm_delete", "filename:=letter.txt", *ERAS[era]]
    question = mcpdo.run(era, *called)["elicitationPending"]
    assert question["message"] == "Really delete the file?"
    result = mcpdo.run(era, "elicitation/respond", question["elicitationId"], "confirm:=true")
    assert result["content"][0]["text"] == "Deleted letter.txt, or so it seems"


@pytest.mark.parametrize("era", ERAS)
def test_it_declines(era: str, mcpdo: Mcpdo) -> None:
    called = ["tools/call", "confirm_delete", "filename:=letter.txt", *ERAS[era]]
    question = mcpdo.run(era, *called)["elicitationPending"]["elicitationId"]
    code = 1 if era == "legacy" else _TOOL_SAYS_ERROR
    told = mcpdo.run(era, "elicitation/respond", question, "--decline", code=code)
    assert "deletion/kept" in json.dumps(told)


def test_only_the_extension_is_without_a_list(mcpdo: Mcpdo) -> None:
    mcpdo.run("legacy", "tools/call", "slow_compute", "seconds:=0", "--task")
    assert mcpdo.run("legacy", "tasks/list")["tasks"]
    assert mcpdo.run("modern", "tasks/list")["tasks"] == []


def _working(mcpdo: Mcpdo) -> str:
    """The handle of the task that runs: only a session lists it."""
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end:
        for task in mcpdo.run("legacy-beside", "tasks/list")["tasks"]:
            if task["status"] == "working":
                return str(task["taskId"])
    raise AssertionError("no task was begun")
