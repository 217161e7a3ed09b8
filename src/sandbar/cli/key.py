"""`sandbar key`: the keys that people and programs sign in with."""

from __future__ import annotations

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
    from rich.text import Text

    from sandbar.access import Key
    from sandbar.settings import Settings

key_app = typer.Typer(
    no_args_is_help=True, help="Keys: what people and programs sign in with, and how far."
)

_PIPED_WIDTH = 200
_STYLES = {"active": "green", "revoked": "red", "expired": "red", "owner-inactive": "yellow"}

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The key's name, or how it begins (key list).")
]


UserOption = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="USER",
        help="Whose key it is: a person or a service account. Else the workspace's owner.",
        show_default=False,
    ),
]
RoleOption = Annotated[
    str | None,
    typer.Option(
        "--role", metavar="ROLE", help="Only what this role may as well.", show_default=False
    ),
]
VerbsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--verbs",
        metavar="PATTERN",
        help="Only these verbs, such as 'entity.*' or search.text; again for more.",
        show_default=False,
    ),
]
ClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="CLASS",
        help="Only entities of this class and those below it; again for more.",
        show_default=False,
    ),
]
ExpiresOption = Annotated[
    str | None,
    typer.Option(
        "--expires",
        metavar="WHEN",
        help="30d, 12h (m minutes, h hours, d days, w weeks), 2027-01-31 or 2027-01-31T12:00:00Z."
        " Else never.",
        show_default=False,
    ),
]


@key_app.command("mint")
def mint_one(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Such as laptop or backup.", show_default=False),
    ] = None,
    named: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="The same.", show_default=False),
    ] = None,
    user: UserOption = None,
    role: RoleOption = None,
    verbs: VerbsOption = None,
    classes: ClassesOption = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only reading.")] = False,
    expires: ExpiresOption = None,
    rate_limit: RateOption = None,
    burst: BurstOption = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Make a key and show it, this once. It may do what its owner may, or less.

    An agent needs no more than a writer: sandbar key mint --name claude --role writer

    The owner's own, for everything: sandbar key mint --name laptop

    Or: sandbar key mint --name dashboard --user anna --read-only --verbs 'entity.*' --expires 30d
    """
    if (name is None) == (named is None):
        raise typer.BadParameter("a key has one name: sandbar key mint --name laptop")
    arguments = {
        "name": name or named,
        "user": user,
        "role": role,
        "verbs": _parted(verbs),
        "classes": _parted(classes),
        "read-only": read_only,
        "expires": expires,
        "rate-limit": rate_limit,
        "burst": burst,
    }
    settings = settings_of(database, workspace)
    with opened(settings) as db:
        minted = call_verb(db, "key.mint", arguments | {"prefix": settings.key_prefix})
    _print_minted(minted.key, minted.token, "is minted", settings)


@key_app.command("list")
def list_all(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The keys of a workspace: whose they are, what they may, when they were used; no secrets."""
    import msgspec
    from rich.console import Console
    from rich.table import Table

    keys: list[Key] = []
    with existing(settings_of(database, workspace)) as db:
        cursor = None
        while True:
            page = call_verb(db, "key.list", {"cursor": cursor})
            keys += page.keys
            cursor = page.cursor
            if cursor is None:
                break
    if as_json:
        print(msgspec.json.encode(keys).decode())
        return
    if not keys:
        Console(stderr=True, highlight=False).print(
            "No keys yet: sandbar key mint --name NAME --role writer"
        )
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)  # nobody sees a fold there as one
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "begins with"):
        table.add_column(column, no_wrap=True)
    for column in ("owner", "state", "created", "last used", "expires", "may"):
        table.add_column(column)
    for key in keys:
        table.add_row(*_cells(key))
    console.print(table)


@key_app.command("rotate")
def rotate_one(
    name: NameArgument, database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None
) -> None:
    """Give a key a new secret, shown this once; the old one is refused from the next request on."""
    settings = settings_of(database, workspace)
    with existing(settings) as db:
        arguments = {"name": name, "prefix": settings.key_prefix}
        minted = call_verb(db, "key.rotate", arguments)
    what = "has a new secret; the old one counts no more"
    _print_minted(minted.key, minted.token, what, settings)


@key_app.command("revoke")
def revoke_one(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The key's name, how it begins, or all of it.")
    ],
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Let a key count no more, from the next request on."""
    from rich.console import Console

    with existing(settings_of(database, workspace)) as db:
        key = call_verb(db, "key.revoke", {"name": name}).key
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"The key {key.name} of {key.owner} counts no more.")


def _cells(key: Key) -> list[str | Text]:
    from rich.text import Text

    from sandbar.access import words_of

    times = [_minute(at) for at in (key.created_at, key.last_used_at, key.expires_at)]
    # Text and not markup: a name may hold brackets.
    return [
        Text(key.name, "bold"),
        Text(f"{key.prefix}…" if key.prefix else "", "cyan"),
        Text(key.owner),
        Text(key.state.replace("-", " "), _STYLES[key.state]),
        times[0],
        times[1] or "never",
        times[2] or "never",
        Text(words_of(key)),
    ]


def _minute(instant: str | None) -> str:
    return (instant or "")[:16].replace("T", " ")


def _print_minted(key: Key, token: str, what: str, settings: Settings) -> None:
    import shlex

    from rich.console import Console
    from rich.text import Text

    from sandbar.access import words_of
    from sandbar.cli.next_steps import of_same_database

    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"The key {key.name} of {key.owner} {what}. It may: {words_of(key)}."))
    for line in minted_pace(key.name, key.rate_limit, key.burst, of_same_database(settings)):
        console.print(Text(line))
    if key.expires_at is not None:
        console.print(Text(f"It expires at {key.expires_at}."))
    console.print("It is shown only now:")
    console.print(Text(f"    export SANDBAR_TOKEN={shlex.quote(token)}", "bold"))
    console.print("Send it as `Authorization: Bearer $SANDBAR_TOKEN`; `sandbar connect` shows how.")


def _parted(given: list[str] | None) -> list[str]:
    """Several may stand in one option, with commas."""
    return [part.strip() for one in given or [] for part in one.split(",") if part.strip()]
