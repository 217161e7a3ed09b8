"""A file that is removed or replaced while it is open, and one that cannot be opened once more."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import sandbar
from sandbar.errors import Unavailable
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.trail import Seal
from tests.store.conftest import new_workspace
from tests.store.noting import note
from tests.store.writing import create, creating, current, together

READERS = 9  # more than are kept idle


def remove(path: str) -> None:
    """As somebody does who cleans up."""
    for ending in ("", "-wal", "-shm"):
        os.unlink(path + ending)


def replace(path: str) -> None:
    """As somebody does who puts another database in its place."""
    SqliteStore(path + ".other").close()
    os.replace(path + ".other", path)


LOSSES = pytest.mark.parametrize("lose", [remove, replace])


def code_of(call: Callable[[], object]) -> str | None:
    """How it is refused, if it is, with what to do about it."""
    try:
        call()
    except Unavailable as problem:
        return problem.code if problem.hint else "no hint"
    return None


@LOSSES
@pytest.mark.parametrize("is_warm", [False, True])
def test_nothing_is_written_to_a_file_that_nobody_would_find(
    tmp_path: Path, lose: Callable[[str], None], is_warm: bool
) -> None:
    path = str(tmp_path / "a.db")
    store = SqliteStore(path)
    ws = new_workspace(store)
    id = create(store, ws)

    def seal(last: Seal | None) -> Seal:
        return Seal(last.number + 1 if last else 1, store.trail.run, 1, 1, 1, 1, b"")

    writes: list[Callable[[], object]] = [
        lambda: create(store, ws),
        lambda: store.trail.append([note(ws)]),
        lambda: store.trail.append_at_once([note(ws)]),
        lambda: store.key_uses.note_uses(ws, {1: 1}),
        lambda: store.trail.seal(ws, seal),
        lambda: store.jobs.renew(ws, id, 1, 1.0),
        lambda: new_workspace(store),
        lambda: store.drop_workspace("none"),
    ]
    if is_warm:  # so that every connection is there already
        for write in writes[:-1]:
            write()
    lose(path)
    assert [code_of(write) for write in writes] == ["store.file-gone"] * len(writes)
    futures = together(store, ws, [creating() for _ in range(3)])
    assert {getattr(future.exception(), "code", None) for future in futures} == {"store.file-gone"}
    assert not store.scrub()
    store.close()
    if lose is remove:
        assert os.listdir(tmp_path) == [], "nobody has made it anew"


@LOSSES
def test_new_readers_read_no_other_file(tmp_path: Path, lose: Callable[[str], None]) -> None:
    store = SqliteStore(str(tmp_path / "a.db"))
    ws = new_workspace(store)
    create(store, ws)
    lose(str(tmp_path / "a.db"))
    with store.snapshot(ws) as snapshot:
        assert snapshot.entity(1), "who has it open still reads it"
        assert code_of(lambda: store.snapshot(ws).__enter__()) == "store.file-gone"
    store.close()


def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    store = SqliteStore(path)
    ws = new_workspace(store)
    create(store, ws)
    os.rename(path, path + ".away")
    assert code_of(lambda: create(store, ws)) == "store.file-gone"
    os.rename(path + ".away", path)
    assert current(store, ws, create(store, ws))
    store.close()


@contextmanager
def no_more_handles() -> Iterator[None]:
    """Every file handle that this process may have is taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, hard))
    held: list[int] = []
    try:
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    try:
        yield
    finally:
        for handle in held:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_without_handles_is_told_so_and_recovers(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "a.db"))
    ws = new_workspace(store)
    create(store, ws)

    def read_at_once() -> None:
        with ExitStack() as stack:
            for _ in range(READERS):
                stack.enter_context(store.snapshot(ws))

    with no_more_handles():
        assert code_of(read_at_once) == "store.cannot-reopen"
        assert code_of(lambda: new_workspace(store)) == "store.cannot-reopen"
    read_at_once()
    new_workspace(store)
    store.close()


def test_a_purge_that_is_committed_says_so_whatever_becomes_of_the_bytes(tmp_path: Path) -> None:
    with sandbar.open(tmp_path / "a.db") as db:
        db.define(classes={"x/X": {}})
        id = db.create("x/X", {}).entity_id
        db.get(id)
        with no_more_handles():
            purged = db.purge(id)
        assert not purged.scrubbed
        with pytest.raises(sandbar.NotFound):
            db.get(id)
