"""A SQLite file that was open at a fork: the child would have no lock that it believes in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import sandbar
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import new_workspace
from tests.store.writing import create, current

CHILD_S_MAX = 20


def in_child(work: Callable[[], None]) -> None:
    """Run it in a fork of this process; it must neither fail nor hang."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(CHILD_S_MAX)
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def is_refused(path: str) -> bool:
    """Whether the file cannot be opened because of a fork, with a hint that helps."""
    try:
        SqliteStore(path).close()
    except sandbar.Fault as fault:
        hint = fault.hint or ""
        return fault.code == "store.forked" and "before the fork" in hint and "spawn" in hint
    return False


# What a child did that opened the file again, as it was told to: its writes were acknowledged, and
# gone once the parent had closed the file.
LOSS = """
import os, sys
import sandbar

path = sys.argv[1]
db = sandbar.open(path)
db.define(classes={"x/X": {}})
go, gone = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    acknowledged = 0
    try:
        child = sandbar.open(path)
        child.create("x/X", {})
        os.write(gone[1], b"x")
        os.read(go[0], 1)
        child.create("x/X", {})
        acknowledged = 2
    except sandbar.Fault as fault:
        os.write(gone[1], b"x")
    os._exit(acknowledged)
os.read(gone[0], 1)
db.close()
os.write(go[1], b"x")
acknowledged = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
with sandbar.open(path) as db:
    assert len(list(db.each("x/X"))) == acknowledged, "lost what was acknowledged"
"""


def test_nothing_is_lost_that_a_child_was_told_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOSS, str(tmp_path / "a.db")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr


def test_a_file_that_was_open_at_the_fork_is_refused_by_whatever_name(tmp_path: Path) -> None:
    path, link, twin = (str(tmp_path / name) for name in ("a.db", "link.db", "twin.db"))
    store = SqliteStore(path)
    store.workspaces()  # so that there is a connection, as there is behind every `sandbar.open`
    os.symlink(path, link)
    os.link(path, twin)

    def work() -> None:
        assert all(is_refused(name) for name in (path, link, twin))
        in_child(lambda: _require(is_refused(path)))

    in_child(work)
    store.close()


def test_what_was_not_open_at_the_fork_can_be_opened_in_the_child(tmp_path: Path) -> None:
    closed, opened, new = (str(tmp_path / name) for name in ("closed.db", "open.db", "new.db"))
    before = SqliteStore(closed)
    ws = new_workspace(before)
    before.close()
    store = SqliteStore(opened)

    def work() -> None:
        with sandbar.open(new) as db:
            assert db.t == 1
        own = SqliteStore(closed)
        assert current(own, ws, create(own, ws))
        own.close()
        # Nor is it the child's own connections that count, but those of its parent.
        again = SqliteStore(closed)
        again.close()

    in_child(work)
    store.close()
    again = SqliteStore(closed)
    assert current(again, ws, 1)
    again.close()


def test_a_reader_that_outlives_its_store_counts_until_it_is_given_back(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    store = SqliteStore(path)
    ws = new_workspace(store)
    create(store, ws)
    with store.snapshot(ws):
        store.close()
        in_child(lambda: _require(is_refused(path)))
    in_child(lambda: _require(not is_refused(path)))


def test_a_fork_while_others_read_and_write_hangs_nobody(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    store = SqliteStore(path)
    ws = new_workspace(store)
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            create(store, ws)
            with store.snapshot(ws) as snapshot:
                snapshot.entities_after(0, 100)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            in_child(lambda: _require(is_refused(path)))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    store.close()


@pytest.mark.parametrize("is_forced", [False, True])
def test_a_connection_that_was_closed_does_not_count(tmp_path: Path, is_forced: bool) -> None:
    path = str(tmp_path / "a.db")
    SqliteStore(path).close()
    store = SqliteStore(path)
    store.workspaces()
    reader: apsw.Connection = store._readers[-1]
    store.close()
    reader.close(is_forced)
    in_child(lambda: _require(not is_refused(path)))


def _require(is_so: bool) -> None:
    assert is_so
