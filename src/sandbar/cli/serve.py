"""`sandbar serve`: the MCP server."""

from __future__ import annotations

from typing import Annotated

import typer

from sandbar.cli.options import (
    DatabaseOption,
    HostOption,
    PortOption,
    ProjectsOption,
    ToolsOption,
    WorkspaceOption,
)


def serve(
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
    pack: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="A pack to load first; may be given again.",
            show_default=False,
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="How clients reach a proxy in front of us: https://sandbar.example.com",
            show_default=False,
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="A name in the Host header to accept besides our own; may be given again.",
            show_default=False,
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS|NETWORK",
            help="A proxy whose X-Forwarded-For we believe: 10.0.0.7 or 10.0.0.0/24; may be given"
            " again.",
            show_default=False,
        ),
    ] = None,
    tools: ToolsOption = None,
    projects: ProjectsOption = None,
    log_level: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL", help="debug, info, warning or error. Else info.", show_default=False
        ),
    ] = None,
) -> None:
    """Serve a database to AI agents over MCP, until Ctrl-C.

    Every client signs in with a key: `sandbar key mint --name NAME --role writer` makes one.
    """
    from sandbar.cli.next_steps import where_to_go
    from sandbar.cli.serving import run_server
    from sandbar.settings import Settings

    settings = Settings.from_environment(
        database=database,
        workspace=workspace,
        host=host,
        port=port,
        packs=tuple(pack or ()),
        public_url=public_url,
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        tools=tools,
        projects=projects,
        log_level=log_level,
    )
    run_server(settings, where_to_go)
