"""`sandbar account`: who may sign in to the server."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import call_verb, existing, opened, settings_of
from sandbar.cli.limits import minted_pace
from sandbar.cli.options import (
    BurstOption,
    DatabaseOption,
    ExistingDatabaseOption,
    RateOption,
    WorkspaceOption,
)

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
    rate_limit: RateOption = None,
    burst: BurstOption = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make an account; a minted key is shown this once.

    Such as: sandbar account add claude --role reader --rate-limit 600
    """
    from rich.console import Console

    from sandbar.cli.next_steps import of_same_database

    if person and api_key is not None:
        raise typer.BadParameter("a person has no key of their own choice; see sandbar key mint")
    if email is not None and not person:
        raise typer.BadParameter("--email goes with --person")
    settings = settings_of(database, workspace)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    arguments = {
        "name": name,
        "api-key": api_key,
        "person": person,
        "email": email,
        "role": role,
        "rate-limit": rate_limit,
        "burst": burst,
        "prefix": settings.key_prefix,
    }
    with opened(settings) as db:
        made = call_verb(db, "account.add", arguments)
    if person:
        user = made
        console.print(f"{user.name} is known here as {role}. A key for them:")
        console.print(f"    sandbar key mint --name NAME --user {shlex.quote(user.name)}")
        return
    console.print(f"{made.account.name} may sign in as {role}.")
    if made.is_minted:
        key = made.account.name.partition("/")[2]
        for line in minted_pace(key, rate_limit, burst, of_same_database(settings)):
            console.print(line)
    console.print("Its key, shown only now:" if made.is_minted else "Its token:")
    console.print(f"    export SANDBAR_TOKEN={shlex.quote(made.token)}")
    console.print("Send it as `Authorization: Bearer $SANDBAR_TOKEN`; `sandbar connect` shows how.")


@account_app.command("list")
def list_all(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The programs and the people of a workspace."""
    import msgspec
    from rich.console import Console
    from rich.table import Table

    with existing(settings_of(database, workspace)) as db:
        found = call_verb(db, "account.list", {})
    if as_json:
        print(msgspec.json.encode(found).decode())
        return
    table = Table("name", "role", "active", "since", "until", box=None, pad_edge=False)
    table.header_style = "bold"
    for one in found.programs:
        table.add_row(one.name, one.role or "none", *_life(one))
    for user in found.people:
        role = ", ".join(user.roles) or "none"
        table.add_row(user.name, f"{role}, owner" if user.is_owner else role, *_life(user))
    Console(highlight=False, markup=False, soft_wrap=True).print(table)
    if not found.programs:
        Console(stderr=True, highlight=False).print("No programs yet: sandbar account add NAME")


def _life(one: Account | User) -> list[str]:
    """Whether it may sign in, since when and until when."""
    times = ((at or "")[:16].replace("T", " ") for at in (one.created_at, one.expires_at))
    return ["yes" if one.is_active else "no", *times]


@account_app.command("revoke")
def revoke_one(
    name: Annotated[str, typer.Argument(help="The account, or one minted key of it.")],
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Let an account, or one key, sign in no more; it counts from the next request on."""
    from rich.console import Console

    with existing(settings_of(database, workspace)) as db:
        revoked = call_verb(db, "account.revoke", {"name": name})
    account = revoked.account
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if name.startswith("sk-"):
        console.print(f"This key of {account.name} counts no more.")
        return
    console.print(f"{account.name} signs in no more.")
    if revoked.is_owners:
        advice = _way_back(account)
        Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(advice)


def _way_back(account: Account) -> str:
    """What the owner of a workspace is told, whose keys are those that most commands mint."""
    from sandbar.access import short_name

    name = shlex.quote(short_name(account.name))
    return (
        f"{account.name} owns this workspace: none of their keys signs in, and no new one is"
        " minted. The way back, with new keys:\n"
        f"    sandbar account add {name} --person --role admin"
    )
