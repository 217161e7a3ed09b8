"""`sandbar pack`: the packs there are, and loading them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import existing, workspaces_in
from sandbar.cli.counts import counted
from sandbar.cli.options import DatabaseOption, ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
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
    from sandbar.cli.calling import call_verb, opened, settings_of
    from sandbar.cli.showing import Showing

    with opened(settings_of(database, workspace)) as db:
        for pack in packs:
            with Showing(f"loading {pack}") as showing:
                report = call_verb(db, "pack.add", {"pack": pack}, showing)
            print(f"{report.name}: {_done(report)}")


def _done(report: PackReport) -> str:
    """What the workspace has now that it did not have before."""
    if not report.changed and not report.is_new:
        return "already there, nothing to do"
    parts = (
        (report.definitions, "definition", "definitions"),
        (report.entities, "entity", "entities"),
        (report.prompts, "prompt", "prompts"),
        (report.workflows, "workflow", "workflows"),
    )
    all_of_it = ", ".join(counted(*part) for part in parts if part[0])
    if report.is_new:
        return f"{all_of_it} added" if all_of_it else "added; it brings no data"
    return f"brought up to date, {report.changed} new or changed of {all_of_it}"
