"""`sandbar audit`: who asked for what, and the proof that nobody has changed it since."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.options import DatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.audit import Verdict
    from sandbar.database import Database

_LISTED = 50
_STALE_US = 120_000_000  # an unsealed row that is older than this waits for a server

audit_app = typer.Typer(
    no_args_is_help=True, help="The audit: every request, sealed against changes."
)


@audit_app.command("verify")
def verify_all(
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="HEAD",
            help="A head that you kept elsewhere (or the last line of an export):"
            " also finds what was cut off or made anew.",
            show_default=False,
        ),
    ] = None,
    database: DatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Print `intact`, or what is broken (exit code 1)."""
    from sandbar.audit import verify

    with _open(database, workspace) as db:
        verdict = verify(db.journal.trail, db.workspace.number, head=head)
    _print_verdict(verdict)
    if not verdict.is_intact:
        raise typer.Exit(1)


@audit_app.command("export")
def export_all(database: DatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """Write every row and seal as JSON Lines, oldest first; the last line is the head."""
    import msgspec

    from sandbar.audit import export

    encode = msgspec.json.Encoder().encode
    with _open(database, workspace) as db:
        for one in export(db.journal.trail, db.workspace.number):
            sys.stdout.buffer.write(encode(one) + b"\n")
    sys.stdout.buffer.flush()


@audit_app.command("head")
def print_head(database: DatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """Print the head of the chain; keep it where nobody can change it."""
    from sandbar.audit import head_of
    from sandbar.errors import NotFound

    with _open(database, workspace) as db:
        head = head_of(db.journal.trail.last_seal(db.workspace.number))
    if head is None:
        raise NotFound(
            "audit.nothing-sealed",
            "nothing is sealed in this workspace yet",
            hint="a server seals every second what was asked of it: sandbar serve",
        )
    print(head)


@audit_app.command("list")
def list_newest(database: DatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """The newest requests; `sandbar call audit.list` takes filters and goes further back."""
    from rich.console import Console
    from rich.table import Table

    from sandbar.clock import instant_text

    with _open(database, workspace) as db:
        rows = db.journal.trail.rows(db.workspace.number, limit=_LISTED)
    if not rows:
        Console(stderr=True, highlight=False).print("No requests yet.")
        return
    table = Table(
        "at", "who", "surface", "what", "outcome", "ms", "request", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(
            instant_text(row.at_us)[:19].replace("T", " "),
            row.principal if row.key is None else f"{row.principal} ({row.key})",
            row.surface,
            row.method if row.verb is None else row.verb,
            "ok" if row.is_success else row.code or "failed",
            f"{row.duration_us / 1000:.1f}",
            row.request_id or "",
        )
    Console(highlight=False, markup=False, soft_wrap=True).print(table)


def _open(database: str | None, workspace: str | None) -> Database:
    from sandbar.database import open_database
    from sandbar.settings import Settings

    settings = Settings.from_environment(database=database, workspace=workspace)
    return open_database(settings.database, settings.workspace)


def _print_verdict(verdict: Verdict) -> None:
    """The verdict on stdout, figures and advice on stderr."""
    if verdict.is_intact:
        print("intact")
    for broken in verdict.broken:
        print(f"broken: {broken.kind}: {broken.where}: {broken.message}")
    sys.stdout.flush()
    figures = f"rows {verdict.rows}, seals {verdict.seals}, unsealed {verdict.unsealed}"
    print(f"{figures}, head {verdict.head or 'none yet'}", file=sys.stderr)
    if verdict.oldest_unsealed_us is not None:
        _explain_unsealed(verdict.oldest_unsealed_us)
    if not verdict.is_intact:
        print(
            "try: keep a copy of the database as it is now, export the same workspace from your"
            " last backup and from this database (sandbar audit export), and compare the rows"
            " named above",
            file=sys.stderr,
        )


def _explain_unsealed(oldest_us: int) -> None:
    from sandbar import clock

    since = clock.instant_text(oldest_us)
    text = f"unsealed rows are not protected yet; the oldest is from {since}"
    if clock.now_us() - oldest_us > _STALE_US:
        text += ": no server has sealed it since (is one running?), or it was put there by hand"
    print(text, file=sys.stderr)
