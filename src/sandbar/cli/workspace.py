"""`sandbar workspace`: the workspaces of a database, each a database of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandbar.cli.calling import call_verb, existing, opened, settings_of, workspaces_in
from sandbar.cli.counts import counted, sized
from sandbar.cli.options import DatabaseOption, ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.access import WorkspaceView
    from sandbar.database import Database
    from sandbar.settings import Settings
    from sandbar.verbs import UsageAnswer

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
    """Make a workspace and its owner.

    Such as: sandbar workspace create shop --owner anna --email anna@example.com
    """
    import shlex

    from rich.console import Console
    from rich.text import Text

    settings = settings_of(database, workspace)
    with _seated(settings, workspace, may_make=True) as db:
        arguments = {"name": name, "owner": owner, "email": email}
        made = call_verb(db, "workspace.create", arguments).workspace
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"The workspace {made.name} is ready; it belongs to {made.owner}."))
    console.print("What comes next:")
    at = f"--workspace {shlex.quote(made.name)}{_where(settings, database)}"
    for command, what in (
        ("key mint --name NAME", "a key of its owner, who may do everything"),
        ("key mint --name NAME --role writer", "a key for an agent"),
        ("account add NAME", "a program that signs in"),
        ("pack add zorp", "classes and data to begin with"),
    ):
        console.print(Text.assemble((f"    sandbar {command} {at}", "cyan"), f"   # {what}"))
    console.print("Any server of this database serves it: the key says which workspace is meant.")


@workspace_app.command("list")
def list_all(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The workspaces of a database: owner, entities, t, keys, and whether they are suspended."""
    import msgspec
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    found: list[WorkspaceView] = []
    with _seated(settings_of(database, workspace), workspace) as db:
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
    table.add_column("state")
    for one in found:
        who = one.owner or "nobody yet"
        table.add_row(
            Text(one.name, "bold"),
            Text(who if one.email is None else f"{who} <{one.email}>"),
            f"{one.entities:,}",
            f"{one.t:,}",
            f"{one.keys:,}",
            Text("suspended", "red") if one.suspended else Text("active", "green"),
        )
    Console(highlight=False, soft_wrap=True).print(table)


