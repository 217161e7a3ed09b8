"""A backup is taken while threads and processes write: it is the database at one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from sandbar.database import backup_database, restore_database
from sandbar.store.archive import Table
from sandbar.store.postgres.archive import PostgresOrigin
from sandbar.store.sqlite.archive import SqliteOrigin
from tests.backup.busy import AMOUNT, SUM, Writers, write_for_ever
from tests.backup.conftest import Site, Sites
from tests.backup.filling import prepared
from tests.conftest import Say
from tests.forked import CONTEXT, Forked

BACKUPS = 2
BACKUPS_LONG = 12
ANSWERS_BETWEEN = 20
WORKSPACES = ("main", "second")


class Inconsistent(AssertionError):
    """A backup that is of no moment."""


class Whatever(int):
    """A number of rows that nobody objects to."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Neighbour:
    """Another process that writes, and the last t that it was answered."""

    def __init__(self, address: str, workspace: str) -> None:
        self.last_t = 0
        self.answers = threading.Semaphore(0)
        self._told, theirs = CONTEXT.Pipe(duplex=False)
        self._process = Forked(write_for_ever, theirs, address, workspace)
        theirs.close()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        with suppress(EOFError, OSError):  # it was killed, perhaps in the midst of an answer
            while True:
                self.last_t = self._told.recv()
                self.answers.release()

    def wait(self, answers: int) -> None:
        """Until it has been answered so often once more."""
        while self.answers.acquire(blocking=False):
            pass
        for _ in range(answers):
            assert self.answers.acquire(timeout=30)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._told.close()


@contextmanager
def busy(site: Site) -> Iterator[tuple[Writers, Neighbour]]:
    """Writers in two workspaces, of this process and of another one."""
    prepared(site, *WORKSPACES)
    neighbour = Neighbour(site.address, WORKSPACES[1])
    try:
        neighbour.wait(ANSWERS_BETWEEN)
        with site.open(WORKSPACES[0]) as db, Writers(db, 2) as writers:
            writers.wait(ANSWERS_BETWEEN)
            yield writers, neighbour
    finally:
        neighbour.kill()


def check(target: Site, acknowledged: dict[str, int]) -> dict[str, int]:
    """The workspaces' last t; raises if a restored backup is of no moment, or lacks an answer."""
    found = {}
    for name, least in acknowledged.items():
        with target.open(name) as db:
            found[name] = db.t
            numbers = [entry.t for entry in _changes(db)]
            if numbers != list(range(1, db.t + 1)):
                raise Inconsistent(f"{name}: transactions are missing")
            if db.t < least:
                raise Inconsistent(f"{name}: the answer of t {least} is missing")
            for t in {*range(5, db.t, 25), db.t}:
                amounts = [db.get(f"bank/{one}", as_of=t)[AMOUNT] for one in ("one", "two")]
                rich = {AMOUNT: {">": 0}}
                indexed = [one[AMOUNT] for one in db.query("bank/Account", rich, as_of=t).items]
                if sum(amounts) != SUM or sorted(amounts) != sorted(indexed):
                    raise Inconsistent(f"{name}: at {t} there are {amounts} and {indexed}")
    return found


def _changes(db: Any) -> Iterator[Any]:
    since = 0
    while page := db.changes(since=since, limit=500):
        yield from page
        since = page[-1].t


@pytest.mark.parametrize("backups", [BACKUPS, pytest.param(BACKUPS_LONG, marks=pytest.mark.long)])
def test_a_backup_is_of_one_moment(
    own: Site, sites: Sites, tmp_path: Path, say: Say, backups: int
) -> None:
    moments: list[tuple[dict[str, int], str, dict[str, int]]] = []
    with busy(own) as (writers, neighbour):
        for number in range(backups):
            neighbour.wait(ANSWERS_BETWEEN)
            writers.wait(ANSWERS_BETWEEN)
            before = {WORKSPACES[0]: writers.last_t, WORKSPACES[1]: neighbour.last_t}
            file = str(tmp_path / f"{number}.backup")
            backup_database(own.address, file)
            after = {WORKSPACES[0]: writers.last_t, WORKSPACES[1]: neighbour.last_t}
            moments.append((before, file, after))
    last_t = 0
    for before, file, _ in moments:
        target = sites("sqlite")
        restore_database(file, target.address)
        found = check(target, before)
        assert found[WORKSPACES[0]] > last_t, "somebody writes"
        last_t = found[WORKSPACES[0]]
    written = sum(after[name] - before[name] for before, _, after in moments for name in WORKSPACES)
    say(f"{backups} backups under {last_t} transactions; {written} were answered meanwhile")
    assert written > 0, "nobody wrote during the backups"


def test_tables_of_different_moments_are_caught(
    own: Site, sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: every table is read in a transaction of its own."""

    for origin in (SqliteOrigin, PostgresOrigin):

        def rows(self: Any, ws: int, table: Table, honest: Any = origin.rows) -> Iterator[Any]:
            for command in ("COMMIT", "BEGIN"):
                self._connection.execute(command)
            self._ws = None  # it is bound by the transaction
            threading.Event().wait(0.02)  # long enough for somebody to write
            yield from honest(self, ws, table)

        monkeypatch.setattr(origin, "rows", rows)
        monkeypatch.setattr(origin, "count", lambda self, ws, table: Whatever())
    with busy(own) as (writers, neighbour):
        before = {WORKSPACES[0]: writers.last_t, WORKSPACES[1]: neighbour.last_t}
        backup_database(own.address, tmp_path / "torn.backup")
    target = sites("sqlite")
    restore_database(tmp_path / "torn.backup", target.address)
    with pytest.raises(Inconsistent):
        check(target, before)


def test_a_backup_that_lacks_an_answer_is_caught(own: Site, sites: Sites, tmp_path: Path) -> None:
    prepared(own)
    backup_database(own.address, tmp_path / "early.backup")
    with own.open() as db, Writers(db, 1) as writers:
        while not writers.last_t:
            threading.Event().wait(0.01)
    target = sites("sqlite")
    restore_database(tmp_path / "early.backup", target.address)
    with pytest.raises(Inconsistent):
        check(target, {"main": writers.last_t})
