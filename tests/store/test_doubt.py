"""A COMMIT that fails while it syncs may still be believed by recovery: what callers are told."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from sandbar.errors import Incorrect, Unavailable
from sandbar.store.api import NOTHING_WANTED
from sandbar.store.batch import InDoubt, Item, MaybeKept, WriteSession, run_batch
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.session import SqliteConnector, SqliteSession
from sandbar.store.sqlite.store import SqliteStore
from tests.store.writing import creating


class _Unsyncable(SqliteSession):
    """A session whose disk will not sync."""

    def commit(self) -> None:
        """Fail as SQLite does when the sync inside COMMIT fails."""
        raise MaybeKept("store.io", "the disk refused to sync a commit")


class Flaky(SqliteConnector):
    """The first few sessions cannot commit, and later ones perhaps not even begin."""

    def __init__(self, path: str, *, fails: int, dies: bool = False) -> None:
        super().__init__(File(path))
        self.fails = fails
        self.dies = dies

    def begin(self, ws: int) -> SqliteSession:
        """A session, as long as the disk still answers."""
        if self.dies and self.fails == 0:
            raise Unavailable("store.io", "the disk is gone")
        session = super().begin(ws)
        if self.fails:
            self.fails -= 1
            session.__class__ = _Unsyncable
        return session


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file with one workspace."""
    store = SqliteStore(tmp_path / "a.db")
    store.create_workspace("main")
    store.close()
    return str(tmp_path / "a.db")


def run(connector: Flaky, count: int) -> list[BaseException | None]:
    """How a batch of creates ends, item by item."""
    items = [Item(creating(), NOTHING_WANTED, alone=False, deadline_s=None) for _ in range(count)]

    def begin() -> WriteSession:
        return connector.begin(1)

    run_batch(begin, items, lambda tx: None)
    connector.close()
    return [item.future.exception(1) for item in items]


def test_a_batch_that_could_not_sync_once_is_run_again(path: str) -> None:
    assert run(Flaky(path, fails=1), 3) == [None, None, None]


def test_an_item_that_cannot_be_synced_is_in_doubt(path: str) -> None:
    errors = run(Flaky(path, fails=2), 2)
    assert isinstance(errors[0], InDoubt)
    assert "idempotency key" in str(errors[0])
    assert errors[1] is None


def test_a_disk_that_dies_after_a_failed_sync_leaves_all_in_doubt(path: str) -> None:
    assert all(isinstance(error, InDoubt) for error in run(Flaky(path, fails=1, dies=True), 3))


def test_a_disk_that_was_dead_before_is_no_doubt_at_all(path: str) -> None:
    errors = run(Flaky(path, fails=0, dies=True), 2)
    assert [type(error) for error in errors] == [Unavailable, Unavailable]


def test_a_file_that_is_no_database_is_refused_untouched(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"this is no database at all, just some text" * 100)
    with pytest.raises(Incorrect) as caught:
        SqliteStore(foreign)
    assert caught.value.code == "store.cannot-open"
    assert foreign.read_bytes().startswith(b"this is no database")


def test_somebody_elses_sqlite_file_is_refused_untouched(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    connection = apsw.Connection(str(foreign))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(Incorrect) as caught:
        SqliteStore(foreign)
    assert caught.value.code == "store.not-ours"
    assert apsw.Connection(str(foreign)).execute("SELECT name FROM sqlite_schema").get == "theirs"
