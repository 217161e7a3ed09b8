"""A power cut for SQLite: a file system that forgets whatever was not synced.

Every write, truncation and sync of the real writer goes through a VFS that logs it. For a cut at
any point of the log the files are built anew: synced bytes are there; of what was written later a
random part is there, some of it torn. apsw's VFS has no shared memory, so the one connection works
in exclusive mode; what it writes to the files is the same.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from sandbar.store.api import NOTHING_WANTED
from sandbar.store.batch import Item, run_batch
from sandbar.store.pieces import Change
from sandbar.store.plan import Transaction
from sandbar.store.sqlite.connection import open_writer
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.reads import QUERIES
from sandbar.store.sqlite.session import SqliteConnector
from sandbar.store.sqlite.upgrade import bring_up_to_date

SECTOR = 512
CHECKPOINT_PAGES = 60  # often, so that many cuts fall into a checkpoint
WS = 1
PROPERTY = 77


class Event(NamedTuple):
    """Something that happened to a file; for an answer, `at` is the transaction's t."""

    kind: str  # write, truncate, sync, answer
    file: str
    at: int = 0
    data: bytes = b""


class LoggingFile(apsw.VFSFile):
    """A file of SQLite that logs."""

    def __init__(self, log: list[Event], name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._log = log
        self._name = Path(name.filename() if hasattr(name, "filename") else name or "").name

    def xWrite(self, data: Any, offset: int) -> None:
        """Write, and remember what."""
        super().xWrite(data, offset)
        self._log.append(Event("write", self._name, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        """Shorten, and remember it."""
        super().xTruncate(size)
        self._log.append(Event("truncate", self._name, size))

    def xSync(self, flags: int) -> None:
        """Only remember: the disk is played by the log."""
        self._log.append(Event("sync", self._name))


class LoggingDisk(apsw.VFS):
    """The file system that everybody in this process gets."""

    def __init__(self, log: list[Event]) -> None:
        super().__init__("logging", "unix", makedefault=True)
        self._log = log

    def xOpen(self, name: Any, flags: list[int]) -> LoggingFile:
        """Open a file that logs."""
        return LoggingFile(self._log, name, flags)


@dataclass
class Cuts:
    """What came of many power cuts."""

    cuts: int = 0
    answers: int = 0
    events: int = 0
    lost: int = 0  # cuts after which an answered transaction was missing
    corrupt: list[str] = field(default_factory=list)
    ahead: int = 0  # cuts after which an unanswered transaction was there


def run_cuts(folder: str, seed: str, commits: int, cuts: int, synchronous: str, out: str) -> None:
    """Write through the real writer, then cut the power at random points of what it did.

    `synchronous` is SQLite's setting, or `own` to leave the writer as it is.
    """
    chance = random.Random(seed)
    log: list[Event] = []
    disk = LoggingDisk(log)
    apsw.connection_hooks.append(exclusive)
    path = Path(folder) / "live.db"
    before = prepare_workspace(path)
    log.clear()
    states = _write(path, log, chance, commits, synchronous)
    apsw.connection_hooks.clear()
    disk.unregister()
    answers = sum(event.kind == "answer" for event in log)
    result = Cuts(cuts, answers, len(log))
    points = sorted(chance.randrange(len(log) + 1) for _ in range(cuts))
    for answered, files in _images(log, before, points, chance):
        _judge(result, Path(folder), files, answered, states)
    Path(out).write_text(json.dumps(vars(result)))


def exclusive(connection: apsw.Connection) -> None:
    """Without shared memory a write-ahead log needs this."""
    connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()


def prepare_workspace(path: Path) -> dict[str, bytes]:
    """A database with an empty workspace; everything of it counts as synced."""
    bring_up_to_date(str(path))
    connection = open_writer(str(path))
    connection.execute(QUERIES.create_workspace, ("main", 1))
    connection.close()
    return {path.name: path.read_bytes()}


def _write(
    path: Path, log: list[Event], chance: random.Random, commits: int, synchronous: str
) -> list[dict[int, str]]:
    """Batches of creates and changes; returns all documents after each t."""
    connector = SqliteConnector(File(str(path)))
    connector.begin(WS).rollback()
    connection = connector._connection
    assert connection is not None
    if synchronous != "own":
        connection.execute(f"PRAGMA synchronous={synchronous}").fetchall()
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}").fetchall()
    states: list[dict[int, str]] = [{}]
    for _ in range(commits):
        works = [_Work(chance, [*states[-1]]) for _ in range(chance.randint(1, 3))]
        items = [Item(work, NOTHING_WANTED, alone=False, deadline_s=None) for work in works]
        run_batch(lambda: connector.begin(WS), items, lambda tx: None)
        for item in items:
            t, id, doc = item.future.result(0)
            states.append(states[-1] | {id: doc})
            assert t == len(states) - 1
            log.append(Event("answer", "", t))
    # The connection is left open: closing it would write and sync, and the power is gone.
    return states


class _Work:
    """One transaction: a new entity or another state of a known one."""

    def __init__(self, chance: random.Random, known: list[int]) -> None:
        self._id = chance.choice(known) if known and chance.random() < 0.5 else None
        self._doc = json.dumps({"1": chance.randbytes(chance.randint(1, 400)).hex()})
        self._key = chance.randbytes(8)

    def __call__(self, tx: Transaction) -> tuple[int, int, str]:
        before = None if self._id is None else tx.entity(self._id)
        id = tx.new_id() if self._id is None else self._id
        tx.change(Change(id, 1, self._doc, [(PROPERTY, self._key)], []), before)
        return tx.t, id, self._doc


def _images(
    log: list[Event], before: dict[str, bytes], points: list[int], chance: random.Random
) -> Iterator[tuple[int, dict[str, bytearray]]]:
    """For each cut: the last t that was answered by then, and the files as they are found."""
    synced = {name: bytearray(data) for name, data in before.items()}
    pending: list[Event] = []
    answered = 0
    done = 0
    for point in points:
        for event in log[done:point]:
            if event.kind == "answer":
                answered = event.at
            elif event.kind == "sync":
                for one in pending:
                    if one.file == event.file:
                        _do(synced, one)
                pending = [one for one in pending if one.file != event.file]
            else:
                pending.append(event)
        done = point
        files = {name: bytearray(data) for name, data in synced.items()}
        for event in pending:
            if chance.random() < 0.5:
                _do(files, _torn(event, chance) if chance.random() < 0.3 else event)
        yield answered, files


def _torn(event: Event, chance: random.Random) -> Event:
    """Only some first sectors of a write arrive."""
    sectors = len(event.data) // SECTOR
    return event._replace(data=event.data[: chance.randint(0, sectors) * SECTOR])


def _do(files: dict[str, bytearray], event: Event) -> None:
    content = files.setdefault(event.file, bytearray())
    if event.kind == "truncate":
        del content[event.at :]
    elif event.data:
        content.extend(bytes(max(0, event.at - len(content))))
        content[event.at : event.at + len(event.data)] = event.data


def _judge(
    result: Cuts,
    folder: Path,
    files: dict[str, bytearray],
    answered: int,
    states: list[dict[int, str]],
) -> None:
    """After the cut: is it sound, is it a prefix of what was done, and is it long enough?"""
    for name in ("cut.db", "cut.db-wal", "cut.db-shm"):
        (folder / name).unlink(missing_ok=True)
    for name, data in files.items():
        (folder / name.replace("live", "cut")).write_bytes(data)
    connection = apsw.Connection(str(folder / "cut.db"))
    try:
        connection.execute("PRAGMA synchronous=OFF").fetchall()  # this disk is not in question
        integrity = connection.execute("PRAGMA integrity_check").get
        t = connection.execute("SELECT t FROM workspace").get
        numbers = [n for (n,) in connection.execute("SELECT t FROM tx ORDER BY t")]
        found = connection.execute("SELECT id, doc FROM entity ORDER BY id").fetchall()
    except (apsw.Error, UnicodeDecodeError) as error:
        result.corrupt.append(repr(error))
        return
    finally:
        connection.close()
    is_sound = integrity == "ok" and isinstance(t, int) and 0 <= t < len(states)
    if not is_sound or numbers != list(range(1, t + 1)) or found != sorted(states[t].items()):
        result.corrupt.append(f"{integrity}; t={t}, {len(numbers)} transactions")
        return
    result.lost += t < answered
    result.ahead += t > answered
