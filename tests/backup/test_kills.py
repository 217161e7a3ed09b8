"""`kill -9` during a backup and during a restore: all or nothing, and the next attempt works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sandbar.database import backup_database, restore_database
from sandbar.database.backup import PART
from sandbar.errors import Problem
from sandbar.store.postgres import connection
from sandbar.store.sqlite.archive import PART as RESTORING
from tests.backup.conftest import Site, Sites
from tests.backup.dying import ended_by_kill
from tests.backup.filling import prepared


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_a_backup_that_is_killed_leaves_no_backup(
    own: Site, sites: Sites, tmp_path: Path, times: int
) -> None:
    prepared(own)
    before = own.raw.everything()
    file = tmp_path / "it.backup"
    assert ended_by_kill("backup", own.address, file, "saving", times)
    assert not file.exists()
    backup_database(own.address, file)
    earlier = file.read_bytes()
    assert ended_by_kill("backup", own.address, file, "saving", times)
    assert file.read_bytes() == earlier, "the earlier one stays until the new one is whole"
    assert len(list(tmp_path.glob(f"it.backup.*{PART}"))) == 2
    assert not ended_by_kill("backup", own.address, file, "saving", 99)
    assert own.raw.everything() == before
    target = sites("sqlite")
    restore_database(file, target.address)
    assert target.raw.everything() == before


@pytest.mark.parametrize(
    ("phase", "times"),
    [("checking", 1), ("restoring", 1), ("restoring", 3), ("placing", 1)],
)
def test_a_restore_that_is_killed_leaves_nothing(
    own: Site, sites: Sites, tmp_path: Path, phase: str, times: int
) -> None:
    if own.kind == "postgres" and phase == "placing":
        phase, times = "restoring", 2  # there is nothing to be put in place
    source, file = sites("sqlite"), tmp_path / "it.backup"
    prepared(source)
    backup_database(source.address, file)
    assert ended_by_kill("restore", file, own.address, phase, times)
    if own.kind == "sqlite":
        assert not Path(own.address).exists()
        left = Path(f"{own.address}{RESTORING}")
        assert left.exists() == (phase != "checking")
    else:
        assert own.is_untouched()
    restore_database(file, own.address)
    assert own.raw.everything() == source.raw.everything()
    if own.kind == "sqlite":
        assert not list(Path(own.address).parent.glob(f"*{RESTORING}*")), "and it tidies up"


def test_a_file_that_was_there_stays_empty(sites: Sites, tmp_path: Path) -> None:
    """A file without workspaces is filled in one transaction."""
    source, target, file = sites("sqlite"), sites("sqlite"), tmp_path / "it.backup"
    prepared(source)
    backup_database(source.address, file)
    Path(target.address).touch()
    assert ended_by_kill("restore", file, target.address, "restoring", 3)
    assert target.raw.ask("SELECT count(*) FROM workspace") == [(0,)]
    assert not any(target.raw.everything().values())
    restore_database(file, target.address)
    assert target.raw.everything() == source.raw.everything()


def test_whoever_opens_the_database_goes_on_with_the_index(
    own: Site, sites: Sites, tmp_path: Path
) -> None:
    """Killed after the rows are there, and before all of them can be searched."""
    source, file = sites("sqlite"), tmp_path / "it.backup"
    prepared(source)
    backup_database(source.address, file)
    ended_by_kill("restore", file, own.address, "verifying", 1)
    target = sites(own.kind)
    assert ended_by_kill("restore", file, target.address, "searching", 0)
    assert target.raw.ask("SELECT count(*) FROM owed") == [(1,)]
    with target.open() as db:
        assert len(db.search("idle 77").items) == 1
    assert target.raw.ask("SELECT count(*) FROM owed") == [(0,)]


def test_of_two_restores_one_is_refused(
    own: Site, sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, file = sites("sqlite"), tmp_path / "it.backup"
    prepared(source)
    backup_database(source.address, file)
    codes: list[str] = []

    def meanwhile(what: str, done: int, total: int) -> None:
        if what == "restoring" and not codes:
            be_impatient(monkeypatch)
            with pytest.raises(Problem) as caught:
                restore_database(file, own.address)
            codes.append(caught.value.code)

    restore_database(file, own.address, meanwhile)
    assert codes == ["store.server-running" if own.kind == "sqlite" else "store.busy"]
    assert own.raw.everything() == source.raw.everything()


def test_what_somebody_makes_meanwhile_is_kept(
    own: Site, sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file takes the name first, and the restore gives way; in PostgreSQL it is the other way."""
    source, file = sites("sqlite"), tmp_path / "it.backup"
    prepared(source)
    backup_database(source.address, file)
    codes: list[str] = []

    def meanwhile(what: str, done: int, total: int) -> None:
        if what == "restoring" and not codes:
            be_impatient(monkeypatch)
            codes.append(code_of(lambda: own.open("mine").close()))

    outcome = code_of(lambda: restore_database(file, own.address, meanwhile))
    if own.kind == "sqlite":
        assert (codes, outcome) == ([""], "backup.not-empty")
        with own.open("mine") as db:
            assert db.neighbours.names() == ["mine"]
    else:
        assert (codes, outcome) == (["store.busy"], "")
        assert own.raw.everything() == source.raw.everything()


def be_impatient(patch: pytest.MonkeyPatch) -> None:
    """Whoever connects to PostgreSQL from now on waits less than seconds for somebody's lock."""
    patch.setitem(connection._WRITER, "lock_timeout", "300ms")


def code_of(work: Callable[[], object]) -> str:
    """The code of the problem that it ends with; none, if all is well."""
    try:
        work()
    except Problem as problem:
        return problem.code
    return ""
