"""What each MCP client accepts today: shapes of files and commands, and nothing else."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

NAME = "sandbar"
VARIABLE = "SANDBAR_TOKEN"
PRINTED_URL = "http://localhost:8080/mcp"
_INPUT = "sandbar-token"


class Snippet(NamedTuple):
    """A text to paste, and the words that say where."""

    where: str
    text: str


class Launch(NamedTuple):
    """How a client starts us itself."""

    command: str
    arguments: list[str]
    environment: dict[str, str]


def claude_code(url: str, token: str | None) -> list[Snippet]:
    """Claude Code: a command, or the file that a project shares."""
    # Double quotes: without a token the shell puts in the variable's value.
    secret = f"${VARIABLE}" if token is None else _in_double_quotes(token)
    command = f"claude mcp add --transport http {NAME} {shlex.quote(url)}"
    server = _http(url, token or f"${{{VARIABLE}}}", type="http")
    return [
        Snippet("in a shell", f'{command} --header "Authorization: Bearer {secret}"'),
        Snippet("or in the project's .mcp.json", _json({"mcpServers": {NAME: server}})),
    ]


def claude_desktop(launch: Launch) -> list[Snippet]:
    """Claude Desktop: it starts `sandbar stdio` itself."""
    server: dict[str, Any] = {"command": launch.command, "args": launch.arguments}
    if launch.environment:
        server["env"] = launch.environment
    where = "in claude_desktop_config.json (Settings, Developer, Edit Config), then restart it"
    return [Snippet(where, _json({"mcpServers": {NAME: server}}))]


def cursor(url: str, token: str | None) -> list[Snippet]:
    """Cursor: a file for everything or for one project."""
    server = _http(url, token or f"${{env:{VARIABLE}}}")
    where = "in ~/.cursor/mcp.json, or .cursor/mcp.json of a project"
    return [Snippet(where, _json({"mcpServers": {NAME: server}}))]


def codex(url: str) -> list[Snippet]:
    """Codex: it refuses a token in the file, and reads the variable that the file names."""
    lines = [f"[mcp_servers.{NAME}]", f"url = {json.dumps(url)}"]
    lines.append(f"bearer_token_env_var = {json.dumps(VARIABLE)}")
    return [Snippet("in ~/.codex/config.toml", "\n".join(lines))]


def vscode(url: str, token: str | None) -> list[Snippet]:
    """VS Code: without a token it asks for one, once, and keeps it safe."""
    server = _http(url, token or f"${{input:{_INPUT}}}", type="http")
    document: dict[str, Any] = {"servers": {NAME: server}}
    if token is None:
        asked = {"type": "promptString", "id": _INPUT, "description": "Key of a Sandbar account"}
        document = {"inputs": [asked | {"password": True}], **document}
    return [Snippet("in .vscode/mcp.json of a project", _json(document))]


def printed_claude_code(url: str | None, token: str | None) -> list[Snippet]:
    """The .mcp.json of Sandbar's first documents."""
    server = _http(url or PRINTED_URL, token or f"${{{VARIABLE}}}", type="http")
    return [Snippet("in the project's .mcp.json", _json({"mcpServers": {NAME: server}}))]


def printed_claude_desktop(url: str | None, token: str | None) -> list[Snippet]:
    """The claude_desktop_config.json of Sandbar's first documents."""
    server = _http(url or PRINTED_URL, token or "<your-service-account-token>")
    return [Snippet("in claude_desktop_config.json", _json({"mcpServers": {NAME: server}}))]


def _http(url: str, secret: str, **before: str) -> dict[str, Any]:
    return {**before, "url": url, "headers": {"Authorization": f"Bearer {secret}"}}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _in_double_quotes(text: str) -> str:
    """The text as a shell reads it between double quotes."""
    return "".join(f"\\{one}" if one in '\\"$`' else one for one in text)
