"""A disk whose n-th operation fails, once or from then on until it is mended (D3).

The real writer works on it through the logging file system of `powercut`, one connection in
exclusive mode. What was answered must be there, what was refused must not.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from sandbar.errors import Problem
from sandbar.store.api import NOTHING_WANTED
from sandbar.store.batch import Item
from sandbar.store.pieces import Change
from sandbar.store.plan import Transaction
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.session import SqliteConnector
from sandbar.store.writer import Writer
from tests.fault.breakage import BREAKAGES
from tests.fault.powercut import WS, exclusive, prepare_workspace

COMMITS = 12
FIRST_MAX = 7
MENDED_AFTER = 8  # with a lasting failure, the disk works again before this commit


@dataclass
class Trouble:
    """Counts the operations of the disk, and says which of them fail."""

    at: int = -1  # no failure
    lasting: bool = False
    seen: int = 0

    def strike(self) -> None:
        """One more write or sync."""
        self.seen += 1
        if self.seen == self.at or (self.lasting and 0 < self.at <= self.seen):
            raise apsw.IOError("the disk refused")


class FailingFile(apsw.VFSFile):
    """A file of SQLite on that disk."""

    def __init__(self, trouble: Trouble, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._trouble = trouble

    def xWrite(self, data: Any, offset: int) -> None:
        """Write, or fail."""
        self._trouble.strike()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        """Sync (which costs nothing here), or fail."""
        self._trouble.strike()


class FailingDisk(apsw.VFS):
    """The file system that everybody in this process gets."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__("failing", "unix", makedefault=True)
        self._trouble = trouble

    def xOpen(self, name: Any, flags: list[int]) -> FailingFile:
        """Open a file that may fail."""
        return FailingFile(self._trouble, name, flags)


@dataclass
class Failures:
    """What came of all the failures."""

    runs: int = 0
    answered: int = 0
    refused: int = 0
    codes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # lost, or refused and written all the same
    stuck: list[str] = field(default_factory=list)  # no service after the disk was mended


def run_failures(
    folder: str, seed: str, lasting: bool, step: int, out: str, breakage: str = "none"
) -> None:
    """Fail at an operation, and every so many after it, until a run does not meet its failure.

    Chance has the first of them, so that in time all are met.
    """
    BREAKAGES[breakage]()
    trouble = Trouble()
    disk = FailingDisk(trouble)
    apsw.connection_hooks.append(exclusive)
    result = Failures()
    at = random.Random(seed).randint(1, min(step, FIRST_MAX))
    while True:
        path = Path(folder) / f"{at}.db"
        trouble.at = -1
        prepare_workspace(path)
        trouble.at, trouble.lasting, trouble.seen = at, lasting, 0
        _one_run(result, path, trouble, random.Random(f"{seed}/{at}"))
        if trouble.seen < at:
            break
        at += step
    disk.unregister()
    Path(out).write_text(json.dumps(vars(result)))


def _one_run(result: Failures, path: Path, trouble: Trouble, chance: random.Random) -> None:
    result.runs += 1
    where = f"operation {trouble.at}{' and all after it' if trouble.lasting else ''}"
    writer = Writer(lambda: _Connector(File(str(path))), workers=1, yields=False)
    kept: list[tuple[int, str]] = []  # a list, because a lost id is given out again
    for number in range(COMMITS):
        if number == MENDED_AFTER and trouble.lasting:
            trouble.at = -trouble.at
        works = [_Create(chance) for _ in range(chance.randint(1, 3))]
        items = [Item(work, NOTHING_WANTED, alone=False, deadline_s=None) for work in works]
        for item in items:
            writer.submit(WS, item)
        for item in items:
            try:
                written = item.future.result(30)
            except Problem as problem:
                result.refused += 1
                if problem.code not in result.codes:
                    result.codes.append(problem.code)
                if number > MENDED_AFTER:
                    result.stuck.append(f"{where}: {problem}")
            else:
                result.answered += 1
                kept.append(written)
    trouble.at = -abs(trouble.at)
    writer.close()
    _compare(result, path, where, kept)


class _Connector(SqliteConnector):
    """The store's own, except that checkpoints come before a transaction, not inside COMMIT.

    SQLite ignores a checkpoint that fails; but apsw reports whatever a file in Python has raised,
    so that a COMMIT which succeeded would seem to have failed. A file in C cannot do that.
    """

    def begin(self, ws: int) -> Any:
        """Checkpoint, whatever comes of it; then begin as ever."""
        if self._connection is not None:
            self._connection.wal_autocheckpoint(0)
            try:
                self._connection.wal_checkpoint()
            except apsw.Error:
                pass
        return super().begin(ws)


class _Create:
    """One new entity."""

    def __init__(self, chance: random.Random) -> None:
        self._doc = json.dumps({"1": chance.randbytes(chance.randint(1, 400)).hex()})
        self._key = chance.randbytes(8)

    def __call__(self, tx: Transaction) -> tuple[int, str]:
        id = tx.new_id()
        tx.change(Change(id, 1, self._doc, [(1, self._key)], []), None)
        return id, self._doc


def _compare(result: Failures, path: Path, where: str, kept: list[tuple[int, str]]) -> None:
    connection = apsw.Connection(str(path))
    try:
        integrity = connection.execute("PRAGMA integrity_check").get
        found = connection.execute("SELECT id, doc FROM entity ORDER BY id").fetchall()
        numbers = [t for (t,) in connection.execute("SELECT t FROM tx ORDER BY t")]
    finally:
        connection.close()
    if integrity != "ok":
        result.wrong.append(f"{where}: {integrity}")
    if found != sorted(kept):
        result.wrong.append(f"{where}: {len(kept)} answered, {len(found)} found")
    if numbers != list(range(1, len(numbers) + 1)):
        result.wrong.append(f"{where}: t has holes")
