"""Rows of the audit that wait beside the file while somebody writes to it.

SQLite has one lock for all who write, and a large transaction holds it for as long as it takes. The
row of a read must be safe before its answer leaves, so without this file every reader would wait
for every writer. A row that stands here survives the death of the process; it is moved into the
table as soon as that is free, by this run or, if that was killed, by whichever opens the database
next. Each run has a file of its own and holds it locked, which is how others know that it lives.
"""

from __future__ import annotations

import fcntl
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from sandbar.faults import log_fault
from sandbar.store.numbering import Numbers
from sandbar.store.queries import load_queries
from sandbar.store.trail import AuditRow

ROWS_MAX = 20_000  # then whoever asks has to wait for the table after all
_MARK = "-audit-"
_Q = load_queries("sandbar.store.sqlite", "trail.sql")


class AsideRow(NamedTuple):
    """A row on its way; the epoch tells whether it belongs to the database that is found later."""

    ws: int
    epoch: int
    row: AuditRow


class Moving(NamedTuple):
    """Rows on their way into the table, and numbers (with workspaces) drawn for some of them."""

    rows: Sequence[AsideRow]
    drawn: list[tuple[int, int]]

    def end(self, numbers: Numbers) -> None:
        """The numbers that were drawn have their rows, or never will."""
        for ws, n in self.drawn:
            numbers.arrived(ws, n)


NOTHING_MOVES = Moving((), [])


def take_in(connection: apsw.Connection, numbers: Numbers, rows: Sequence[AsideRow]) -> Moving:
    """Write rows to the table; those of a run that was sealed meanwhile, under numbers of ours."""
    moving = Moving(rows, [])
    for ws, epoch, row in rows:
        if connection.execute(_Q.epoch, (ws,)).get != epoch:
            continue  # of a workspace that is gone, or of a file that had this name before
        if connection.execute(_Q.last_sealed, (ws, row.run)).get >= row.n:
            moving.drawn.append((ws, numbers.draw(ws)))
            row = row._replace(run=numbers.run, n=moving.drawn[-1][1])
        connection.execute(_Q.put_audit, (ws, *row))
    return moving


class Aside:
    """The file of one run. It is made when it is first needed; used by one thread at a time."""

    def __init__(self, database: str, run: int) -> None:
        self._path = f"{database}{_MARK}{run}"
        self._handle: int | None = None
        self._rows = 0  # in the file, those included that were moved since
        self._bytes = 0  # of whole lines
        self.waiting: list[AsideRow] = []

    def put(self, rows: Sequence[AsideRow]) -> bool:
        """Keep rows here; False, if there is no room or the disk does not take them."""
        if self._rows + len(rows) > ROWS_MAX:
            return False
        text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        try:
            if self._handle is None:
                self._handle = _claimed(self._path)
            if os.write(self._handle, text) != len(text):
                raise OSError("the disk took only a part")
        except OSError:
            self._cut_off(self._bytes)  # half a line, so that the next begins where a line begins
            return False
        self._rows += len(rows)
        self._bytes += len(text)
        self.waiting.extend(rows)
        return True

    def moved(self, count: int) -> None:
        """The first rows that wait are in the table now."""
        del self.waiting[:count]
        if not self.waiting:
            self._rows = self._bytes = 0
            self._cut_off(0)

    def close(self) -> None:
        """Let go of the file; with nothing in it, it is removed."""
        if self._handle is None:
            return
        if not self.waiting:
            os.unlink(self._path)
        os.close(self._handle)
        self._handle = None

    def _cut_off(self, length: int) -> None:
        if self._handle is not None:
            os.ftruncate(self._handle, length)


def _claimed(path: str) -> int:
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)  # whoever looks in at it this instant lets go at once
    return handle


class Left:
    """The file of a run that is over, held so that nobody else takes it up."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle

    def rows(self) -> list[AsideRow]:
        """What it holds; a line that a kill cut short was never acknowledged."""
        rows, damaged = [], None
        for line in self._path.read_bytes().split(b"\n")[:-1]:
            try:
                rows.append(msgspec.json.decode(line, type=AsideRow))
            except msgspec.MsgspecError as error:
                damaged = error  # a power cut may have left anything here: docs/audit.md
        if damaged is not None:
            log_fault("audit.aside-damaged", damaged)
        return rows

    def remove(self) -> None:
        """Its rows are in the table."""
        os.unlink(self._path)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)


def left_by_others(database: str) -> Iterator[Left]:
    """The files of runs that are over, one after the other."""
    whole = Path(database)
    for path in sorted(whole.parent.glob(f"{glob.escape(whole.name)}{_MARK}*")):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # another was quicker
        except PermissionError:
            continue  # of another user of this database, who will take it up
        left = Left(path, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path):
                yield left
        except BlockingIOError:
            continue  # its run lives
        finally:
            left.close()
