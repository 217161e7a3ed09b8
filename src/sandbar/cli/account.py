"""`sandbar account`: who may sign in to the server."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Annotated

import typer

from sandbar.cli.options import DatabaseOption, WorkspaceOption


class RoleName(StrEnum):
    """What an account may do."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"


account_app = typer.Typer(no_args_is_help=True, help="Accounts: who may sign in, and as what.")


@account_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Its name, such as claude.")],
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", metavar="KEY", help="A key of your own. Else one is minted."),
    ] = None,
    role: Annotated[
        RoleName,
        typer.Option(
            "--role",
            help="A reader reads, a writer also changes data and adds classes, an admin does all.",
        ),
    ] = RoleName.WRITER,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make an account; a minted key is shown this once."""
    from rich.console import Console

    from sandbar.access import add_account
    from sandbar.database import open_database
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    with open_database(settings.database, settings.workspace) as db:
        made = add_account(db.workspace, name, api_key, role.value, prefix=settings.key_prefix)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    console.print(f"{made.account.name} may sign in as {role}.")
    console.print("Its key, shown only now:" if made.is_minted else "Its token:")
    console.print(f"    export SANDBAR_TOKEN={shlex.quote(made.token)}")
    console.print("Send it as `Authorization: Bearer $SANDBAR_TOKEN`; `sandbar connect` shows how.")


@account_app.command("list")
def list_all(database: DatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """The accounts of a workspace."""
    from rich.console import Console
    from rich.table import Table

    from sandbar.access import list_accounts
    from sandbar.database import open_database
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    with open_database(settings.database, settings.workspace) as db:
        accounts = list_accounts(db.workspace)
    if not accounts:
        Console(stderr=True, highlight=False).print("No accounts yet: sandbar account add NAME")
        return
    table = Table("name", "role", "active", "since", "until", box=None, pad_edge=False)
    for one in accounts:
        active = "yes" if one.is_active else "no"
        times = [
            (moment or "")[:16].replace("T", " ") for moment in (one.created_at, one.expires_at)
        ]
        table.add_row(one.name, one.role or "none", active, *times)
    Console(highlight=False, markup=False, soft_wrap=True).print(table)


@account_app.command("revoke")
def revoke_one(
    name: Annotated[str, typer.Argument(help="The account, or one minted key of it.")],
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Let an account, or one key, sign in no more; it counts from the next request on."""
    from rich.console import Console

    from sandbar.access import revoke
    from sandbar.database import open_database
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    with open_database(settings.database, settings.workspace) as db:
        account = revoke(db.workspace, name)
    console = Console(highlight=False, markup=False)
    if name.startswith("sk-"):
        console.print(f"This key of {account.name} counts no more.")
    else:
        console.print(f"{account.name} signs in no more.")
