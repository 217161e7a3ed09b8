"""Rows of the audit that wait beside a SQLite file while somebody writes to it."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

import apsw
import pytest

from sandbar.audit import verify
from sandbar.audit.sealing import Sealer
from sandbar.store.sqlite import aside
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.trail import AuditRow
from tests.forked import Forked
from tests.store.conftest import Place, new_workspace
from tests.store.noting import ids, note
from tests.store.writing import WAIT_S, Gate, create


def files_beside(address: str) -> list[Path]:
    path = Path(address)
    return list(path.parent.glob(f"{path.name}-audit-*"))


def test_a_row_waits_aside_while_our_own_writer_works(sqlite_place: Place) -> None:
    store = sqlite_place.open()
    ws = new_workspace(store)
    gate = Gate(store, ws)
    mine = note(ws)
    assert store.trail.append_at_once([mine])
    assert (mine.is_kept, ids(store, ws)) == (True, [])
    assert store.trail.append_at_once([mine]), "there is nothing left to do"
    gate.open()
    gate.future.result(WAIT_S)
    assert store.trail.append_at_once([note(ws, "s")])
    assert ids(store, ws) == ["r", "s"]


def test_a_row_waits_aside_while_another_process_writes(sqlite_place: Place) -> None:
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    assert store.trail.append_at_once([note(ws, "1"), note(ws, "2")])
    assert store.trail.append_at_once([note(ws, "3")])
    (file,) = files_beside(sqlite_place.address)
    assert file.stat().st_mode & 0o777 == 0o600
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.settled_n(ws) == 3, "asked by the sealer, which needs them in the table"
    assert ids(store, ws) == ["1", "2", "3"]
    assert file.stat().st_size == 0
    store.close()
    assert not files_beside(sqlite_place.address)


def test_a_number_aside_is_not_settled(sqlite_place: Place) -> None:
    """A seal over a row that is not in the table yet would call it an intruder later."""
    store, beside = SqliteStore(sqlite_place.address), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    assert store.trail.append_at_once([note(ws)])
    assert store._numbers.settled(ws) == 0
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.settled_n(ws) == 1
    store.close()


def _die_with_rows_aside(path: str) -> None:
    store = SqliteStore(path)
    ws = store.workspace("shop")
    assert ws is not None
    store.trail.append([note(ws, "before")])
    beside = apsw.Connection(path)
    beside.execute("BEGIN IMMEDIATE")
    assert store.trail.append_at_once([note(ws, "aside")])
    os.kill(os.getpid(), signal.SIGKILL)


def _killed(path: str) -> None:
    """Make a database whose last program was killed with a row aside."""
    store = SqliteStore(path)
    store.create_workspace("shop")
    store.close()
    assert Forked(_die_with_rows_aside, path).wait(WAIT_S) == -signal.SIGKILL


def test_rows_aside_survive_a_kill(tmp_path: Path) -> None:
    path = str(tmp_path / "k.db")
    _killed(path)
    (file,) = files_beside(path)
    with file.open("ab") as torn:
        torn.write(b"[1,2,[half a li")  # what a kill cut short was never acknowledged
    store = SqliteStore(path)
    ws = store.workspace("shop")
    assert ws is not None
    assert set(ids(store, ws)) == {"before", "aside"}
    assert not files_beside(path)
    store.close()


def test_the_file_of_a_run_that_lives_is_left_to_it(sqlite_place: Place) -> None:
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    assert store.trail.append_at_once([note(ws)])
    beside.execute("COMMIT")
    beside.close()
    another = SqliteStore(sqlite_place.address)
    assert ids(another, ws) == []
    assert files_beside(sqlite_place.address)
    another.close()
    assert store.trail.settled_n(ws) == 1


def test_rows_of_a_run_that_was_sealed_meanwhile_get_new_numbers(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    _killed(path)
    (file,) = files_beside(path)
    hidden = file.rename(tmp_path / "hidden")
    store = SqliteStore(path)
    ws = store.workspace("shop")
    assert ws is not None
    ((run, _, _),) = store.trail.runs(ws)
    store.trail.append([note(ws, "now")])
    columns = ", ".join(AuditRow._fields)
    after = columns.replace("run, n,", "run, n + 2,").replace("request_id", "'after'")
    connection = apsw.Connection(path)  # a row that follows the one aside, and is sealed
    connection.execute(
        f"INSERT INTO audit (ws, {columns}) SELECT ws, {after} FROM audit WHERE run = ?",
        (run,),
    )
    connection.close()
    sealer = Sealer(store, lambda: None, adopt_after_s=-1)
    sealer.adopt()
    sealer.adopt()
    hidden.rename(file)
    store.trail.bring_in()
    sealer.seal_own()
    assert set(ids(store, ws)) == {"after", "aside", "before", "now"}
    assert verify(store.trail, ws).is_intact
    store.close()


def test_rows_of_another_database_of_that_name_are_not_taken_in(tmp_path: Path) -> None:
    path = str(tmp_path / "o.db")
    _killed(path)
    for part in ("", "-wal", "-shm"):
        Path(path + part).unlink(missing_ok=True)
    store = SqliteStore(path)
    ws = store.create_workspace("shop")
    store.trail.bring_in()
    assert ids(store, ws) == []
    store.close()


def test_a_damaged_file_keeps_nobody_from_the_database(tmp_path: Path) -> None:
    path = str(tmp_path / "d.db")
    SqliteStore(path).close()
    (tmp_path / "d.db-audit-1").write_bytes(b"sandbar audit rows 1\n\0\0\0\n")
    SqliteStore(path).close()
    assert [file.name for file in files_beside(path)] == ["d.db-audit-1.damaged"]


def test_other_files_beside_a_database_are_not_touched(tmp_path: Path) -> None:
    """Also not another database, whose owner has chosen such a name for it."""
    path = str(tmp_path / "shop")
    for name in ("shop-audit-2026", "shop-audit-7", "shop-audit-export.jsonl"):
        SqliteStore(tmp_path / name).close()
    (tmp_path / "shop-audit-8").write_bytes(b"nothing of ours\n")
    before = {file.name for file in tmp_path.iterdir()}
    SqliteStore(path).close()
    assert {file.name for file in tmp_path.iterdir()} == before | {"shop"}


@pytest.mark.parametrize("is_removed", [True, False])
def test_no_row_is_kept_in_a_file_that_another_program_took_up(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch, is_removed: bool
) -> None:
    """It comes between the making of the file and its lock; the row waits for the table instead."""
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    lock, held = fcntl.flock, list[int]()

    def late(handle: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        (file,) = files_beside(sqlite_place.address)
        held.append(os.open(file, os.O_RDWR))
        lock(held[0], fcntl.LOCK_EX)
        if is_removed:
            file.unlink()
            os.close(held.pop())
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    mine = note(ws)
    assert not store.trail.append_at_once([mine])
    assert not mine.is_kept
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.append_at_once([mine])
    assert ids(store, ws) == ["r"]
    for handle in held:
        os.close(handle)


def test_a_long_queue_is_moved_in_parts(sqlite_place: Place) -> None:
    """By an event loop, which others wait for."""
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    assert store.trail.append_at_once([note(ws, str(n)) for n in range(600)])
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.append_at_once([note(ws, "last")])
    assert len(ids(store, ws)) == 257
    assert store.trail.settled_n(ws) == 601
    assert len(ids(store, ws)) == 601


def test_too_many_rows_aside_have_to_wait_for_the_table(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "ROWS_MAX", 3)
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    kept = [store.trail.append_at_once([note(ws, str(n))]) for n in range(5)]
    assert kept == [True, True, True, False, False]
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.append_at_once([note(ws, "5")])
    assert ids(store, ws) == ["0", "1", "2", "5"]
    create(store, ws)


def test_a_disk_that_takes_no_row_aside_is_no_loss(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is not called kept, its request waits for the table; those before it stay."""
    store, beside = sqlite_place.open(), apsw.Connection(sqlite_place.address)
    ws = new_workspace(store)
    beside.execute("BEGIN IMMEDIATE")
    first, mine = note(ws, "first"), note(ws)
    assert store.trail.append_at_once([first])
    (file,) = files_beside(sqlite_place.address)
    before, write = file.read_bytes(), os.pwrite

    def full(handle: int, text: bytes, at: int) -> int:
        write(handle, text[:10], at)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert not store.trail.append_at_once([mine])
    assert (mine.is_kept, mine.number) == (False, None)
    assert file.read_bytes() == before, "and nothing else"
    monkeypatch.undo()
    assert store.trail.append_at_once([mine])
    beside.execute("COMMIT")
    beside.close()
    assert store.trail.settled_n(ws) >= 2
    assert ids(store, ws) == ["first", "r"]


def test_a_damaged_line_takes_no_other_along(tmp_path: Path) -> None:
    path = str(tmp_path / "d.db")
    _killed(path)
    (file,) = files_beside(path)
    file.write_bytes(file.read_bytes() + b"\0\0\0\n{}\n")
    store = SqliteStore(path)
    ws = store.workspace("shop")
    assert ws is not None
    assert set(ids(store, ws)) == {"before", "aside"}
    store.close()


def test_a_file_that_another_user_keeps_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "p.db")
    _killed(path)
    (file,) = files_beside(path)
    opened = os.open

    def refuse(name: str | Path, *more: int) -> int:
        if Path(name) == file:
            raise PermissionError(13, "Permission denied")
        return opened(name, *more)

    monkeypatch.setattr(os, "open", refuse)
    SqliteStore(path).close()
    monkeypatch.undo()
    assert file.exists()
