"""`sandbar demo-server`: a server with data and a key, ready for clients. `make run` is this."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.options import PortOption

if TYPE_CHECKING:
    from rich.text import Text

    from sandbar.database import Database
    from sandbar.model import Workspace
    from sandbar.settings import Settings

_PACKS = ("zorp", "memory")
_ACCOUNT = "service/demo"
_PORTS_TRIED = 10


def demo_server(
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the demo's data and key are kept.")
    ] = Path(".demo"),
    port: PortOption = None,
) -> None:
    """Serve a demo workspace, and print its key and what to paste into each client.

    Data and key stay from one run to the next, so that what was connected stays so.
    """
    from sandbar.cli.next_steps import demo_greeting
    from sandbar.cli.serving import run_server
    from sandbar.settings import Settings

    _make(folder)
    settings = Settings.from_environment(
        database=str(folder / "sandbar.db"),
        port=_free_port() if port is None else port,
        packs=_PACKS,
    )

    def greeting(database: Database, settings: Settings, url: str) -> list[Text]:
        return demo_greeting(settings, url, _key(database, settings, folder / "key"))

    run_server(settings, greeting)


def _make(folder: Path) -> None:
    from sandbar.errors import Incorrect

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Incorrect(
            "demo.no-folder",
            f"{folder} cannot be made: {error.strerror}",
            hint="name another place with --folder",
        ) from error


def _free_port() -> int:
    """8080, or the next port that is free: a newcomer's machine may use it already."""
    from sandbar.cli.ports import take_port
    from sandbar.errors import Unavailable
    from sandbar.settings import Settings

    first = Settings.from_environment()
    for port in range(first.port, first.port + _PORTS_TRIED):
        try:
            take_port(first.host, port).close()
        except Unavailable:
            continue
        return port
    return 0


def _key(database: Database, settings: Settings, file: Path) -> str:
    """The key of the last run, or a new one."""
    from sandbar.access import add_account, list_accounts, revoke

    workspace = database.workspace
    active = any(one.name == _ACCOUNT and one.is_active for one in list_accounts(workspace))
    if active and file.exists() and _signs_in(database, file.read_text(encoding="ascii")):
        _let_it_ask(workspace)
        return file.read_text(encoding="ascii")
    if active:
        revoke(workspace, _ACCOUNT)
    token = add_account(workspace, _ACCOUNT, rate_limit=0, prefix=settings.key_prefix).token
    file.touch(mode=0o600)
    file.write_text(token, encoding="ascii")
    return token


def _let_it_ask(workspace: Workspace) -> None:
    """A key of an earlier version of the demo had the usual limit, which stops a first script."""
    from sandbar.model import Update

    account = workspace.get({"auth/service-name": _ACCOUNT})
    if account.get("auth/rate-limit") is None:
        unlimited = Update(entity=account.entity_id, set={"auth/rate-limit": 0})
        workspace.transact([unlimited], principal="local", reason="the demo has no limit")


def _signs_in(database: Database, token: str) -> bool:
    from sandbar.access import Houses, sign_in
    from sandbar.errors import Forbidden, Unauthenticated

    houses = Houses(lambda name: database.in_workspace(name).workspace, database.workspace_name)
    try:
        sign_in(houses, token)
    except (Forbidden, Unauthenticated):
        return False
    return True
