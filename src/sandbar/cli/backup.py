"""`sandbar backup`: a whole database as one file, while others write to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.counts import counted
from sandbar.cli.options import ExistingDatabaseOption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from sandbar.database import WorkspaceReport

    Tell = Callable[[str, int, int], None]


def backup(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write, such as shop.backup.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite FILE, if it is a backup, too.")
    ] = False,
    database: ExistingDatabaseOption = None,
) -> None:
    """Write a whole database to one file: every workspace, its history, keys and audit.

    Servers may run and write meanwhile; the file is as the database was at one moment.
    `sandbar restore` makes a database of it, in SQLite or PostgreSQL.
    """
    import sys

    from sandbar import clock
    from sandbar.cli.calling import settings_of
    from sandbar.database import backup_database

    settings = settings_of(database, None)
    began_s = clock.monotonic_s()
    with showing_progress() as tell:
        report = backup_database(settings.database, file, tell, force=force)
    lasted_s = clock.monotonic_s() - began_s
    print(f"{file}: {figures(report.workspaces)}; {_size(report.bytes)} in {lasted_s:.1f} s.")
    print(f"sha256 {report.sha256}")
    sys.stdout.flush()
    print(
        "It holds all data, and the hashes of all secrets: keep it as safe as the database itself.",
        file=sys.stderr,
    )


def showing_progress() -> AbstractContextManager[Tell]:
    """A bar for each thing that is being done, if anybody looks."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import Progress, TaskID

    @contextmanager
    def shown() -> Iterator[Tell]:
        busy = Console(stderr=True, highlight=False, markup=False)
        tasks: dict[str, TaskID] = {}
        with Progress(console=busy, transient=True, disable=not busy.is_terminal) as bar:

            def tell(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bar.add_task(what, total=None)
                bar.update(tasks[what], completed=done, total=total)

            yield tell

    return shown()


def figures(workspaces: Sequence[WorkspaceReport]) -> str:
    """What a backup holds, in a few words."""
    entities = sum(one.rows["entity"] for one in workspaces)
    transactions = sum(one.rows["tx"] for one in workspaces)
    return (
        f"{counted(len(workspaces), 'workspace', 'workspaces')},"
        f" {counted(entities, 'entity', 'entities')} (metamodel included),"
        f" {counted(transactions, 'transaction', 'transactions')}"
    )


def _size(number: int) -> str:
    """Bytes as people say them."""
    if number < 1_000_000:
        return f"{number / 1000:.1f} kB"
    return f"{number / 1_000_000:.1f} MB" if number < 1e9 else f"{number / 1e9:.2f} GB"
