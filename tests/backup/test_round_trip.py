"""Backup and restore, from each store into each: everything is as it was, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sandbar
from sandbar.access import Houses, sign_in
from sandbar.audit import Verdict, head_of, verify
from sandbar.database import backup_database, restore_database
from sandbar.errors import Problem
from sandbar.store.numbering import Numbers
from sandbar.store.sqlite.store import SqliteStore
from tests.backup.conftest import KINDS, Site, Sites, Snapshots, sites_in
from tests.backup.filling import SECRET, Filled, fill, note
from tests.workflow.orders import ended, one_step

WORKSPACES = ("main", "shop")

# In one process, so that what many look at is made once.
pytestmark = pytest.mark.xdist_group("backup-round-trip")


class Original(NamedTuple):
    """A database with something of everything, and what opens it; nobody here writes to it."""

    site: Site
    filled: Filled


@pytest.fixture(scope="module")
def lasting_sites(
    tmp_path_factory: pytest.TempPathFactory, snapshots: Snapshots
) -> Iterator[Sites]:
    """Makes databases that several tests look at."""
    with sites_in(tmp_path_factory.mktemp("round-trip"), snapshots) as sites:
        yield sites


@pytest.fixture(scope="module", params=KINDS, ids=[f"from-{kind}" for kind in KINDS])
def original(request: pytest.FixtureRequest, lasting_sites: Sites) -> Original:
    """A source of each kind."""
    site = lasting_sites(request.param)
    return Original(site, fill(site))


@pytest.fixture(scope="module", params=KINDS, ids=[f"into-{kind}" for kind in KINDS])
def copied(
    request: pytest.FixtureRequest,
    original: Original,
    lasting_sites: Sites,
    tmp_path_factory: pytest.TempPathFactory,
) -> Site:
    """What a backup of it was restored into; nobody here writes to that either."""
    target = lasting_sites(request.param)
    copy(original.site, target, tmp_path_factory.mktemp("backup"))
    return target


def copy(source: Site, target: Site, folder: Path) -> None:
    """Back up, and restore."""
    file = folder / "it.backup"
    written = backup_database(source.address, file)
    restored = restore_database(file, target.address)
    assert restored.workspaces == written.workspaces
    assert restored.broken == []
    assert file.stat().st_size == written.bytes


def story(db: sandbar.Database) -> dict[str, Any]:
    """All that the API tells of a workspace, its past included."""
    cls = "note/Note" if db.workspace_name == "main" else "zorp/Boot"
    everybody = list(db.each("dt/Resource"))
    return {
        "t": db.t,
        "now": everybody,
        "then": [list(db.each(cls, as_of=t)) for t in range(4, db.t + 1, 5)],
        "history": [db.history(one.entity_id) for one in everybody],
        "changes": db.changes(limit=1000),
        "found": [
            sorted(hit.entity.entity_id for hit in db.search(words).items)
            for words in ("number", "moon*", '"words of"')
        ],
        "audit": db.journal.trail.rows(db.workspace.number, limit=1000),
        "head": head_of(db.journal.trail.last_seal(db.workspace.number)),
    }


def verdict(db: sandbar.Database) -> Verdict:
    return verify(db.journal.trail, db.workspace.number)


Told = dict[str, tuple[dict[str, Any], Verdict]]


@pytest.fixture(scope="module")
def told(original: Original) -> Told:
    """What the original tells of its workspaces."""
    answers: Told = {}
    for name in WORKSPACES:
        with original.site.open(name) as db:
            answers[name] = story(db), verdict(db)
    return answers


def test_every_row_and_every_answer_is_the_same(
    original: Original, told: Told, copied: Site
) -> None:
    rows, again = original.site.raw.everything(), copied.raw.everything()
    assert rows.keys() == again.keys()
    for table in rows:
        assert again[table] == rows[table], table
        assert rows[table], f"{table} is to be tried"
    for name in WORKSPACES:
        with copied.open(name) as other:
            assert (story(other), verdict(other)) == told[name]
            assert verdict(other).is_intact
            assert verdict(other).rows > 0
            assert verdict(other).seals > 0


def test_a_row_that_is_missing_would_be_noticed(source: Site) -> None:
    """The comparison is of what is there, and not of what both leave out."""
    fill(source)
    before = source.raw.everything()
    with source.open() as db:
        db.create("note/Note", note(500))
    after = source.raw.everything()
    assert {table for table in before if before[table] != after[table]} >= {
        "workspace",
        "tx",
        "entity",
        "slot",
    }


def test_keys_sign_in_and_secrets_match(original: Original, copied: Site) -> None:
    filled = original.filled
    with copied.open() as db:
        houses = Houses(db.workspace_now, "main")
        assert sign_in(houses, filled.token).key == "laptop"
        assert sign_in(houses, filled.chosen).principal == "service/claude"
        with pytest.raises(Problem):
            sign_in(houses, filled.revoked)
        pinned = db.query("note/Note", {"note/title": "äöü 🦊 \\ \" ' \n\t"}).items[0]
        assert db.secret_matches(pinned.entity_id, "note/pin", SECRET)
        assert not db.secret_matches(pinned.entity_id, "note/pin", f"{SECRET}!")


def test_life_goes_on_where_it_stopped(original: Original, target: Site, tmp_path: Path) -> None:
    filled = original.filled
    with original.site.open() as db:
        before, t = db.query("note/Note", limit=2), db.t
    copy(original.site, target, tmp_path)
    with target.open() as db:
        replayed = db.create("note/Note", note(99), idempotency_key=filled.key)
        assert (replayed.replayed, replayed.entity_id) == (True, filled.receipt.entity_id)
        made = db.create("note/Note", note(600))
        assert made.receipt.t == t + 1
        assert made.entity_id > max(one.entity_id for one in db.each("dt/Resource", as_of=t))
        with pytest.raises(Problem) as caught:  # the epoch is another
            db.query("note/Note", limit=2, cursor=before.cursor)
        assert caught.value.code == "cursor.other-epoch"
        assert db.journal.trail.run > max(run for run, _, _ in db.journal.trail.runs(1))
        with db.recorded("test.later", surface="cli"):
            pass
        db.neighbours.create("new")
        assert db.in_workspace("new").workspace.number == 4, "the number of the dropped one is gone"
    with target.open() as db:
        assert verdict(db).is_intact
        assert db.journal.trail.rows(1, limit=1)[0].verb == "test.later"


def test_jobs_are_free_and_are_done(source: Site, target: Site, tmp_path: Path) -> None:
    with source.open() as db:
        spec = one_step("order/timed", {"after": {"seconds": 0.2, "transition": "go"}})
        db.workflows.define(spec, principal="ann")
        id = db.workflows.start(spec["name"], principal="ann").process_id
        source.raw.ask(
            "UPDATE job SET owner = 'dead', token = 77, until_us = 9000000000000000 RETURNING id"
        )
        copy(source, target, tmp_path)
    assert target.raw.ask("SELECT owner, token, until_us FROM job") == [(None, None, 0)]
    with target.open() as db:
        db.start_worker()
        assert ended(db, id).kind == "success"


def test_a_copy_of_a_copy_is_the_same(copied: Site, sites: Sites, tmp_path: Path) -> None:
    third = sites("sqlite")
    copied_rows = copied.raw.everything()
    backup_database(copied.address, tmp_path / "second.backup")
    restore_database(tmp_path / "second.backup", third.address)
    assert third.raw.everything() == copied_rows


def test_a_file_without_workspaces_is_filled(
    sites: Sites, original: Original, tmp_path: Path
) -> None:
    target = sites("sqlite")
    SqliteStore(target.address).close()
    copy(original.site, target, tmp_path)
    assert target.raw.everything() == original.site.raw.everything()


def test_an_empty_database_can_be_backed_up(target: Site, sites: Sites, tmp_path: Path) -> None:
    source = sites("postgres")
    copy(source, target, tmp_path)
    with target.open() as db:
        assert db.workspace.number == 1


def test_the_run_of_a_clock_that_is_ahead_is_refused(
    own: Site, sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own.open() as db, db.recorded("test.now", surface="cli"):
        pass
    run = Numbers().run
    file = tmp_path / "future.backup"
    backup_database(own.address, file)
    target = sites("sqlite")
    monkeypatch.setattr("sandbar.store.numbering.clock.now_us", lambda: 1_700_000_000_000_000)
    assert Numbers().run < run
    with pytest.raises(Problem) as caught:
        restore_database(file, target.address)
    assert caught.value.code == "backup.clock"
    assert target.is_untouched()
    monkeypatch.undo()
    restore_database(file, target.address)
