"""`sandbar connect`: each client's shape, and nothing but text to paste on stdout."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import PROGRAM, run_here, run_well_here

ROOT = Path(__file__).parents[2]
URL = "http://127.0.0.1:8080/mcp"
CLIENTS = ("claude-code", "claude-desktop", "cursor", "codex", "vscode", "curl")


def shown(client: str, *words: str) -> Any:
    """The JSON that is printed for a client."""
    return json.loads(run_well_here("connect", client, *words))


def bearer(server: dict[str, Any]) -> str:
    """The header by which a client signs in."""
    return str(server["headers"]["Authorization"])


def last_word(command: str) -> str:
    """The last argument of a command, as a real shell understands it."""
    script = f'set -- {command}; printf %s "${{!#}}"'
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout


def test_claude_code_gets_a_command_and_a_file() -> None:
    command, _, file = run_well_here("connect", "claude-code").partition("\n\n")
    assert shlex.split(command) == [
        *("claude", "mcp", "add", "--transport", "http", "sandbar", URL),
        *("--header", "Authorization: Bearer $SANDBAR_TOKEN"),
    ]
    server = json.loads(file)["mcpServers"]["sandbar"]
    assert (server["type"], server["url"]) == ("http", URL)
    assert bearer(server) == "Bearer ${SANDBAR_TOKEN}"


def test_a_token_is_written_as_the_shell_reads_it() -> None:
    token = 'claude:a"b$c`d\\e f'
    command, _, file = run_well_here("connect", "claude-code", "--token", token).partition("\n\n")
    assert last_word(command) == f"Authorization: Bearer {token}"
    assert bearer(json.loads(file)["mcpServers"]["sandbar"]) == f"Bearer {token}"


def test_claude_desktop_starts_the_program_itself(tmp_path: Path) -> None:
    text = run_well_here("connect", "claude-desktop", "--workspace", "shop", cwd=tmp_path)
    server = json.loads(text)["mcpServers"]["sandbar"]
    assert Path(server["command"]) == PROGRAM
    database = str(tmp_path / "sandbar.db")
    assert server["args"] == ["stdio", "--database", database, "--workspace", "shop"]
    assert not (tmp_path / "sandbar.db").exists(), "printing must not make a database"


def test_a_database_url_is_kept_out_of_the_arguments() -> None:
    url = "postgresql://sandbar_app:pw@db/shop"
    server = shown("claude-desktop", "--database", url)["mcpServers"]["sandbar"]
    assert server["args"] == ["stdio"]
    assert server["env"] == {"SANDBAR_DATABASE": url}


def test_cursor_and_vscode_get_their_own_shapes() -> None:
    cursor = shown("cursor", "--url", "https://s.example/mcp")["mcpServers"]["sandbar"]
    assert cursor["url"] == "https://s.example/mcp"
    assert bearer(cursor) == "Bearer ${env:SANDBAR_TOKEN}"
    code = shown("vscode")
    (asked,) = code["inputs"]
    assert (asked["type"], asked["password"]) == ("promptString", True)
    server = code["servers"]["sandbar"]
    assert (server["type"], server["url"]) == ("http", URL)
    assert bearer(server) == f"Bearer ${{input:{asked['id']}}}"
    assert "inputs" not in shown("vscode", "--token", "k")


def test_codex_names_the_variable_and_never_the_token() -> None:
    answer = run_here("connect", "codex", "--token", "claude:secret")
    table = tomllib.loads(answer.stdout)["mcp_servers"]["sandbar"]
    assert table == {"url": URL, "bearer_token_env_var": "SANDBAR_TOKEN"}
    assert "export SANDBAR_TOKEN=claude:secret" in answer.stderr


def test_as_printed_gives_the_seeds_shapes() -> None:
    url = "http://localhost:8080/mcp"
    assert shown("claude-code", "--as-printed")["mcpServers"]["sandbar"] == {
        "type": "http",
        "url": url,
        "headers": {"Authorization": "Bearer ${SANDBAR_TOKEN}"},
    }
    assert shown("claude-desktop", "--as-printed")["mcpServers"]["sandbar"] == {
        "url": url,
        "headers": {"Authorization": "Bearer <your-service-account-token>"},
    }
    given = shown("claude-desktop", "--as-printed", "--token", "claude:k")
    assert bearer(given["mcpServers"]["sandbar"]) == "Bearer claude:k"


def test_the_endpoint_of_a_pack_has_its_own_name_and_url() -> None:
    """As printed by Sandwich: tests/seeds. Without the words, what clients accept today."""
    url = "http://127.0.0.1:8080/api/mcp"
    assert shown("cursor", "--pack", "care")["mcpServers"]["sandwich"]["url"] == url
    assert shown("vscode", "--pack", "care", "--token", "k")["servers"]["sandwich"]["url"] == url
    table = tomllib.loads(run_well_here("connect", "codex", "--pack", "care"))["mcp_servers"]
    assert table == {"sandwich": {"url": url, "bearer_token_env_var": "SANDBAR_TOKEN"}}
    desktop = shown("claude-desktop", "--pack", "care", "--token", "k")["mcpServers"]["sandwich"]
    assert desktop == {"url": url, "headers": {"Authorization": "Bearer k"}}
    command, _, _ = run_well_here("connect", "claude-code", "--pack", "care").partition("\n\n")
    assert command.startswith(f"claude mcp add --transport http sandwich {url} ")


def test_the_advice_for_the_endpoint_of_a_pack_is_true() -> None:
    for words in ((), ("--as-printed",)):
        asked = run_here("connect", "claude-desktop", "--pack", "care", *words).stderr
        assert "without a running server" not in asked
        assert "sandbar serve --pack care" in asked
        assert "sandbar key mint --name NAME --role writer" in asked
        assert "where sk-sand-… stands" in asked
        given = run_here(
            "connect", "claude-desktop", "--pack", "care", "--token", "k", *words
        ).stderr
        assert "sandbar serve --pack care" in given
        assert "keep the file to yourself" in given
    curl = run_here("connect", "curl", "--token", "k").stderr
    assert "file" not in curl


def test_curl_asks_for_what_there_is() -> None:
    words = shlex.split(run_well_here("connect", "curl", "--token", "a b$c").replace("\\\n", ""))
    assert (words[:3], words[4]) == (["curl", "-s", URL], "Authorization: Bearer a b\\$c")
    assert json.loads(words[-1]) == {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    called = shlex.split(run_well_here("connect", "curl", "--pack", "care").replace("\\\n", ""))
    assert json.loads(called[-1])["params"] == {"name": "ping", "arguments": {}}


@pytest.mark.parametrize("client", CLIENTS)
def test_advice_goes_to_stderr(client: str) -> None:
    answer = run_here("connect", client)
    assert "#" not in answer.stdout
    assert answer.stderr.startswith("# ")


@pytest.mark.parametrize(
    "words",
    [
        ("netscape",),
        ("codex", "--as-printed"),
        ("claude-desktop", "--url", URL),
        ("claude-desktop", "--token", "k"),
        ("codex", "--pack", "zorp"),
        ("curl", "--pack", "no-such"),
        ("claude-code", "--pack", "care", "--as-printed"),
        ("curl", "--as-printed"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(words: tuple[str, ...]) -> None:
    answer = run_here("connect", *words)
    assert (answer.returncode, answer.stdout) == (2, "")


def test_the_settings_say_where_the_server_is() -> None:
    port = {"SANDBAR_PORT": "9000", "SANDBAR_HOST": "0.0.0.0"}
    assert "http://127.0.0.1:9000/mcp" in run_well_here("connect", "codex", env=port)
    public = {"SANDBAR_PUBLIC_URL": "https://s.example/"}
    assert '"https://s.example/mcp"' in run_well_here("connect", "codex", env=public)


def pasted(page: str, language: str) -> list[Any]:
    """The blocks of a page, read."""
    read = tomllib.loads if language == "toml" else json.loads
    return [read(text) for text in re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)]


def test_the_page_shows_what_is_printed() -> None:
    page = (ROOT / "docs" / "connect.md").read_text(encoding="utf-8")
    command, _, file = run_well_here("connect", "claude-code").partition("\n\n")
    assert f"\n{command}\n" in page
    shown_code, shown_desktop, shown_cursor, shown_vscode = pasted(page, "json")
    assert (shown_code, shown_cursor) == (json.loads(file), shown("cursor"))
    assert shown_vscode == shown("vscode")
    assert pasted(page, "toml") == [tomllib.loads(run_well_here("connect", "codex"))]
    desktop = shown("claude-desktop")["mcpServers"]["sandbar"]
    assert shown_desktop["mcpServers"]["sandbar"].keys() == desktop.keys()
