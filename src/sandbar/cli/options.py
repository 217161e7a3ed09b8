"""Options that several commands take, said in the same words everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

# Not `envvar`: only `settings` reads the environment, so the help names the variable instead.
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="PATH|URL",
        help="A SQLite file, made if need be, or a postgresql:// URL."
        " Else SANDBAR_DATABASE, else sandbar.db.",
        show_default=False,
    ),
]
# For commands that look at something, or end it.
ExistingDatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="PATH|URL",
        help="A SQLite file, which is not made here, or a postgresql:// URL."
        " Else SANDBAR_DATABASE, else sandbar.db.",
        show_default=False,
    ),
]
WorkspaceOption = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        metavar="NAME",
        help="The workspace in it. Else SANDBAR_WORKSPACE, else main.",
        show_default=False,
    ),
]
HostOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Where to listen. Else 127.0.0.1, this machine.", show_default=False
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        metavar="PORT",
        min=0,
        max=65535,
        help="Else 8080; 0 takes any that is free.",
        show_default=False,
    ),
]
ToolsOption = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="LIST",
        help="Which tools are listed as a rule: default, core, full, classes or all.",
        show_default=False,
    ),
]
ProjectsOption = Annotated[
    str | None,
    typer.Option(
        "--projects",
        metavar="FOLDER",
        help="Agents may export to folders below this one, and import from them. Else none.",
        show_default=False,
    ),
]
RateOption = Annotated[
    int | None,
    typer.Option(
        "--rate-limit",
        metavar="NUMBER",
        help="Requests a minute, 0 for no limit. Else what its owner or a role says, or 60.",
        show_default=False,
    ),
]
BurstOption = Annotated[
    int | None,
    typer.Option(
        "--burst",
        metavar="NUMBER",
        help="Requests that may come at once. Else as many as in a minute.",
        show_default=False,
    ),
]
