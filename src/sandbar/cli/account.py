"""`sandbar account`: who may sign in to the server."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import opened, settings_of
from sandbar.cli.options import DatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.access import Account, User

account_app = typer.Typer(no_args_is_help=True, help="Accounts: who may sign in, and as what.")


@account_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Its name, such as claude.")],
    api_key: Annotated[
        str | None,
        typer.Option("--api-key", metavar="KEY", help="A key of your own. Else one is minted."),
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="A reader reads, a writer also changes data and adds classes, an admin does all;"
            " or a role of your own.",
        ),
    ] = "writer",
    person: Annotated[
        bool,
        typer.Option("--person", help="Somebody, and no program: keys are minted for them."),
    ] = False,
    email: Annotated[
        str | None,
        typer.Option("--email", metavar="ADDRESS", help="Of a person.", show_default=False),
    ] = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make an account; a minted key is shown this once."""
    from rich.console import Console

    from sandbar.access import add_account, add_user

    if person and api_key is not None:
        raise typer.BadParameter("a person has no key of their own choice; see sandbar key mint")
    if email is not None and not person:
        raise typer.BadParameter("--email goes with --person")
    settings = settings_of(database, workspace)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    with opened(settings) as db, db.recorded("account.add", surface="cli"):
        if person:
            user = add_user(db.workspace, name, email=email, role=role)
        else:
            made = add_account(db.workspace, name, api_key, role, prefix=settings.key_prefix)
    if person:
        console.print(f"{user.name} is known here as {role}. A key for them:")
        console.print(f"    sandbar key mint --name NAME --user {name}")
        return
    console.print(f"{made.account.name} may sign in as {role}.")
    console.print("Its key, shown only now:" if made.is_minted else "Its token:")
    console.print(f"    export SANDBAR_TOKEN={shlex.quote(made.token)}")
    console.print("Send it as `Authorization: Bearer $SANDBAR_TOKEN`; `sandbar connect` shows how.")


@account_app.command("list")
def list_all(database: DatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """The programs and the people of a workspace."""
    from rich.console import Console
    from rich.table import Table

    from sandbar.access import list_accounts, list_users

    with (
        opened(settings_of(database, workspace)) as db,
        db.recorded("account.list", surface="cli"),
    ):
        accounts = list_accounts(db.workspace)
        users = list_users(db.workspace)
    table = Table("name", "role", "active", "since", "until", box=None, pad_edge=False)
    table.header_style = "bold"
    for one in accounts:
        table.add_row(one.name, one.role or "none", *_life(one))
    for user in users:
        role = ", ".join(user.roles) or "none"
        table.add_row(user.name, f"{role}, owner" if user.is_owner else role, *_life(user))
    Console(highlight=False, markup=False, soft_wrap=True).print(table)
    if not accounts:
        Console(stderr=True, highlight=False).print("No accounts yet: sandbar account add NAME")


def _life(one: Account | User) -> list[str]:
    """Whether it may sign in, since when and until when."""
    times = ((at or "")[:16].replace("T", " ") for at in (one.created_at, one.expires_at))
    return ["yes" if one.is_active else "no", *times]


@account_app.command("revoke")
def revoke_one(
    name: Annotated[str, typer.Argument(help="The account, or one minted key of it.")],
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Let an account, or one key, sign in no more; it counts from the next request on."""
    from rich.console import Console

    from sandbar.access import revoke

    with (
        opened(settings_of(database, workspace)) as db,
        db.recorded("account.revoke", surface="cli"),
    ):
        account = revoke(db.workspace, name)
    console = Console(highlight=False, markup=False)
    if name.startswith("sk-"):
        console.print(f"This key of {account.name} counts no more.")
    else:
        console.print(f"{account.name} signs in no more.")
