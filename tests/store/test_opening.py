"""What can be opened, and what `sandbar.open` says of the rest."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import apsw
import pytest

import sandbar
from sandbar.database import backup_database

NOBODY = 65534


class BytesPath:
    """A path as some systems have it."""

    def __repr__(self) -> str:
        return "a path of bytes"

    def __fspath__(self) -> bytes:
        return b"x.db"


@pytest.mark.parametrize(
    "given", [None, 5, b"x.db", ["x.db"], BytesPath(), "", ":memory:", "a\0b", "a\ud800b"], ids=repr
)
@pytest.mark.parametrize("server", [False, True])
def test_what_is_no_path_and_no_url_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Any, server: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sandbar.Incorrect) as caught:
        sandbar.open(given, server=server)
    assert caught.value.code == "store.cannot-open"
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_path_may_be_text_or_a_path(tmp_path: Path) -> None:
    for path in (tmp_path / "x.db", str(tmp_path / "x.db")):
        with sandbar.open(path) as db:
            assert db.t == 1


def test_a_relative_path_stays_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with sandbar.open("x.db") as db, db._store.snapshot(1):
        monkeypatch.chdir(elsewhere)
        assert db.t == 1, "read by a connection that was opened here"
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("address", ["no/such/folder/x.db", "postgresql://%zz"])
def test_the_refusal_says_what_to_give_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, server: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sandbar.Incorrect) as caught:
        sandbar.open(address, server=server)
    assert caught.value.code == "store.cannot-open"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("statements", "code"),
    [
        ("CREATE TABLE theirs (a)", "store.not-ours"),
        ("INSERT INTO migration VALUES (99, 'later')", "store.newer"),
    ],
)
def test_a_file_that_is_refused_is_left_as_it_was(
    tmp_path: Path, statements: str, code: str
) -> None:
    path = tmp_path / "x.db"
    if code == "store.newer":
        sandbar.open(path).close()
    file = apsw.Connection(str(path))
    file.execute("PRAGMA journal_mode=DELETE").fetchall()
    file.execute(statements)
    file.close()
    before = path.read_bytes()
    for use in (lambda: sandbar.open(path), lambda: backup_database(str(path), tmp_path / "copy")):
        with pytest.raises(sandbar.Problem) as caught:
            use()
        assert caught.value.code == code
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o777), (0o444, 0o555), (0o666, 0o555)])
def test_what_may_not_be_written_is_said_to_be_so(file: int, folder: int) -> None:
    with tempfile.TemporaryDirectory() as made:  # and not pytest's own, which root alone may enter
        path = Path(made) / "x.db"
        with sandbar.open(path) as db:
            db.define(classes={"x/X": {}})
        path.chmod(file)
        os.chmod(made, folder)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if is_refused_as_nobody(path) else 1)
        status = os.waitpid(pid, 0)[1]
        os.chmod(made, 0o755)
        assert status == 0


def is_refused_as_nobody(path: Path) -> bool:
    """Whether a write is refused for whoever is not allowed to; root is allowed everything."""
    if os.getuid() == 0:
        os.setuid(NOBODY)
    try:
        sandbar.open(path).create("x/X", {})
    except sandbar.Unavailable as problem:
        return problem.code == "store.read-only" and problem.hint is not None
    return False
