"""One server per file; the library and the command line beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbar.errors import Conflict, Incorrect
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import new_workspace
from tests.store.writing import create, current

SERVE = """
import sys
from sandbar.errors import Conflict
from sandbar.store.sqlite.store import SqliteStore

try:
    store = SqliteStore(sys.argv[1], server=True)
except Conflict as problem:
    print(problem.code, flush=True)
else:
    print("serving", flush=True)
    sys.stdin.read()
    store.close()
"""


def other_process(path: Path) -> subprocess.Popen[str]:
    """A process that tries to serve the file until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", SERVE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_second_server_on_one_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    server = SqliteStore(path, server=True)
    with pytest.raises(Conflict) as caught:
        SqliteStore(path, server=True)
    assert caught.value.code == "store.server-running"
    assert caught.value.hint
    server.close()
    SqliteStore(path, server=True).close()


def test_a_second_server_in_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    server = SqliteStore(path, server=True)
    answer, _ = other_process(path).communicate(timeout=30)
    assert answer.strip() == "store.server-running"
    server.close()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with other_process(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "serving"
        with pytest.raises(Conflict):
            SqliteStore(path, server=True)
        process.kill()
    SqliteStore(path, server=True).close()


def test_the_library_works_beside_a_server(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    server, library = SqliteStore(path, server=True), SqliteStore(path)
    ws = new_workspace(server)
    assert current(server, ws, create(library, ws)) is not None
    assert current(library, ws, create(server, ws)) is not None
    library.close()
    server.close()


def test_another_name_of_the_file_is_the_same_file(tmp_path: Path) -> None:
    path, link, folder = tmp_path / "one.db", tmp_path / "link.db", tmp_path / "folder"
    link.symlink_to(path)
    folder.symlink_to(tmp_path)
    server = SqliteStore(link, server=True)
    for name in (path, link, folder / "one.db", folder / "link.db"):
        with pytest.raises(Conflict) as caught:
            SqliteStore(name, server=True)
        assert caught.value.code == "store.server-running"
    server.close()
    SqliteStore(path, server=True).close()


def test_a_claim_ends_with_an_opening_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    path.write_text("this is no database, and long enough to look like one" * 20)
    with pytest.raises(Incorrect) as caught:
        SqliteStore(path, server=True)
    assert caught.value.code == "store.cannot-open"
    path.unlink()
    SqliteStore(path, server=True).close()


def test_a_claim_where_there_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Incorrect) as caught:
        SqliteStore(tmp_path / "none" / "one.db", server=True)
    assert caught.value.code == "store.cannot-open"
