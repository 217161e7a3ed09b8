"""The command line: one file per command."""

from sandbar.cli.main import main

__all__ = ["main"]
