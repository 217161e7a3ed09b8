"""`sandbar connect`: what to paste into an MCP client."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandbar.cli.options import ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.cli.clients import Launch, Server, Snippet
    from sandbar.packs import PackEndpoint
    from sandbar.settings import Settings


_MADE = "A key is made by: sandbar key mint --name NAME --role writer"
_EXPORT = "export SANDBAR_TOKEN='sk-sand-…'"
_KEPT = "The key stands in it: keep the file to yourself."


class Client(StrEnum):
    """The clients that we know how to connect."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    CURL = "curl"


def connect(
    client: Annotated[Client, typer.Argument(help="The program that is to use Sandbar.")],
    url: Annotated[
        str | None,
        typer.Option(
            help="The server's MCP URL. Else that of `sandbar serve`.", show_default=False
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:KEY|KEY",
            help="The key to write into it. Else the client takes it from SANDBAR_TOKEN or asks.",
            show_default=False,
        ),
    ] = None,
    as_printed: Annotated[
        bool,
        typer.Option("--as-printed", help="The shape that the first documents printed."),
    ] = False,
    pack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The endpoint that a pack has for itself, with its tools alone: care has one.",
            show_default=False,
        ),
    ] = None,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Print what a client's configuration needs: text to paste on stdout, advice on stderr.

    Claude Desktop starts `sandbar stdio` on the database; the others talk to a running server.
    """
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    if pack is not None:
        print_snippets(_of_pack(client, _endpoint_of(pack), url, token, settings, as_printed))
        for line in _advice_for_pack(client, pack, token, as_printed):
            print(f"# {line}", file=sys.stderr)
        return
    if as_printed:
        print_snippets(_as_printed(client, url, token))
        return
    if client is Client.CLAUDE_DESKTOP and (url or token):
        raise typer.BadParameter(
            "Claude Desktop starts `sandbar stdio` itself: it takes --database, no --url or --token"
        )
    print_snippets(snippets_for(client, url or default_url(settings), token, settings))
    for line in _advice(client, token):
        print(f"# {line}", file=sys.stderr)


def snippets_for(client: Client, url: str, token: str | None, settings: Settings) -> list[Snippet]:
    """What to paste into a client."""
    from sandbar.cli import clients

    if client is Client.CLAUDE_DESKTOP:
        return clients.claude_desktop(_launch(settings))
    server = clients.Server(clients.NAME, url)
    return _over_http(client, server, token, {"method": "tools/list"})


def _over_http(
    client: Client, server: Server, token: str | None, request: dict[str, Any]
) -> list[Snippet]:
    from sandbar.cli import clients

    if client is Client.CLAUDE_CODE:
        return clients.claude_code(server, token)
    if client is Client.CURSOR:
        return clients.cursor(server, token)
    if client is Client.CURL:
        return clients.curl(server, token, request)
    return clients.codex(server) if client is Client.CODEX else clients.vscode(server, token)


def print_snippets(snippets: Iterable[Snippet]) -> None:
    """Where each belongs, on stderr; what it is, on stdout."""
    for number, snippet in enumerate(snippets):
        print(f"# {snippet.where}:", file=sys.stderr, flush=True)
        print(f"\n{snippet.text}" if number else snippet.text, flush=True)


def default_url(settings: Settings) -> str:
    """The URL of a server with these settings."""
    from sandbar.cli.ports import url_at

    if settings.public_url:
        return f"{settings.public_url.rstrip('/')}/mcp"
    return url_at(settings.host, settings.port)


def _as_printed(client: Client, url: str | None, token: str | None) -> list[Snippet]:
    from sandbar.cli import clients

    if client is Client.CLAUDE_CODE:
        return clients.printed_claude_code(url, token)
    if client is Client.CLAUDE_DESKTOP:
        return clients.printed_claude_desktop(url, token)
    raise _nothing_printed(client)


def _endpoint_of(pack: str) -> PackEndpoint:
    from sandbar.packs import known_endpoints

    known = known_endpoints()
    for name, endpoint in known:
        if name == pack:
            return endpoint
    others = ", ".join(name for name, _ in known)
    raise typer.BadParameter(f"{pack} has no endpoint of its own; these have: {others}")


def _of_pack(
    client: Client,
    endpoint: PackEndpoint,
    url: str | None,
    token: str | None,
    settings: Settings,
    as_printed: bool,
) -> list[Snippet]:
    from sandbar.cli import clients

    own = default_url(settings).removesuffix("/mcp") + endpoint.path
    server = clients.Server(endpoint.name, url or own)
    if client is Client.CLAUDE_DESKTOP:  # by `sandbar stdio` it would get everything else, too
        return clients.printed_claude_desktop_of(server, token)
    call = {"name": endpoint.tools[0], "arguments": {}}
    request = {"method": "tools/call", "params": call}
    if not as_printed:
        return _over_http(client, server, token, request)
    shown = token or clients.PRINTED_KEY
    if client is Client.CODEX:
        comment = " — ".join(filter(None, (endpoint.title, endpoint.summary)))
        return clients.printed_codex(server, token, comment)
    if client is Client.CURL:
        (snippet,) = clients.curl(server, shown, request)
        expected = f'# Expect: "{endpoint.expect}"\n' if endpoint.expect else ""
        return [snippet._replace(text=expected + snippet.text)]
    if client is Client.CURSOR:
        return clients.cursor(server, shown)
    raise _nothing_printed(client)


def _nothing_printed(client: Client) -> typer.BadParameter:
    return typer.BadParameter(
        f"the first documents print nothing for {client.value}; leave out --as-printed"
    )


def _advice_for_pack(client: Client, pack: str, token: str | None, as_printed: bool) -> list[str]:
    served = f"A server must run, on a workspace with the pack: sandbar serve --pack {pack}"
    is_in_file = client is Client.CLAUDE_DESKTOP or as_printed
    if token is None and is_in_file:
        return [served, _MADE, "Write it where sk-sand-… stands, and keep the file to yourself."]
    return [served, _KEPT] if is_in_file else [served, *_advice(client, token)]


def _launch(settings: Settings) -> Launch:
    """Our own program and database, by their whole paths: a client starts it anywhere."""
    from sandbar.cli.clients import Launch

    found = shutil.which(sys.argv[0])
    command = str(Path(found).absolute()) if found else "sandbar"
    words, environment = ["stdio"], {}
    if settings.is_postgres:
        # It may hold a password, and arguments are there for everybody on the machine to see.
        environment["SANDBAR_DATABASE"] = settings.database
    else:
        words += ["--database", str(Path(settings.database).absolute())]
    if settings.workspace != "main":
        words += ["--workspace", settings.workspace]
    return Launch(command, words, environment)


def _advice(client: Client, token: str | None) -> list[str]:
    if client is Client.CLAUDE_DESKTOP:
        return ["It works on this database with and without a running server."]
    if client is Client.CODEX:
        if token is None:
            return [_MADE, f"Codex reads it from the environment: {_EXPORT}"]
        return [f"Codex reads it from the environment: export SANDBAR_TOKEN={shlex.quote(token)}"]
    if client is Client.CURL:
        return [_MADE, f"Then: {_EXPORT}"] if token is None else ["The key stands in it."]
    if token is not None:
        return [_KEPT]
    return [_MADE] if client is Client.VSCODE else [_MADE, f"Before the client starts: {_EXPORT}"]
