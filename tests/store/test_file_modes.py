"""All that is written is for its owner alone, whatever the umask of the process says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import sandbar
from sandbar.store.sqlite.store import SqliteStore
from tests.cli.program import run_here, run_well_here
from tests.store.conftest import new_workspace


@pytest.fixture(autouse=True)
def anybodys_umask() -> Iterator[None]:
    """A process that lets everybody read and write what it makes."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The mode of every file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}


def test_a_new_database_is_its_owners(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "one.db", server=True)
    try:
        new_workspace(store)
        made = modes(tmp_path)
        assert made == dict.fromkeys(
            ("one.db", "one.db-wal", "one.db-shm", "one.db.server-lock"), 0o600
        )
    finally:
        store.close()


def test_what_the_operator_has_chosen_stays(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    SqliteStore(path).close()
    path.chmod(0o660)
    store = SqliteStore(path)
    try:
        new_workspace(store)
        assert modes(tmp_path) == dict.fromkeys(("one.db", "one.db-wal", "one.db-shm"), 0o660)
    finally:
        store.close()


def test_purging_and_restoring_leave_it_so(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with sandbar.open(path) as db:
        db.define(classes={"my/Note": {}})
        made = db.create("my/Note", {"db/doc": "a secret"})
        db.purge(made.entity_id)
        assert set(modes(tmp_path).values()) == {0o600}
    run_well_here("backup", str(tmp_path / "it.backup"), "--database", str(path))
    run_well_here("restore", str(tmp_path / "it.backup"), "--database", str(tmp_path / "two.db"))
    assert set(modes(tmp_path).values()) == {0o600}


def test_exports_are_their_owners(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    run_well_here("pack", "add", "zorp", "--database", str(path))
    run_well_here("project", "export", str(tmp_path / "files"), "--database", str(path))
    run_well_here("workspace", "create", "shop", "--database", str(path))
    gone = ("workspace", "delete", "shop", "--yes", "shop", "--export", str(tmp_path / "all"))
    run_well_here(*gone, "--database", str(path))
    assert {name for name, mode in modes(tmp_path).items() if mode != 0o600} == set()


def test_doctor_says_that_others_may_open_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sandbar.db"
    run_well_here("pack", "add", "zorp", cwd=tmp_path)
    assert "other users" not in run_here("doctor", "--port", "0", cwd=tmp_path).stdout
    path.chmod(0o640)
    told = run_here("doctor", "--port", "0", cwd=tmp_path).stdout
    assert "other users of this machine may open" in told
    assert "0640" in told
    assert "chmod 600 " in told
