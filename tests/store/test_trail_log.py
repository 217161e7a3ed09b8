"""SQLite's log stays short, also where no thread looks after it."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from sandbar.errors import Unavailable
from sandbar.store.sqlite import trail as trails
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import new_workspace
from tests.store.noting import ids, note

MANY = 3_000  # ten kilobytes each: without anybody's care 30 MB
_BYTES_MAX = 12_000_000


def log_bytes(path: Path) -> int:
    return os.stat(f"{path}-wal").st_size


def test_rows_that_come_one_by_one_do_not_grow_the_log_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    store = SqliteStore(str(path))
    ws = new_workspace(store)
    for n in range(MANY):
        store.trail.append([note(ws, n)])
    assert log_bytes(path) < _BYTES_MAX
    assert len(ids(store, ws)) == MANY
    store.close()


def test_whoever_must_not_wait_does_not_look_after_it(tmp_path: Path) -> None:
    """The control: an event loop leaves that to the thread that seals."""
    path = tmp_path / "a.db"
    store = SqliteStore(str(path))
    ws = new_workspace(store)
    for n in range(MANY):
        assert store.trail.append_at_once([note(ws, n)])
    grown = log_bytes(path)
    assert grown > _BYTES_MAX
    store.trail.checkpoint()
    for n in range(10):
        store.trail.append_at_once([note(ws, n)])
    assert log_bytes(path) == grown, "it is written from its beginning again"
    store.close()


def test_a_checkpoint_that_fails_fails_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(str(tmp_path / "a.db"))
    ws = new_workspace(store)

    def refuse(path: str) -> apsw.Connection:
        raise Unavailable("store.io", "the disk refused a read or a write")

    monkeypatch.setattr(trails, "_LOG_BYTES_MAX", 0)
    monkeypatch.setattr(trails, "open_writer", refuse)
    store.trail.append([note(ws, n) for n in range(500)])
    assert len(ids(store, ws)) == 500
    assert "audit.checkpoint-failed" in caplog.text
    store.close()
