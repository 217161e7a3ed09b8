"""`sandbar project`: a workspace as a folder that people can read and keep in git."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sandbar.cli.calling import existing, opened, settings_of, workspaces_in
from sandbar.cli.counts import counted
from sandbar.cli.options import DatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from rich.console import Console

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


@project_app.command("export")
def export_one(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="New, empty, or an earlier export.")
    ],
    classes: ClassesOption = None,
    database: DatabaseOption = None,
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
        done = _call(db, "project.export", given, f"exporting {db.workspace_name}")
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
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Read files into a workspace: first the plan, and with --apply what it says.

    Such as: sandbar project import ~/vault --source notes --apply
    """
    import msgspec
    from rich.console import Console

    given: dict[str, Any] = {
        "from": str(path),
        "apply": apply,
        "mode": "atomic" if atomic else "per-file",
        "prefer": prefer,
        "delete-missing": delete_missing,
    }
    if source is not None:
        given["source"] = source
    if cls is not None:
        given["class"] = cls
    settings = settings_of(database, workspace)
    with _place(settings, workspace) as db:
        done = _call(db, "project.import", given, f"reading {path}")
    if as_json:
        print(msgspec.json.encode(done).decode())
    else:
        _print_plan(Console(highlight=False, soft_wrap=True, markup=False), done, path)
    if done.counts.get("refused") or done.counts.get("conflict"):
        raise typer.Exit(1)


def _place(settings: Settings, workspace: str | None) -> Database:
    """A database that is new begins with the usual workspace."""
    is_new = workspace is None and not workspaces_in(settings)
    return opened(settings) if is_new else existing(settings)


def _call(db: Database, verb: str, arguments: dict[str, Any], what: str) -> Any:
    from sandbar.access import local_caller
    from sandbar.cli.showing import Showing

    with Showing(what) as showing:
        return db.call_as(
            local_caller(db.workspace_name), verb, arguments, surface="cli", conversation=showing
        )


_STYLES = {
    "create": "green", "change": "cyan", "delete": "magenta", "conflict": "bold yellow",
    "refused": "bold red", "missing": "yellow",
}  # fmt: skip


_FIRST = {"refused": 0, "conflict": 1, "missing": 2, "delete": 3}


def _print_plan(console: Console, done: Any, path: Path) -> None:
    from rich.text import Text

    # What somebody has to look at comes first.
    entries = sorted(done.entries, key=lambda one: _FIRST.get(one.action, len(_FIRST)))
    for one in entries[:_SHOWN]:
        style = _STYLES.get(one.action, "dim")
        entity = "" if one.entity is None else f"  {one.entity}"
        line = Text.assemble((f"{one.action:>9}", style), f"  {one.path}", (entity, "dim"))
        if one.slots:
            line.append(f"  ({', '.join(one.slots)[:200]})", "dim")
        console.print(line)
        if one.why and not one.findings:
            console.print(Text(f"           {one.why}", "dim"))
        for finding in one.findings[:5]:
            at = "" if finding.line is None else f"line {finding.line}: "
            console.print(Text(f"           {at}{finding.message}", "red"))
            if finding.hint:
                console.print(Text(f"           {finding.hint}", "dim"))
    rest = sum(done.counts.values()) - done.counts.get("unchanged", 0) - len(done.entries[:_SHOWN])
    if rest > 0:
        console.print(f"           … and {rest:,} more (--json lists the first thousand)")
    counts = ", ".join(f"{count:,} {action}" for action, count in done.counts.items() if count)
    console.print(f"{done.source}: {counts or 'nothing'}.")
    if not done.applied and set(done.counts) & {"create", "change", "delete"}:
        console.print("Nothing was written. To do it, repeat the command with --apply.")
