"""`sandbar project`: a workspace as a folder that people can read and keep in git."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sandbar.cli.calling import call_verb, existing, opened, settings_of, workspaces_in
from sandbar.cli.counts import counted
from sandbar.cli.options import ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.database import Database
    from sandbar.settings import Settings

_SHOWN = 40

project_app = typer.Typer(
    no_args_is_help=True, help="A workspace as a folder of files, and files as a workspace."
)

ClassesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Only its instances; may be given again. Else everything.",
        show_default=False,
    ),
]
ImportDatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="PATH|URL",
        help="A SQLite file, made by --apply if need be, or a postgresql:// URL."
        " Else SANDBAR_DATABASE, else sandbar.db.",
        show_default=False,
    ),
]


@project_app.command("export")
def export_one(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="New, empty, or an earlier export.")
    ],
    classes: ClassesOption = None,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a workspace to a folder: one file for each entity, with its schema and workflows.

    The folder is made for git: the same data gives the same bytes. Accounts, keys, the audit and
    the past stay behind; `sandbar backup` has them all.
    """
    from rich.console import Console

    given: dict[str, Any] = {"to": str(folder)}
    if classes:
        given["classes"] = classes
    with existing(settings_of(database, workspace)) as db:
        try:
            done = _call(db, "project.export", given, f"exporting {db.workspace_name}")
        except KeyboardInterrupt:
            _stop("Run the same command again, and the folder is completed.")
    console = Console(highlight=False, soft_wrap=True, markup=False)
    files = counted(done.files, "file", "files")
    console.print(f"{files} in {folder}, as of t = {done.t}.")
    for cls, count in sorted(done.classes.items()):
        console.print(f"    {count:>8,}  {cls}")
    if done.removed:
        console.print(f"{counted(done.removed, 'file', 'files')} of an earlier export removed.")
    if done.edited:
        edited = counted(done.edited, "file was", "files were")
        console.print(f"{edited} changed by hand since, and left as they are:", style="yellow")
        for path in done.edited_paths[:_SHOWN]:
            console.print(f"    {path}")
        console.print("Import them first: sandbar project import " + str(folder))


@project_app.command("import")
def import_one(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="An export, a folder of notes, or one file.")
    ],
    apply: Annotated[
        bool, typer.Option("--apply", help="Do it. Else only the plan is shown.")
    ] = False,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="KIND",
            help="project, files, notes, server-memory, …; else it is recognised.",
            show_default=False,
        ),
    ] = None,
    cls: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="What the files are that do not say it themselves.",
            show_default=False,
        ),
    ] = None,
    atomic: Annotated[
        bool, typer.Option("--atomic", help="All or nothing. Else each file by itself.")
    ] = False,
    prefer: Annotated[
        str,
        typer.Option(
            metavar="SIDE", help="Whose version counts in a conflict: nobody, files or workspace."
        ),
    ] = "nobody",
    delete_missing: Annotated[
        bool, typer.Option("--delete-missing", help="Delete what an export had and has no more.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    database: ImportDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Read files into a workspace: first the plan, and with --apply what it says.

    Such as: sandbar project import ~/vault --source notes --apply
    """
    from sandbar import clock
    from sandbar.cli.imported import Asked, print_imported, print_json
    from sandbar.projects import RootedFolder

    given: dict[str, Any] = {
        "from": str(path),
        "apply": apply,
        "mode": "atomic" if atomic else "per-file",
        "prefer": prefer,
        "delete-missing": delete_missing,
        **({} if source is None else {"source": source}),
        **({} if cls is None else {"class": cls}),
    }
    RootedFolder.of(path).close()  # before there is a new database for what is not there
    began_s = clock.monotonic_s()
    try:
        with _place(settings_of(database, workspace), workspace, may_make=apply) as db:
            done = _call(db, "project.import", given, f"reading {path}")
    except KeyboardInterrupt:
        _stop(_stopped(apply, atomic))
    lasted_s = clock.monotonic_s() - began_s
    print_json(done) if as_json else print_imported(done, Asked(path, apply, atomic), lasted_s)
    if not done.is_clean:
        raise typer.Exit(1)


def _place(settings: Settings, workspace: str | None, *, may_make: bool) -> Database:
    """A database that is new begins with the usual workspace; to look makes none."""
    is_new = may_make and workspace is None and not workspaces_in(settings)
    return opened(settings) if is_new else existing(settings)


def _stopped(apply: bool, atomic: bool) -> str:
    if not apply:
        return "Nothing was written."
    if atomic:
        return "All was written, or nothing; the same command without --apply tells which."
    return "What was written stays. Run the same command again, and it goes on from there."


def _stop(message: str) -> NoReturn:
    """End as a program does that is ended with Ctrl-C."""
    import sys

    print(f"Stopped. {message}", file=sys.stderr)
    raise typer.Exit(130)


def _call(db: Database, verb: str, arguments: dict[str, Any], what: str) -> Any:
    from sandbar.cli.showing import Showing

    with Showing(what) as showing:
        return call_verb(db, verb, arguments, showing)
