"""`sandbar doctor`: is everything here that a server needs?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sandbar.cli.options import ExistingDatabaseOption, HostOption, PortOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.cli.checks import Check


def doctor(
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
    host: HostOption = None,
    port: PortOption = None,
) -> None:
    """Check Python, SQLite or PostgreSQL, the disk, the database, accounts and the port.

    Changes nothing. Each line is ok, warn or fail, with advice; exit code 1 if anything fails.
    """
    from rich.console import Console

    from sandbar.cli.calling import check_limits
    from sandbar.cli.checks import examine
    from sandbar.settings import Settings

    settings = Settings.from_environment(
        database=database, workspace=workspace, host=host, port=port
    )
    check_limits(settings)
    console = Console(highlight=False, markup=False)
    verdicts = [_say(console, check) for check in examine(settings)]
    if "fail" in verdicts:
        raise typer.Exit(1)


def _say(console: object, check: Check) -> str:
    from rich.console import Console
    from rich.text import Text

    assert isinstance(console, Console)
    colour = {"ok": "green", "warn": "yellow", "fail": "bold red"}[check.verdict]
    line = Text.assemble((f"{check.verdict:<4}", colour), f"  {check.name}: {check.text}")
    console.print(line, soft_wrap=True)
    if check.advice:
        console.print(Text.assemble(("      try: ", "yellow"), check.advice), soft_wrap=True)
    return check.verdict
