"""`sandbar pack`: the packs there are, and loading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import existing, workspaces_in
from sandbar.cli.options import DatabaseOption, ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from rich.console import Console

    from sandbar.database import Database
    from sandbar.packs import PackReport
    from sandbar.settings import Settings

pack_app = typer.Typer(no_args_is_help=True, help="Packs: folders of classes and data.")


@pack_app.command("list")
def list_packs(database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """The packs that can be loaded by name, and those that the workspace has."""
    from rich.console import Console
    from rich.table import Table

    from sandbar.packs import available_packs
    from sandbar.settings import Settings

    loaded = _loaded(Settings.from_environment(database=database, workspace=workspace))
    table = Table("name", "title", "loaded", "what it is", box=None, pad_edge=False)
    for manifest in available_packs():
        mark = "yes" if loaded.pop(manifest.name, None) else ""
        table.add_row(manifest.name, manifest.title, mark, manifest.description)
    for name, title in sorted(loaded.items()):
        table.add_row(name, title, "yes", "from a folder")
    Console(highlight=False, markup=False, soft_wrap=True).print(table)


def _loaded(settings: Settings) -> dict[str, str]:
    """Names and titles of the packs in the workspace; in a file that is not there, none."""
    from sandbar.errors import NotFound

    if workspaces_in(settings) is None:
        return {}
    with existing(settings) as db:
        try:
            found = list(db.each("pack/Pack"))
        except NotFound:  # the class comes with the first pack
            return {}
    return {str(one.ident).partition("/")[2]: str(one.get("dt/label", "")) for one in found}


@pack_app.command("add")
def add_packs(
    packs: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|FOLDER …", help="A built-in pack, or a folder with a pack.json."
        ),
    ],
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Load packs into a workspace; what is already there stays as it is."""
    from rich.console import Console

    from sandbar.database import open_database
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    busy = Console(stderr=True, highlight=False, markup=False)
    where = settings.database, settings.workspace
    with open_database(*where, limits=settings.limits) as db:
        for pack in packs:
            with db.recorded("pack.add", surface="cli"):
                report = _load(db, pack, busy)
            print(
                f"{report.name}: {report.definitions} definitions, {report.entities} entities,"
                f" {report.created} of them new"
            )


def _load(db: Database, pack: str, busy: Console) -> PackReport:
    """Load one pack behind a bar, if anybody looks."""
    from rich.progress import Progress

    with Progress(console=busy, transient=True, disable=not busy.is_terminal) as bar:
        task = bar.add_task(f"loading {pack}", total=None)
        return db.load_pack(pack, progress=lambda n, of: bar.update(task, completed=n, total=of))
