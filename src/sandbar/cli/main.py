"""The `sandbar` program: its commands, and how it says what went wrong."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from sandbar.cli.demo import demo
from sandbar.cli.migrate import migrate
from sandbar.errors import Problem

app = typer.Typer(
    name="sandbar",
    help="A self-describing, versioned database for people and AI agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(migrate)


@app.callback()
def sandbar() -> None:
    """A self-describing, versioned database for people and AI agents."""


def main() -> None:
    """Run a command; a problem is said in two lines, without a traceback."""
    try:
        app()
    except Problem as problem:
        console = Console(stderr=True, highlight=False)
        console.print(f"[bold red]{problem.message}[/] [dim]({problem.code})[/]")
        if problem.hint:
            console.print(f"[yellow]try:[/] {problem.hint}")
        sys.exit(1)
