"""What each MCP client accepts today: shapes of files and commands, and nothing else."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

NAME = "sandbar"
VARIABLE = "SANDBAR_TOKEN"
PRINTED_URL = "http://localhost:8080/mcp"
PRINTED_KEY = "sk-sand-…"
_INPUT = "sandbar-token"


class Snippet(NamedTuple):
    """A text to paste, and the words that say where."""

    where: str
    text: str


class Server(NamedTuple):
    """What clients talk to: its name in their files, and its URL."""

    name: str
    url: str


class Launch(NamedTuple):
    """How a client starts us itself."""

    command: str
    arguments: list[str]
    environment: dict[str, str]


def claude_code(server: Server, token: str | None) -> list[Snippet]:
    """Claude Code: a command, or the file that a project shares."""
    # Double quotes: without a token the shell puts in the variable's value.
    secret = f"${VARIABLE}" if token is None else _in_double_quotes(token)
    command = f"claude mcp add --transport http {server.name} {shlex.quote(server.url)}"
    entry = _http(server.url, token or f"${{{VARIABLE}}}", type="http")
    return [
        Snippet("in a shell", f'{command} --header "Authorization: Bearer {secret}"'),
        Snippet("or in the project's .mcp.json", _json({"mcpServers": {server.name: entry}})),
    ]


def claude_desktop(launch: Launch) -> list[Snippet]:
    """Claude Desktop: it starts `sandbar stdio` itself."""
    server: dict[str, Any] = {"command": launch.command, "args": launch.arguments}
    if launch.environment:
        server["env"] = launch.environment
    where = "in claude_desktop_config.json (Settings, Developer, Edit Config), then restart it"
    return [Snippet(where, _json({"mcpServers": {NAME: server}}))]


def cursor(server: Server, token: str | None) -> list[Snippet]:
    """Cursor: a file for everything or for one project."""
    entry = _http(server.url, token or f"${{env:{VARIABLE}}}")
    where = "in ~/.cursor/mcp.json, or .cursor/mcp.json of a project"
    return [Snippet(where, _json({"mcpServers": {server.name: entry}}))]


def codex(server: Server) -> list[Snippet]:
    """Codex: it refuses a token in the file, and reads the variable that the file names."""
    lines = [f"[mcp_servers.{server.name}]", f"url = {json.dumps(server.url)}"]
    lines.append(f"bearer_token_env_var = {json.dumps(VARIABLE)}")
    return [Snippet("in ~/.codex/config.toml", "\n".join(lines))]


def vscode(server: Server, token: str | None) -> list[Snippet]:
    """VS Code: without a token it asks for one, once, and keeps it safe."""
    entry = _http(server.url, token or f"${{input:{_INPUT}}}", type="http")
    document: dict[str, Any] = {"servers": {server.name: entry}}
    if token is None:
        asked = {"type": "promptString", "id": _INPUT, "description": "Key of a Sandbar account"}
        document = {"inputs": [asked | {"password": True}], **document}
    return [Snippet("in .vscode/mcp.json of a project", _json(document))]


def curl(server: Server, token: str | None, request: dict[str, Any]) -> list[Snippet]:
    """A shell: one request, to see whether somebody answers."""
    secret = f"${VARIABLE}" if token is None else _in_double_quotes(token)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **request}, separators=(",", ":"))
    lines = [
        f"curl -s {shlex.quote(server.url)}",
        f'-H "Authorization: Bearer {secret}"',
        '-H "Content-Type: application/json"',
        f"-d '{body}'",
    ]
    return [Snippet("in a shell", " \\\n  ".join(lines))]


def printed_claude_code(url: str | None, token: str | None) -> list[Snippet]:
    """The .mcp.json of Sandbar's first documents."""
    server = _http(url or PRINTED_URL, token or f"${{{VARIABLE}}}", type="http")
    return [Snippet("in the project's .mcp.json", _json({"mcpServers": {NAME: server}}))]


def printed_claude_desktop(url: str | None, token: str | None) -> list[Snippet]:
    """The claude_desktop_config.json of Sandbar's first documents."""
    server = _http(url or PRINTED_URL, token or "<your-service-account-token>")
    return [Snippet("in claude_desktop_config.json", _json({"mcpServers": {NAME: server}}))]


def printed_claude_desktop_of(server: Server, token: str | None) -> list[Snippet]:
    """The claude_desktop_config.json of Sandwich's page."""
    lines = [
        "{",
        '  "mcpServers": {',
        f"    {_json(server.name)}: {{",
        f'      "url": {_json(server.url)},',
        f'      "headers": {{ "Authorization": {_json(f"Bearer {token or PRINTED_KEY}")} }}',
        "    }",
        "  }",
        "}",
    ]
    return [Snippet("in claude_desktop_config.json", "\n".join(lines))]


def printed_codex(server: Server, token: str | None, comment: str) -> list[Snippet]:
    """The config.toml of Sandwich's page."""
    lines = [
        f"# {comment}",
        f"[mcp_servers.{server.name}]",
        f"url = {_json(server.url)}",
        f"auth_header = {_json(f'Bearer {token or PRINTED_KEY}')}",
    ]
    return [Snippet("in ~/.codex/config.toml", "\n".join(lines))]


def _http(url: str, secret: str, **before: str) -> dict[str, Any]:
    return {**before, "url": url, "headers": {"Authorization": f"Bearer {secret}"}}


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _in_double_quotes(text: str) -> str:
    """The text as a shell reads it between double quotes."""
    return "".join(f"\\{one}" if one in '\\"$`' else one for one in text)
