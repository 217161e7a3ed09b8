"""What the server says once it is ready: where it is, and what to do next."""

from __future__ import annotations

import ipaddress
import shlex

from rich.console import Console
from rich.text import Text

from sandbar.cli.connect import Client, snippets_for
from sandbar.cli.ports import is_everywhere
from sandbar.database import Database
from sandbar.errors import NotFound
from sandbar.packs import PackEndpoint, known_endpoints, loaded_packs
from sandbar.settings import Settings

_CLIENTS = {
    Client.CLAUDE_CODE: "Claude Code",
    Client.CLAUDE_DESKTOP: "Claude Desktop",
    Client.CURSOR: "Cursor",
    Client.CODEX: "Codex",
}


def where_to_go(database: Database, settings: Settings, url: str) -> list[Text]:
    """The commands that come next."""
    where = of_same_database(settings)
    reached = f"{settings.public_url.rstrip('/')}/mcp" if settings.public_url else url
    lines = [
        Text(
            "Another key, or another program with one:"
            if has_account(database)
            else "Nobody can sign in yet. In another shell, make a key, or a program with one:"
        ),
        Text(f"  sandbar key mint --name NAME --role writer{where}", "cyan"),
        Text(f"  sandbar account add NAME{where}", "cyan"),
        Text("Connect a client (claude-code, claude-desktop, cursor, codex, vscode):"),
        Text(f"  sandbar connect claude-code --url {shlex.quote(reached)}", "cyan"),
    ]
    for pack, endpoint in _endpoints(database):
        own = reached.removesuffix("/mcp") + endpoint.path
        lines.append(Text(f"The tools of {pack} alone ({endpoint.title}): {own}"))
        lines.append(Text(f"  sandbar connect claude-code --pack {pack} --url {own}", "cyan"))
    if settings.public_url is None and not _is_loopback(settings.host):
        if is_everywhere(settings.host) and not settings.allowed_hosts:
            lines.append(
                Text(
                    "It listens on every address of this machine. Other machines name one of them"
                    " in the URL: allow that name with --allowed-host NAME."
                )
            )
        lines.append(
            Text("Keys travel in the clear: put TLS in front (docs/connect.md).", "yellow")
        )
    return [*lines, Text("Ctrl-C stops the server.", "dim")]


def demo_greeting(settings: Settings, url: str, token: str) -> list[Text]:
    """The key of the demo, and what to paste into each client."""
    lines = [Text(f"MCP URL  {url}", "bold"), Text(f"Key      {token}", "bold")]
    lines.append(Text("It may ask as often as it likes.", "dim"))
    for client, name in _CLIENTS.items():
        (snippet, *_) = snippets_for(client, url, token, settings)
        lines += [Text(""), Text(f"{name}, {snippet.where}:", "bold blue"), Text(snippet.text)]
        if client is Client.CODEX:
            lines += [Text("and in the shell that starts it:", "bold blue")]
            lines += [Text(f"export SANDBAR_TOKEN='{token}'")]
    return [
        *lines,
        Text(""),
        Text("Then ask: which classes does Sandbar have, and which boots cost less than 200?"),
        Text("Ctrl-C stops the server; `make run` starts it again, same data, same key.", "dim"),
    ]


def say(lines: list[Text]) -> None:
    """Print, without wrapping: what is copied from a narrow terminal must stay one line."""
    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(line, soft_wrap=True)


def has_account(database: Database) -> bool:
    """Whether anybody can sign in to the workspace."""
    for holders in ("auth/ServiceAccount", "auth/Key"):
        try:
            if database.query(holders, limit=1).items:
                return True
        except NotFound:  # a workspace from before there were accounts, or keys with names
            continue
    return False


def _endpoints(database: Database) -> list[tuple[str, PackEndpoint]]:
    """The endpoints of the packs that the workspace has."""
    loaded = loaded_packs(database.workspace)
    return [(pack, endpoint) for pack, endpoint in known_endpoints() if pack in loaded]


def of_same_database(settings: Settings) -> str:
    """The options that lead another command to the same workspace."""
    default = Settings()
    words = ""
    if settings.is_postgres:
        words += " --database URL"  # as it was given; it may hold a password
    elif settings.database != default.database:
        words += f" --database {shlex.quote(settings.database)}"
    if settings.workspace != default.workspace:
        words += f" --workspace {shlex.quote(settings.workspace)}"
    return words


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
