"""One server per file; the library and the command line beside it."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from sandbar.errors import Conflict, Incorrect
from sandbar.store.sqlite.claim import Claim, home_of_server
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


# --- what stays of a claim -----------------------------------------------------------------------


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_stays_of_a_claim(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    SqliteStore(path, server=True).close()
    assert names_in(tmp_path) == ["one.db"]
    path.write_text("this is no database, and long enough to look like one" * 20)
    with pytest.raises(Incorrect):
        SqliteStore(path, server=True)
    assert names_in(tmp_path) == ["one.db"]


def test_the_file_of_a_killed_server_is_claimed_again_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    with other_process(path) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "serving"
        process.kill()
    assert "one.db.server-lock" in names_in(tmp_path)
    SqliteStore(path, server=True).close()
    assert "one.db.server-lock" not in names_in(tmp_path)


def test_a_lock_that_was_removed_while_it_was_waited_for_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between opening the file and locking it, its holder gives it up, and another claims it."""
    path = str(tmp_path / "one.db")
    first = Claim(path, None)
    others: list[Claim] = []
    flock = fcntl.flock

    def late(handle: int, how: int) -> None:
        if not others:
            others.append(first)
            first.give_up()
            others.append(Claim(path, "other"))
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(Conflict) as caught:
        Claim(path, "third")
    assert caught.value.code == "store.server-running"
    monkeypatch.undo()
    assert home_of_server(path) == "other"
    first.give_up()  # a second time
    assert home_of_server(path) == "other", "a claim removes no lock but its own"
    others[1].give_up()
    assert names_in(tmp_path) == []


def test_a_lock_that_is_not_ours_any_more_is_left_alone(tmp_path: Path) -> None:
    """Somebody has removed the file by hand, and another server has claimed the database."""
    path = str(tmp_path / "one.db")
    first = Claim(path, "first")
    (tmp_path / "one.db.server-lock").unlink()
    second = Claim(path, "second")
    first.give_up()
    assert home_of_server(path) == "second"
    second.give_up()


def test_many_processes_never_claim_one_file_together(tmp_path: Path) -> None:
    """Each claims and gives up as fast as it can, and writes down when it has the file."""
    witness = tmp_path / "witness"
    program = f"""
import os, sys
from sandbar.errors import Conflict
from sandbar.store.sqlite.claim import Claim
won = 0
for _ in range(4000):
    try:
        claim = Claim({str(tmp_path / "one.db")!r}, None)
    except Conflict:
        continue
    os.close(os.open({str(witness)!r}, os.O_CREAT | os.O_EXCL))  # raises if another has it
    os.unlink({str(witness)!r})
    claim.give_up()
    won += 1
print(won)
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert all(int(won) > 0 for won in told)
    assert "one.db.server-lock" not in names_in(tmp_path)
