"""Rows of the audit that wait beside the file while somebody writes to it.

SQLite has one lock for all who write, and a large transaction holds it for as long as it takes. The
row of a read must be safe before its answer leaves, so without this file every reader would wait
for every writer. A row that stands here survives the death of the process; it is moved into the
table as soon as that is free, by this run or, if that was killed, by whichever opens the database
next. Each run has a file of its own and holds it locked, which is how others know that it lives.
Nothing else beside the database is ever touched: a file is one of these by its name and first line.
"""

from __future__ import annotations

import fcntl
import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from sandbar.faults import log_fault
from sandbar.sql import load_queries
from sandbar.store.numbering import Numbers, number_taken, strangers
from sandbar.store.trail import AuditRow, audit_row

ROWS_MAX = 20_000  # then whoever asks has to wait for the table after all
MOVED_AT_ONCE = 256  # rows, by who must not take long
_MARK = "-audit-"
_HEAD = b"sandbar audit rows 1\n"
_RUN = re.compile(r"\d+")
_Q = load_queries("sandbar.store.sqlite", "trail.sql", audit=AuditRow._fields)


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
        if connection.changes() == 0:
            found = connection.execute(_Q.rows_of, (ws, row.run, row.n - 1, row.n, 1))
            if strangers([row], map(audit_row, found)):
                number_taken()  # which the log has then
                moving.drawn.append((ws, numbers.draw(ws)))
                again = row._replace(run=numbers.run, n=moving.drawn[-1][1])
                connection.execute(_Q.put_audit, (ws, *again))
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
            if self._handle is None or not self._is_written(self._handle, text):
                return False
        except OSError:
            return False
        self._rows += len(rows)
        self._bytes += len(text)
        self.waiting.extend(rows)
        return True

    def _is_written(self, handle: int, text: bytes) -> bool:
        """Write after what is there; half of it is cut off again, and is nothing."""
        whole = text if self._bytes else _HEAD + text
        try:
            if os.pwrite(handle, whole, self._bytes) == len(whole):
                self._bytes += len(whole) - len(text)
                return True
        except OSError:
            pass  # a full disk: who asked is told so by the table
        os.ftruncate(handle, self._bytes)
        return False

    def moved(self, count: int) -> None:
        """The first rows that wait are in the table now."""
        del self.waiting[:count]
        if not self.waiting and self._handle is not None:
            with suppress(OSError):  # then they stay here, too, and are taken in once more in vain
                os.ftruncate(self._handle, 0)
                self._rows = self._bytes = 0

    def close(self) -> None:
        """Let go of the file; with nothing in it, it is removed."""
        if self._handle is None:
            return
        if not self.waiting:
            os.unlink(self._path)
        os.close(self._handle)
        self._handle = None


def _claimed(path: str) -> int | None:
    """A new file that is locked before others can find it by its name; None: it was found."""
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _bears_name(handle, path):
            return handle
    except BlockingIOError:
        pass  # another program looks in at it, and takes it for one that was left
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _bears_name(handle: int, path: str | Path) -> bool:
    """Whether the name still leads to this very file."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


class Left:
    """The file of a run that is over, held so that nobody else takes it up."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        self._damage: msgspec.MsgspecError | None = None

    def is_ours(self) -> bool:
        """Whether it is what its name says, and still there."""
        head = os.pread(self._handle, len(_HEAD), 0)
        return _bears_name(self._handle, self._path) and _HEAD.startswith(head)

    def rows(self) -> list[AsideRow]:
        """What it holds; a line that a kill cut short was never acknowledged."""
        rows: list[AsideRow] = []
        for line in self._path.read_bytes().removeprefix(_HEAD).split(b"\n")[:-1]:
            try:
                rows.append(msgspec.json.decode(line, type=AsideRow))
            except msgspec.MsgspecError as error:
                # A power cut may have left anything here: docs/audit.md.
                self._damage = error
        return rows

    def remove(self) -> None:
        """Its rows are in the table; a damaged file is kept under another name, for people."""
        if self._damage is None:
            os.unlink(self._path)
            return
        log_fault("audit.aside-damaged", self._damage)
        self._path.rename(self._path.with_name(f"{self._path.name}.damaged"))

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)


def left_by_others(database: str) -> Iterator[Left]:
    """The files of runs that are over, one after the other."""
    whole = Path(database)
    for path in sorted(whole.parent.glob(f"{glob.escape(whole.name)}{_MARK}*")):
        if _RUN.fullmatch(path.name.removeprefix(f"{whole.name}{_MARK}")) is None:
            continue  # of somebody else, who has chosen such a name
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # another was quicker
        except PermissionError:
            continue  # of another user of this database, who will take it up
        left = Left(path, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if left.is_ours():
                yield left
        except BlockingIOError:
            continue  # its run lives
        finally:
            left.close()
