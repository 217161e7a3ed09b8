"""The disk fills up: writes are refused by name, reads go on, and all is well when space returns.

As root the disk is a real one, of 4 MiB in memory; otherwise SQLite is told how many pages it may
use, which makes it give the same error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

import sandbar
from sandbar.errors import Problem, Unavailable
from tests.conftest import Say
from tests.fault.load import prepare
from tests.fault.tables import sqlite_tables

DISK = 4 * 1024 * 1024
BALLAST = 2 * 1024 * 1024
PAGES = 400
LOG_PAGES = 20
THREADS = 4
WRITES_MAX = 4000
TEXT = "x" * 2000


@dataclass
class SmallDisk:
    """A folder with little room, and a way to make more."""

    folder: Path
    make_room: Callable[[], None]


@contextmanager
def small_file_system(folder: Path) -> Iterator[SmallDisk]:
    """A file system of its own, half filled with ballast."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(BALLAST))
        yield SmallDisk(folder, ballast.unlink)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def few_pages(folder: Path) -> Iterator[SmallDisk]:
    """Every connection of this process may use so many pages, until there is room."""
    opened: list[apsw.Connection] = []

    def limit(connection: apsw.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count={PAGES}").fetchall()
        opened.append(connection)

    def make_room() -> None:
        apsw.connection_hooks.remove(limit)
        for connection in opened:
            try:
                connection.execute(f"PRAGMA max_page_count={100 * PAGES}").fetchall()
            except apsw.ConnectionClosedError:
                continue

    apsw.connection_hooks.append(limit)
    try:
        yield SmallDisk(folder, make_room)
    finally:
        if limit in apsw.connection_hooks:
            apsw.connection_hooks.remove(limit)


@contextmanager
def small_log(folder: Path) -> Iterator[SmallDisk]:
    """A small file system, and checkpoints so often that they meet the full disk first."""

    def often(connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(LOG_PAGES)

    apsw.connection_hooks.append(often)
    try:
        with small_file_system(folder) as disk:
            yield disk
    finally:
        apsw.connection_hooks.remove(often)


@pytest.fixture(params=[small_file_system, small_log, few_pages])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """Little room, in several ways; who may not mount has the last only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    can_mount = os.geteuid() == 0 and shutil.which("mount") is not None
    with (request.param if can_mount else few_pages)(folder) as disk:
        yield disk


class Filler:
    """Threads that write until each of them has been refused."""

    def __init__(self, db: sandbar.Database, name: str) -> None:
        self._db = db
        self._name = name
        self.answered: dict[str, int] = {}  # tag to id
        self.refused: list[Problem] = []

    def fill(self) -> None:
        """Return when nobody can write any more."""
        threads = [threading.Thread(target=self._work, args=(n,)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, thread: int) -> None:
        for number in range(WRITES_MAX):
            tag = f"{self._name}-{thread}-{number}"
            slots = {"fault/tag": tag, "fault/list": TEXT, "fault/count": number}
            try:
                self.answered[tag] = self._db.create("fault/Item", slots).entity_id
            except Problem as problem:
                self.refused.append(problem)
                return


def assert_exactly(db: sandbar.Database, answered: dict[str, int]) -> None:
    """All that was answered is there, and nothing that was refused."""
    found = {e["fault/tag"]: e.entity_id for e in db.each("fault/Item")}
    assert {tag: id for tag, id in found.items() if not tag.startswith("account")} == answered


def test_a_full_disk(disk: SmallDisk, say: Say) -> None:
    """Fill, be refused, read, make room, write, reopen."""
    path = str(disk.folder / "full.db")
    with sandbar.open(path) as db:
        prepare(db)
        filler = Filler(db, "before")
        filler.fill()
        codes = {problem.code for problem in filler.refused}
        assert len(filler.refused) == THREADS, "the disk never filled up"
        assert codes == {"store.full"}, codes
        assert all(isinstance(problem, Unavailable) for problem in filler.refused)
        assert_exactly(db, filler.answered)
        tag, id = next(iter(filler.answered.items()))
        assert db.get(id)["fault/tag"] == tag
        assert len(db.history(id)) == 1
        disk.make_room()
        written = db.create("fault/Item", {"fault/tag": "after"})
        answered = filler.answered | {"after": written.entity_id}
        assert_exactly(db, answered)
    tables = sqlite_tables(path)
    assert tables.integrity == "ok"
    assert sorted(tables.tx) == list(range(1, tables.t + 1))
    with sandbar.open(path) as db:
        assert_exactly(db, answered)
    say(f"{len(answered)} acknowledged, 0 lost; {len(filler.refused)} refused as store.full")
