"""The commands `record` and `compare`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.recordings.comparing import differences, load_meant, report, summary
from tests.recordings.keeping import read, write
from tests.recordings.places import postgres_place, sqlite_place
from tests.recordings.recorders import RECORDERS, recorded

BASE = Path(__file__).with_name("base")
MEANT = Path(__file__).with_name("meant.toml")


def main() -> int:
    """Run a command; 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.recordings")
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record", help="write down what the program answers")
    record.add_argument("folder", type=Path)
    record.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    record.add_argument("--only", nargs="+", metavar="KIND", choices=RECORDERS, default=None)
    compare = commands.add_parser("compare", help="show what differs between two recordings")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument("--by-kind", action="store_true", help="the counts only")
    compare.add_argument("--meant", type=Path, default=MEANT, help="what differs on purpose")
    given = parser.parse_args()
    return _record(given) if given.command == "record" else _compare(given)


def _record(given: argparse.Namespace) -> int:
    found = {}
    with postgres_place() if given.postgres else sqlite_place() as place:
        for kind in given.only or RECORDERS:
            started = time.monotonic()
            found[kind] = recorded(kind, place)
            seconds = time.monotonic() - started
            sys.stderr.write(f"{kind:28} {len(found[kind]):5} exchanges, {seconds:5.1f} s\n")
    write(found, given.folder)
    return 0


def _compare(given: argparse.Namespace) -> int:
    old, new = read(given.old), read(given.new)
    found = differences(old, new, load_meant(given.meant))
    sys.stdout.write(summary(old, new, found) if given.by_kind else report(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
