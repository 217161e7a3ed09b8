"""`sandbar watch`: a folder of Markdown and a workspace, kept in step."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import existing, settings_of
from sandbar.cli.counts import counted
from sandbar.cli.options import ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from rich.console import Console

    from sandbar.database import Database
    from sandbar.projects.sync import Event, Kind, Standing, Watcher

_CLASS = "mm/Memory"
_WORDS: dict[Kind, tuple[str, str, str]] = {
    "created": ("→", "created {entity}", "green"),
    "updated": ("→", "updated {entity}", "green"),
    "deleted": ("→", "deleted {entity}", "yellow"),
    "renamed": ("→", "was {kept}: now {entity}", "green"),
    "written": ("←", "from {entity}", "cyan"),
    "moved": ("←", "was {kept}: now {entity}", "cyan"),
    "thrown-away": ("←", "{entity} was deleted; the file is in {kept}", "yellow"),
    "survived": ("↔", "{entity} is kept: {reason}", "bold yellow"),
    "returned": ("!", "is back: {reason}", "bold red"),
    "conflict": ("!", "CONFLICT: {reason}; the file's version is in {kept}", "bold red"),
    "refused": ("!", "REFUSED: {reason}", "bold red"),
}
_TO_WORKSPACE = ("created", "updated", "deleted", "renamed")
_TO_FILES = ("written", "moved", "thrown-away")


def watch(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of Markdown files.")],
    class_: Annotated[
        str,
        typer.Option("--class", metavar="CLASS", help="The class whose instances are the files."),
    ] = _CLASS,
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="One round, then end; exit code 1 if anything is left to look at."
        ),
    ] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Keep a folder of Markdown files and a workspace in step, both ways, until Ctrl-C.

    Such as: sandbar watch notes. Where both sides have changed, the workspace's version gets the
    name and the file's is kept beside it. Works beside a server, or without one.
    """
    from rich.console import Console

    settings = settings_of(database, workspace)
    console = Console(highlight=False, soft_wrap=True)
    told: Counter[str] = Counter()
    with existing(settings) as db:
        _check_class(db, class_)
        _run(db, folder, class_, once, console, told)
    console.print(f"{_sum(told)}.")
    if once and _is_serious(told):
        raise typer.Exit(1)


def _run(
    db: Database, folder: Path, class_: str, once: bool, console: Console, told: Counter[str]
) -> None:
    from contextlib import closing

    from sandbar.cli.recorded import Recorded
    from sandbar.projects.sync import Sync, Watcher
    from sandbar.settings import state_folder

    def tell(event: Event) -> None:
        told[event.kind] += 1
        _print_event(console, event)

    codecs = db.offer.codecs
    standing, state = db.workspace.standing, state_folder() / "watch"
    sync = Sync(Recorded(db, "watch"), standing, codecs, folder, class_, tell, state=state)
    with closing(sync):
        _print_standing(console, sync.standing(), folder, class_, db.workspace_name)
        watcher = Watcher(sync, lambda text: print(text, file=sys.stderr, flush=True))
        _stop_on_signals(watcher)
        if once:
            watcher.run_once()
        else:
            console.print("Both sides are kept in step from now on. Ctrl-C ends it.", style="dim")
            watcher.run()


def _check_class(db: Database, class_: str) -> None:
    from sandbar.errors import NotFound

    if class_ == _CLASS and class_ not in db.schema.classes():
        raise NotFound(
            "watch.no-memory",
            f"there is no class {class_} in the workspace {db.workspace_name}",
            hint="`sandbar pack add memory` brings it; or name a class of yours with --class",
        )


def _stop_on_signals(watcher: Watcher) -> None:
    """The first Ctrl-C ends it in order; the second one at once."""
    import signal

    def stop(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        watcher.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _print_standing(
    console: Console, found: Standing, folder: Path, class_: str, workspace: str
) -> None:
    from rich.text import Text

    files = counted(found.files, "file", "files")
    entities = counted(found.entities, "entity", "entities")
    console.print(
        Text(f"{folder}: {files}; {class_} in workspace {workspace}: {entities}.", "bold")
    )
    parts = [
        (found.files_new, "new file", "new files"),
        (found.files_changed, "changed file", "changed files"),
        (found.files_gone, "deleted or moved file", "deleted or moved files"),
        (found.entities_new, "entity without a file", "entities without a file"),
        (found.entities_changed, "changed entity", "changed entities"),
        (found.entities_gone, "deleted entity", "deleted entities"),
    ]
    due = [counted(*part) for part in parts if part[0]]
    if due:
        console.print(Text(f"To do: {', '.join(due)}."))
    else:
        console.print(Text("Both sides agree."))
    if found.conflict_files:
        left = counted(found.conflict_files, "conflict file is", "conflict files are")
        console.print(Text(f"{left} still there to be looked at.", "bold yellow"))


def _print_event(console: Console, event: Event) -> None:
    from datetime import datetime

    from rich.text import Text

    from sandbar.clock import now_us

    arrow, words, style = _WORDS[event.kind]
    at = datetime.fromtimestamp(now_us() / 1_000_000).astimezone().strftime("%H:%M:%S")
    told = words.format(
        entity=event.entity or "it", kept=event.kept or "", reason=event.reason or ""
    )
    console.print(Text.assemble((f"{at} ", "dim"), (f"{arrow} {event.path}  ", style), told))
    if event.hint and arrow == "!":
        console.print(Text.assemble(("           try: ", "yellow"), event.hint))
    sys.stdout.flush()


def _is_serious(told: Counter[str]) -> bool:
    from sandbar.projects.sync import SERIOUS

    return any(told[kind] for kind in SERIOUS)


def _sum(told: Counter[str]) -> str:
    figures = [
        f"{sum(told[kind] for kind in _TO_WORKSPACE):,} to the workspace",
        f"{sum(told[kind] for kind in _TO_FILES):,} to files",
        counted(told["conflict"], "conflict", "conflicts"),
        f"{told['refused'] + told['returned']:,} refused",
    ]
    return ", ".join(figures)
