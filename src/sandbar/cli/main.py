"""The `sandbar` program: its commands, and how it says what went wrong."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from sandbar import __version__
from sandbar.cli.account import account_app
from sandbar.cli.audit import audit_app
from sandbar.cli.backup import backup
from sandbar.cli.call import call
from sandbar.cli.connect import connect
from sandbar.cli.demo import demo
from sandbar.cli.demo_server import demo_server
from sandbar.cli.doctor import doctor
from sandbar.cli.key import key_app
from sandbar.cli.migrate import migrate
from sandbar.cli.pack import pack_app
from sandbar.cli.project import project_app
from sandbar.cli.restore import restore
from sandbar.cli.serve import serve
from sandbar.cli.stdio import stdio
from sandbar.cli.watch import watch
from sandbar.cli.workspace import workspace_app
from sandbar.errors import Problem

app = typer.Typer(
    name="sandbar",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(serve)
app.add_typer(account_app, name="account")
app.add_typer(key_app, name="key")
app.add_typer(workspace_app, name="workspace")
app.command()(connect)
app.command()(call)
app.add_typer(pack_app, name="pack")
app.add_typer(audit_app, name="audit")
app.add_typer(project_app, name="project")
app.command()(backup)
app.command()(restore)
app.command()(watch)
app.command()(doctor)
app.command()(stdio)
app.command()(migrate)
app.command()(demo)
app.command()(demo_server)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"sandbar {__version__}")
        raise typer.Exit


@app.callback()
def sandbar(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """A self-describing, versioned database for people and AI agents."""


def main() -> None:
    """Run a command.

    Exit codes: 0 done, 1 a problem (said without a traceback), 2 wrong usage, 130 Ctrl-C.
    """
    try:
        app()
    except Problem as problem:
        from sandbar.cli.problems import print_problem

        print_problem(problem)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
