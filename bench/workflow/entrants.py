"""Who takes part: programs that are started, driven round by round, and ended."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from bench.places import PostgresPlace, SqlitePlace
from bench.workflow.messages import Ask, Count, Counted, Drive, Driven
from tests.postgres_server import PostgresServer

ROOT = Path(__file__).parents[2]
OURS = "sandbar-postgres"

_START_S = 60.0
_PATIENCE_S = 30.0

T = TypeVar("T")


class ContestantError(Exception):
    """A contestant that does not do its work is not measured."""


class Entrant(NamedTuple):
    """One line of the contest."""

    key: str
    what: str
    module: str
    target: str
    more: tuple[str, ...] = ()
    second: str = ""  # an empty database of the same kind, to count the traffic with

    def command(self, target: str) -> list[str]:
        """How its program is called."""
        program = f"bench.workflow.contestants.{self.module}"
        return [sys.executable, "-m", program, target, *self.more]


class Contestant:
    """A running program, ready to be driven."""

    def __init__(self, what: str, command: Sequence[str]) -> None:
        self._what = what
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            self._hear(Counted, _START_S)
        except ContestantError:
            self.end()
            raise

    def drive(self, threads: int, seconds: float) -> Driven:
        """Let it run processes for a while."""
        return self._ask(Drive(threads, seconds), Driven, seconds + _PATIENCE_S)

    def count(self) -> Counted:
        """What it has in its database."""
        return self._ask(Count(), Counted, _PATIENCE_S)

    def end(self) -> None:
        """Say that there is nothing more to do; a program that does not hear it is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, ask: Ask, answer: type[T], patience_s: float) -> T:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(ask) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ContestantError(f"{self._what} is gone") from error
        return self._hear(answer, patience_s)

    def _hear(self, answer: type[T], patience_s: float) -> T:
        """The next line; a program says only one at a time, and nothing unasked."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], patience_s)[0]:
            raise ContestantError(f"{self._what} did not answer within {patience_s:g} s")
        line = self._process.stdout.readline()
        try:
            return msgspec.json.decode(line, type=answer)
        except msgspec.DecodeError as error:
            raise ContestantError(f"{self._what} answered {line!r}") from error


class Field(NamedTuple):
    """Everybody, and what is missing."""

    entrants: list[Entrant]
    remarks: list[str]


def line_up(server: PostgresServer, folder: Path) -> Field:
    """Prepare the databases; nothing is started yet."""
    place, files = PostgresPlace(server), SqlitePlace(folder)
    program = "sandbar_steps"
    # The two that are judged against each other come one after the other.
    ours = [
        Entrant("sandbar-sqlite", "Sandbar on SQLite", program, files.make("steps"), ("plain",)),
        Entrant(
            "sandbar-guarded",
            "Sandbar on PostgreSQL, guarded",
            program,
            place.make("guarded"),
            ("guarded",),
            place.make("guarded_counted"),
        ),
        Entrant(
            OURS,
            "Sandbar on PostgreSQL",
            program,
            place.make("steps"),
            ("plain",),
            place.make("steps_counted"),
        ),
    ]
    if find_spec("dbos") is None:
        return Field(ours, ["DBOS is not installed (`make bench` does it)"])
    theirs = [
        Entrant(
            f"dbos-{how}",
            what,
            "dbos_steps",
            server.create_database(f"bench_dbos_{how}"),
            (how,),
            server.create_database(f"bench_dbos_{how}_counted"),
        )
        for how, what in (("plain", "DBOS"), ("tuned", "DBOS, tuned"))
    ]
    return Field([*ours, *theirs], [])
