"""The `sandbar` program: its commands, and how it says what went wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
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

COMMANDS: dict[str, Callable[..., None] | typer.Typer] = {
    "serve": serve,
    "account": account_app,
    "key": key_app,
    "workspace": workspace_app,
    "connect": connect,
    "call": call,
    "pack": pack_app,
    "audit": audit_app,
    "project": project_app,
    "backup": backup,
    "restore": restore,
    "watch": watch,
    "doctor": doctor,
    "stdio": stdio,
    "migrate": migrate,
    "demo": demo,
    "demo-server": demo_server,
}


@cache
def program(word: str) -> typer.Typer:
    """The program for whoever begins with this word: with that command, or else with all of them.

    To build the parsers of all commands takes longer than most of them take to run.
    """
    app = typer.Typer(
        name="sandbar",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(sandbar)
    for name in [word] if word in COMMANDS else COMMANDS:
        command = COMMANDS[name]
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"sandbar {__version__}")
        raise typer.Exit


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
        program(sys.argv[1] if len(sys.argv) > 1 else "")()
    except Problem as problem:
        from sandbar.cli.problems import print_problem

        print_problem(problem)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
