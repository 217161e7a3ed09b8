"""`sandbar restore`: a database out of a backup."""

from __future__ import annotations

from typing import Annotated

import typer

from sandbar.cli.backup import figures, showing_progress
from sandbar.cli.options import DatabaseOption


def restore(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file that `sandbar backup` has written.")
    ],
    database: DatabaseOption = None,
) -> None:
    """Make an empty database what another one was when it was backed up.

    Empty is a SQLite file that is not there yet, or a PostgreSQL database fresh from
    `sandbar migrate`. Such as: sandbar restore shop.backup --database new.db
    """
    import shlex
    import sys

    from sandbar.cli.calling import settings_of
    from sandbar.database import restore_database

    settings = settings_of(database, None)
    with showing_progress() as tell:
        report = restore_database(file, settings.database, tell)
    where = "the PostgreSQL database" if settings.is_postgres else settings.database
    print(f"{where} is what was backed up at {report.made}: {figures(report.workspaces)}.")
    for one in report.workspaces:
        verdict = "broken, as it was in the backup" if one.name in report.broken else "intact"
        print(f"    {one.name}: t {one.t}, the audit is {verdict}")
    sys.stdout.flush()
    if report.broken:
        words = f"sandbar audit verify --workspace {shlex.quote(report.broken[0])}"
        print(f"try: {words} says what is broken", file=sys.stderr)
        raise typer.Exit(1)
