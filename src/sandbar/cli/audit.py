"""`sandbar audit`: who asked for what, and the proof that nobody has changed it since."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from sandbar.cli.calling import existing, settings_of
from sandbar.cli.options import ExistingDatabaseOption, WorkspaceOption

if TYPE_CHECKING:
    from sandbar.audit import AuditRow, Verdict

_LISTED_MAX = 10_000
_GAP = "  "
_STALE_US = 120_000_000  # an unsealed row that is older than this waits for a server

audit_app = typer.Typer(
    no_args_is_help=True, help="The audit: every request, sealed against changes."
)

PrincipalOption = Annotated[
    str | None,
    typer.Option(
        "--principal",
        metavar="WHO",
        help="Only requests of user/anna, service/claude, local …",
        show_default=False,
    ),
]
VerbOption = Annotated[
    str | None,
    typer.Option("--verb", metavar="VERB", help="Only requests for key.mint …", show_default=False),
]


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
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Print `intact`, or what is broken (exit code 1).

    Such as: sandbar audit verify --head "$(cat /mnt/elsewhere/head)"
    """
    from sandbar.audit import verify

    with existing(settings_of(database, workspace)) as db:
        verdict = verify(db.journal.trail, db.workspace.number, head=head)
    _print_verdict(verdict)
    if not verdict.is_intact:
        raise typer.Exit(1)


@audit_app.command("export")
def export_all(database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """Write every row and seal as JSON Lines, oldest first; the last line is the head."""
    import msgspec

    from sandbar.audit import export

    encode = msgspec.json.Encoder().encode
    with existing(settings_of(database, workspace)) as db:
        for one in export(db.journal.trail, db.workspace.number, db.workspace_name):
            sys.stdout.buffer.write(encode(one) + b"\n")
    sys.stdout.buffer.flush()


@audit_app.command("head")
def print_head(database: ExistingDatabaseOption = None, workspace: WorkspaceOption = None) -> None:
    """Print the head of the chain; keep it where nobody can change it."""
    from sandbar.audit import head_of
    from sandbar.errors import NotFound

    with existing(settings_of(database, workspace)) as db:
        head = head_of(db.journal.trail.last_seal(db.workspace.number))
    if head is None:
        raise NotFound(
            "audit.nothing-sealed",
            "nothing is sealed in this workspace yet",
            hint="a server seals every second what was asked of it: sandbar serve",
        )
    print(head)


@audit_app.command("list")
def list_newest(
    limit: Annotated[
        int, typer.Option("--limit", metavar="NUMBER", min=1, max=_LISTED_MAX, help="How many.")
    ] = 50,
    principal: PrincipalOption = None,
    verb: VerbOption = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only what was refused or failed.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, one line each, for programs.")
    ] = False,
    database: ExistingDatabaseOption = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The newest requests; `sandbar audit export` writes all of them.

    Such as: sandbar audit list --failed --principal service/claude
    """
    with existing(settings_of(database, workspace)) as db:
        rows = db.journal.trail.rows(
            db.workspace.number,
            limit=limit + 1,
            principal=principal,
            verb=verb,
            is_success=False if failed else None,
        )
    if as_json:
        _print_lines(rows[:limit])
    elif rows:
        _print_table(rows[:limit])
    else:
        is_narrowed = failed or principal is not None or verb is not None
        print("No such requests." if is_narrowed else "No requests yet.", file=sys.stderr)
    if len(rows) > limit:
        sys.stdout.flush()
        print("There are more: --limit NUMBER shows them, newest first.", file=sys.stderr)


def _print_lines(rows: list[AuditRow]) -> None:
    import msgspec

    from sandbar.audit import row_object

    for row in rows:
        print(msgspec.json.encode(row_object(row)).decode())


def _print_table(rows: list[AuditRow]) -> None:
    """The columns of which any row has something. No part of a cell is left out: where a terminal
    is too narrow for the whole, the id of each request stands below it."""
    from rich.console import Console
    from rich.text import Text

    from sandbar.clock import instant_text

    columns = {
        "at": [instant_text(row.at_us)[:19].replace("T", " ") for row in rows],
        "who": [row.principal for row in rows],
        "key": [row.key or "" for row in rows],
        "surface": [row.surface for row in rows],
        "what": [row.method if row.verb is None else row.verb for row in rows],
        "outcome": ["ok" if row.is_success else row.code or "failed" for row in rows],
        "ms": [f"{row.duration_us / 1000:.1f}" for row in rows],
        "request": [row.request_id or "" for row in rows],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    widths = {name: max(map(len, [name, *cells])) for name, cells in shown.items()}
    console = Console(highlight=False, soft_wrap=True)
    width = sum(widths.values()) + len(_GAP) * (len(widths) - 1)
    below = shown.pop("request", []) if console.is_terminal and width > console.width else []

    def line(cells: Iterable[str]) -> str:
        pairs = zip(shown, cells, strict=True)
        padded = (c.rjust(widths[n]) if n == "ms" else c.ljust(widths[n]) for n, c in pairs)
        return _GAP.join(padded).rstrip()

    console.print(Text(line(shown), "bold"))
    for number, cells in enumerate(zip(*shown.values(), strict=True)):
        console.print(Text(line(cells)))
        if below and below[number]:
            console.print(Text(f"    request {below[number]}", "dim"))


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
