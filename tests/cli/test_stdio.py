"""`sandbar stdio`: what a desktop client starts; stdout belongs to the protocol alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.program import environment, run, run_well, serving

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Talk:
    """A conversation with the program that a client has started."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, method: str, params: dict[str, Any], id: int = 1) -> Any:
        """The result of a request."""
        self.tell(method, params, id=id)
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, "the program has gone"
            message = json.loads(line)  # anything else on stdout would break a client
            if message.get("id") == id:
                return message["result"]

    def tell(self, method: str, params: dict[str, Any], **more: int) -> None:
        """Send a message."""
        assert self._process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def converse(folder: Path) -> list[str]:
    """Start as Claude Desktop does, from the printed configuration; returns the tools' names."""
    shown = json.loads(run_well("connect", "claude-desktop", cwd=folder))
    server = shown["mcpServers"]["sandbar"]
    with subprocess.Popen(
        [server["command"], *server["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        env=environment(),
    ) as process:
        try:
            talk = Talk(process)
            assert talk.ask("initialize", HELLO)["serverInfo"]["name"] == "sandbar"
            talk.tell("notifications/initialized", {})
            tools = talk.ask("tools/list", {}, id=2)["tools"]
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    return [tool["name"] for tool in tools]


def test_it_starts_as_printed_and_ends_when_the_client_leaves(tmp_path: Path) -> None:
    assert "sandbar_entity_create" in converse(tmp_path)


def test_it_works_beside_a_server(tmp_path: Path) -> None:
    with serving(cwd=tmp_path):
        assert "sandbar_entity_find" in converse(tmp_path)


def test_a_problem_is_no_message_on_stdout(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database", encoding="utf-8")
    answer = run("stdio", "--database", str(tmp_path / "text.db"))
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "store.cannot-open" in answer.stderr