@workspace_app.command("usage")
def usage_of(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The workspace. Else main.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """What a workspace uses of its budgets, and what waits for room in them."""
    import msgspec

    with _seated(settings_of(database, workspace), workspace) as db:
        found = call_verb(db, "workspace.usage", {"name": name})
    if as_json:
        print(msgspec.json.encode(found).decode())
    else:
        _show_usage(found)


@workspace_app.command("limit")
def limit_one(
    name: NameArgument,
    limits: Annotated[
        list[str],
        typer.Argument(
            metavar="LIMIT=AMOUNT…",
            help="Such as entities=100000 or stored-bytes=2GiB; none for no limit, default for the"
            " usual one.",
        ),
    ],
    database: ExistingDatabaseOption = None,
) -> None:
    """Set budgets of a workspace: only who has the database can. Its admins cannot.

    Such as: sandbar workspace limit shop entities=100000 stored-bytes=2GiB
    """
    from sandbar.model import read_limits

    read_limits(limits)  # a mistake is told before anything is opened
    with _seated(settings_of(database, None), None) as db:
        call_verb(db, "workspace.limit", {"name": name, "limits": limits})
        found = call_verb(db, "workspace.usage", {"name": name})
    _show_usage(found)


def _show_usage(found: UsageAnswer) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("budget", box=None, pad_edge=False, header_style="bold")
    for right in ("used", "limit"):
        table.add_column(right, justify="right")
    for budget, each in found.budgets.items():
        shown = sized if budget.endswith("-bytes") else "{:,}".format
        limit = "none" if each.limit is None else shown(each.limit)
        used = Text(shown(each.used), "red" if budget in found.over_budget else "")
        table.add_row(Text(budget.removeprefix("limit/"), "bold"), used, limit)
    console = Console(highlight=False, soft_wrap=True)
    console.print(table)
    if found.waiting:
        what = counted(found.waiting, "process waits", "processes wait")
        console.print(f"{what} for room, the first since {found.waiting_since}.")


@workspace_app.command("suspend")
def suspend_one(
    name: NameArgument, database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None
) -> None:
    """Let nobody sign in to a workspace for now; its data stays as it is."""
    import shlex

    settings = settings_of(database, workspace)
    with _seated(settings, workspace) as db:
        call_verb(db, "workspace.suspend", {"name": name})
    print(f"Nobody signs in to {name} any more, from the next request on. To let them again:")
    print(f"    sandbar workspace resume {shlex.quote(name)}{_where(settings, database)}")


@workspace_app.command("resume")
def resume_one(
    name: NameArgument, database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None
) -> None:
    """Let everybody sign in again to a workspace that was suspended."""
    with _seated(settings_of(database, workspace), workspace) as db:
        call_verb(db, "workspace.suspend", {"name": name, "resume": True})
    print(f"Whoever has a key signs in to {name} again.")


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
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Erase a workspace with all its data, its past and its keys. There is no way back."""
    from rich.console import Console

    from sandbar.access import check_deletable, local_caller

    settings = settings_of(database, workspace)
    busy = Console(stderr=True, highlight=False, markup=False)
    with _seated(settings, workspace, besides=name) as db:
        seen = check_deletable(db.neighbours, local_caller(db.workspace_name), name)
        if yes is None:
            export = _ask_for_export(seen, busy) if export is None else export
            yes = _ask_for_name(name)
        if yes == name and export is not None:
            seen = _export(db, seen, export, busy)
        with busy.status(f"erasing {name} …"):
            call_verb(db, "workspace.delete", {"name": name, "confirm": yes})
    print(f"The workspace {name} is gone, with {_figures(seen)}.")


def _seated(
    settings: Settings, workspace: str | None, *, besides: str | None = None, may_make: bool = False
) -> Database:
    """The database, in the workspace that was given; else in the usual one, or if that is not
    there in any (but the one `besides`): what is done to workspaces can be done from each."""
    from msgspec.structs import replace

    names = workspaces_in(settings)
    if may_make and not names:
        return opened(settings)
    if workspace is None and names and settings.workspace not in names:
        fitting = [name for name in names if name != besides] or names
        settings = replace(settings, workspace=fitting[0])
    return existing(settings)


def _figures(seen: WorkspaceView) -> str:
    return (
        f"{counted(seen.entities, 'entity', 'entities')},"
        f" {counted(seen.t, 'transaction', 'transactions')} and {counted(seen.keys, 'key', 'keys')}"
    )


def _ask_for_export(seen: WorkspaceView, busy: Any) -> Path | None:
    _refuse_unasked(seen.name)
    busy.print(
        f"{seen.name} of {seen.owner or 'nobody'} has {_figures(seen)}. All of it will be erased.",
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
    import shlex

    from sandbar.errors import Incorrect

    if not sys.stdin.isatty():
        raise Incorrect(
            "workspace.unconfirmed",
            f"to delete {name} with all its data, its name must be repeated",
            hint=f"--yes {shlex.quote(name)}; --export FOLDER writes it to files first",
        )


def _export(db: Database, seen: WorkspaceView, folder: Path, busy: Any) -> WorkspaceView:
    """Write it to files; meanwhile nobody signs in, or what they wrote would be lost. Answers what
    the workspace is then, and leaves it suspended; if it cannot be written, as it was."""
    from rich.progress import Progress

    from sandbar.access import view_of
    from sandbar.cli.exporting import export_workspace, prepare_folder
    from sandbar.errors import Conflict

    prepare_folder(folder)
    named = {"name": seen.name, "reason": "it is exported and deleted"}
    call_verb(db, "workspace.suspend", named)
    shop = db.in_workspace(seen.name)
    before_t = shop.t
    try:
        with Progress(console=busy, transient=True, disable=not busy.is_terminal) as bar:
            task = bar.add_task(f"exporting {seen.name}", total=None)
            export_workspace(
                shop, folder, lambda done, of: bar.update(task, completed=done, total=of)
            )
        found = view_of(shop.workspace, seen.name)
        if found.t != before_t:
            raise Conflict(
                "workspace.busy",
                f"somebody has written to {seen.name} while it was exported",
                hint="nothing was deleted; try again, with another folder",
            )
    except BaseException:
        if not seen.suspended:
            call_verb(db, "workspace.suspend", {"name": seen.name, "resume": True})
        raise
    what = counted(found.entities, "entity", "entities")
    print(f"{what}, people, keys (no secrets), workflows, metamodel and audit are in {folder}.")
    return found


def _where(settings: Settings, database: str | None) -> str:
    """The option that leads another command to the same database."""
    import shlex

    if database is None:
        return ""
    return f" --database {'URL' if settings.is_postgres else shlex.quote(database)}"
