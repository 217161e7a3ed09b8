"""Claude Code and Codex take what `sandbar connect` prints. No model is asked, nobody logs in."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.live_server import LiveServer, sandbar
from tests.mcp_clients import node

pytestmark = pytest.mark.xdist_group("mcp-clients")

# They reach loopback, and nothing beyond it: there is no proxy on that port.
_OFFLINE = {
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}


def test_claude_code_connects_with_the_printed_command(live: LiveServer, tmp_path: Path) -> None:
    printed = sandbar("connect", "claude-code", "--url", live.url, "--token", live.token)
    command = next(line for line in printed.splitlines() if line.startswith("claude mcp add"))
    program, *words = shlex.split(command)
    assert program == "claude"
    _claude(tmp_path, *words)
    assert "✔ Connected" in _claude(tmp_path, "mcp", "get", "sandbar")


def test_claude_code_does_not_connect_with_a_wrong_key(live: LiveServer, tmp_path: Path) -> None:
    header = "Authorization: Bearer tests:wrong"
    _claude(tmp_path, "mcp", "add", "--transport", "http", "sandbar", live.url, "--header", header)
    said = _claude(tmp_path, "mcp", "get", "sandbar")
    assert "Status:" in said
    assert "Connected" not in said


def test_claude_code_reads_the_printed_file(live: LiveServer, tmp_path: Path) -> None:
    printed = sandbar("connect", "claude-code", "--url", live.url, "--token", live.token)
    (tmp_path / ".mcp.json").write_text(printed[printed.index("{") :])
    said = _claude(tmp_path, "mcp", "get", "sandbar")
    assert live.url in said  # a project's servers wait for a person's approval


def test_codex_reads_the_printed_configuration(live: LiveServer, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(sandbar("connect", "codex", "--url", live.url))
    (server,) = _codex_servers(tmp_path, live.token)
    assert server["name"] == "sandbar"
    assert server["enabled"] is True
    assert server["transport"]["type"] == "streamable_http"
    assert server["transport"]["url"] == live.url
    assert server["transport"]["bearer_token_env_var"] == "SANDBAR_TOKEN"
    assert server["auth_status"] == "bearer_token"


def test_codex_knows_nobody_without_it(live: LiveServer, tmp_path: Path) -> None:
    assert _codex_servers(tmp_path, live.token) == []


def _claude(home: Path, *words: str) -> str:
    program = node.package("@anthropic-ai/claude-code") / "bin" / "claude.exe"
    done = node.run_program(program, *words, folder=home, variables={**_OFFLINE, "HOME": str(home)})
    assert done.returncode == 0, f"claude {' '.join(words)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def _codex_servers(home: Path, token: str) -> list[dict[str, Any]]:
    program = node.package("@openai/codex") / "bin" / "codex.js"
    variables = {"HOME": str(home), "CODEX_HOME": str(home), "SANDBAR_TOKEN": token}
    done = node.run(
        program, "mcp", "list", "--json", folder=home, variables={**_OFFLINE, **variables}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    servers: list[dict[str, Any]] = json.loads(done.stdout)
    return servers
