"""`sandbar workspace`: the workspaces of a database, each a database of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandbar.cli.calling import call_verb, opened, settings_of
from sandbar.cli.options import DatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.access import WorkspaceView
    from sandbar.database import Database
    from sandbar.settings import Settings

workspace_app = typer.Typer(
    no_args_is_help=True, help="Workspaces: each has its own classes, data, people and keys."
)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The workspace.")]


@workspace_app.command("create")
def create_one(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, such as shop-2.")],
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner",
            metavar="USER",
            help="Whom it belongs to, such as anna. Else user/owner.",
            show_default=False,
        ),
    ] = None,
    email: Annotated[
        str | None,
        typer.Option("--email", metavar="ADDRESS", help="The owner's.", show_default=False),
    ] = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make a workspace and its owner."""
    import shlex

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    settings = settings_of(database, workspace)
    with opened(settings) as db:
        arguments = {"name": name, "owner": owner, "email": email}
        made = call_verb(db, "workspace.create", arguments).workspace
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"The workspace {made.name} is ready; it belongs to {made.owner}."))
    console.print("What comes next:")
    at = f"--workspace {shlex.quote(made.name)}{_where(settings, database)}"
    table = Table.grid(padding=(0, 3))
    for command, what in (
        ("key mint --name NAME", "a key of its owner"),
        ("account add NAME", "a program that signs in"),
        ("pack add zorp", "classes and data to begin with"),
    ):
        table.add_row(Text(f"    sandbar {command} {at}", "cyan"), what)
    console.print(table)
    console.print("Any server of this database serves it: the key says which workspace is meant.")


@workspace_app.command("list")
def list_all(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The workspaces of a database: owner, size, keys, and whether they are suspended."""
    import msgspec
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found: list[WorkspaceView] = []
    with opened(settings_of(database, workspace)) as db:
        cursor = None
        while True:
            page = call_verb(db, "workspace.list", {"cursor": cursor})
            found += page.workspaces
            cursor = page.cursor
            if cursor is None:
                break
    if as_json:
        print(msgspec.json.encode(found).decode())
        return
    table = Table("name", "owner", box=None, pad_edge=False, header_style="bold")
    for right in ("entities", "t", "keys"):
        table.add_column(right, justify="right")
    table.add_column("suspended")
    for one in found:
        who = one.owner or "nobody yet"
        table.add_row(
            Text(one.name, "bold"),
            Text(who if one.email is None else f"{who} <{one.email}>"),
            f"{one.entities:,}",
            f"{one.t:,}",
            f"{one.keys:,}",
            Text("suspended", "red") if one.suspended else Text("no", "green"),
        )
    Console(highlight=False, soft_wrap=True).print(table)


@workspace_app.command("suspend")
def suspend_one(
    name: NameArgument,
    resume: Annotated[bool, typer.Option("--resume", help="Let everybody sign in again.")] = False,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Let nobody sign in to a workspace for now; its data stays as it is."""
    import shlex

    with opened(settings_of(database, workspace)) as db:
        call_verb(db, "workspace.suspend", {"name": name, "resume": resume})
    if resume:
        print(f"Whoever has a key signs in to {name} again.")
    else:
        print(f"Nobody signs in to {name} any more, from the next request on.")
        print(f"    sandbar workspace suspend {shlex.quote(name)} --resume   lets them again")


@workspace_app.command("delete")
def delete_one(
    name: NameArgument,
    yes: Annotated[
        str | None,
        typer.Option(
            "--yes", metavar="NAME", help="The name once more: asks nothing.", show_default=False
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FOLDER",
            help="First write its entities, metamodel and audit to this folder.",
            show_default=False,
        ),
    ] = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Erase a workspace with all its data, its past and its keys. There is no way back."""
    from rich.console import Console

    from sandbar.access import check_deletable, local_caller

    settings = settings_of(database, workspace)
    busy = Console(stderr=True, highlight=False, markup=False)
    with opened(settings) as db:
        seen = check_deletable(db.neighbours, local_caller(db.workspace_name), name)
        _refuse_served(settings, database, name)
        if yes is None:
            export = _ask_for_export(seen, busy) if export is None else export
            yes = _ask_for_name(name)
        if yes == name and export is not None:
            _export(db.in_workspace(name), export, busy)
        with busy.status(f"erasing {name} …"):
            call_verb(db, "workspace.delete", {"name": name, "confirm": yes})
    print(f"The workspace {name} is gone, with {seen.entities:,} entities and {seen.keys} keys.")


def _ask_for_export(seen: WorkspaceView, busy: Any) -> Path | None:
    _refuse_unasked(seen.name)
    busy.print(
        f"{seen.name} of {seen.owner or 'nobody'} has {seen.entities:,} entities,"
        f" {seen.t:,} transactions and {seen.keys} keys. All of it will be erased.",
        soft_wrap=True,
    )
    folder = typer.prompt(
        "Export it first? A folder, or nothing for none", default="", show_default=False, err=True
    )
    return Path(folder) if folder else None


def _ask_for_name(name: str) -> str:
    _refuse_unasked(name)
    return str(typer.prompt("Type its name to delete it", err=True))


def _refuse_unasked(name: str) -> None:
    from sandbar.errors import Incorrect

    if not sys.stdin.isatty():
        raise Incorrect(
            "workspace.unconfirmed",
            f"to delete {name} with all its data, its name must be repeated",
            hint=f"--yes {name}; --export FOLDER writes it to files first",
        )


def _export(db: Database, folder: Path, busy: Any) -> None:
    from rich.progress import Progress

    from sandbar.cli.exporting import export_workspace

    with Progress(console=busy, transient=True, disable=not busy.is_terminal) as bar:
        task = bar.add_task(f"exporting {db.workspace_name}", total=None)
        count = export_workspace(
            db, folder, lambda done, of: bar.update(task, completed=done, total=of)
        )
    print(f"{count:,} entities, the metamodel and the audit are in {folder}.")


def _refuse_served(settings: Settings, database: str | None, name: str) -> None:
    """A server on this file would be left without the workspace that it was started with."""
    from sandbar.database import examine_database
    from sandbar.errors import Conflict

    if settings.is_postgres or name != settings_of(database, None).workspace:
        return
    if examine_database(settings.database).is_served:
        raise Conflict(
            "workspace.served",
            f"a server runs on this file, and {name} is where it would be at home",
            hint="stop the server first, or suspend the workspace instead",
        )


def _where(settings: Settings, database: str | None) -> str:
    """The option that leads another command to the same database."""
    import shlex

    if database is None:
        return ""
    return f" --database {'URL' if settings.is_postgres else shlex.quote(database)}"
