"""Killed between a commit and what has to follow it: the follow-up is made up for.

Here: what was erased is overwritten, and the search index is built. Elsewhere: files of a project
(`projects/test_killed.py`), files of a watched folder (`watch/test_life.py` and `test_placing.py`),
seals of the audit (`audit/test_sealing.py`), jobs of processes (`fault/test_workflow_kills.py`),
backups and restores (`backup/test_kills.py`), news (`notify/test_postgres_notices.py`).
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import apsw
import psycopg
import pytest

import sandbar
from sandbar.database import open_database
from sandbar.errors import NotFound
from tests.conftest import Say
from tests.fault.duties import HOME, OTHER, ROWS_PER_STEP, VICTIM
from tests.fault.zygote import Zygote

WORDS = (b"ZANZIBAR", b"anzibar", b"mercury", b"quixotic")
STEPS_MAX = 60
KILLED = -9


def fill(path: Path, entities: int) -> None:
    """A file with somebody in it who wants to be forgotten, in two workspaces."""
    for name in (HOME, OTHER):
        with open_database(path, name) as db:
            slots = {"p/name": {"dt/range": "db.type/string", "dt/indexed?": True}}
            db.define(properties=slots, classes={"p/Person": {"dt/slots": ["p/name"]}})
            for number in range(entities):
                db.create("p/Person", {"p/name": f"filler {number} {'pad ' * (number % 40)}"})
            db.create("p/Person", {"db/ident": VICTIM, "p/name": "ZANZIBAR mercury"})
            db.update(VICTIM, {"p/name": "ZANZIBAR quixotic"})


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file; in its second workspace nobody is to be forgotten."""
    path = tmp_path_factory.mktemp("filled") / "filled.db"
    fill(path, 30)
    with open_database(path, OTHER) as db:
        db.purge(VICTIM)
        assert db._store.owed.duties() == []
    return path


@pytest.fixture(scope="module")
def filled_other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file; in its first workspace nobody is to be forgotten."""
    path = tmp_path_factory.mktemp("other") / "filled.db"
    fill(path, 30)
    with open_database(path, HOME) as db:
        db.purge(VICTIM)
    return path


def left_of(path: Path) -> list[bytes]:
    """What can be read of them in the file and in what lies beside it."""
    whole = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    return [word for word in WORDS if word in whole]


def owed(path: Path) -> int:
    """How many duties stand in the file."""
    connection = apsw.Connection(str(path))
    count = int(connection.execute("SELECT count(*) FROM owed").get)
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()
    return count


def copies(source: Path, folder: Path) -> Iterator[Path]:
    """One fresh copy after the other."""
    for number in range(STEPS_MAX):
        path = folder / str(number) / "it.db"
        path.parent.mkdir()
        shutil.copy(source, path)
        yield path
    raise AssertionError("it never comes to its end")


def kill_at_every_step(
    zygote: Zygote, source: Path, folder: Path, what: str
) -> list[tuple[Path, int]]:
    """One file for each step at which its process was killed, and how many of the words it left."""
    found = []
    for at, path in enumerate(copies(source, folder)):
        status = zygote.fork("tests.fault.duties:run", path=str(path), what=what, at=at).wait()
        if status == 0:
            assert not left_of(path)
            break
        assert status == KILLED
        found.append((path, len(left_of(path))))
    return found


@pytest.mark.parametrize("what", ["purge", "drop"])
def test_what_was_erased_is_overwritten_by_the_next_to_open_the_file(
    zygote: Zygote, request: pytest.FixtureRequest, tmp_path: Path, say: Say, what: str
) -> None:
    source = request.getfixturevalue("filled" if what == "purge" else "filled_other")
    killed = kill_at_every_step(zygote, source, tmp_path, what)
    assert len(killed) > 6
    assert sum(words > 0 for _, words in killed) > 4, "or else nothing is proved"
    for path, _ in killed:
        sandbar.open(path, OTHER if what == "purge" else HOME).close()
    left = [path.parent.name for path, _ in killed if left_of(path) or owed(path)]
    say(f"{what}: killed at {len(killed)} steps, {len(left)} with bytes left after opening")
    assert not left


def test_a_purge_that_was_killed_inside_the_rewriting_of_the_file_is_made_up_for(
    zygote: Zygote, filled: Path, tmp_path: Path
) -> None:
    for inside, path in zip((0, 5, 25), copies(filled, tmp_path), strict=False):
        job = {"path": str(path), "what": "purge", "at": None, "inside": inside}
        assert zygote.fork("tests.fault.duties:run", **job).wait() == KILLED
        assert left_of(path)
        sandbar.open(path).close()
        assert (left_of(path), owed(path)) == ([], 0)


def test_who_makes_up_for_it_can_be_killed_as_well(
    zygote: Zygote, filled: Path, tmp_path: Path
) -> None:
    start = tmp_path / "start.db"
    shutil.copy(filled, start)
    job = {"path": str(start), "what": "purge", "at": 0}
    assert zygote.fork("tests.fault.duties:run", **job).wait() == KILLED
    with_log = Path(f"{start}-wal")
    assert with_log.exists()
    for at in (1, 4, 8, 12):
        path = tmp_path / str(at) / "it.db"
        path.parent.mkdir()
        shutil.copy(start, path)
        shutil.copy(with_log, f"{path}-wal")
        zygote.fork("tests.fault.duties:run", path=str(path), what="open", at=at).wait()
        sandbar.open(path).close()
        assert (left_of(path), owed(path)) == ([], 0)


def test_a_second_purge_finishes_the_first(zygote: Zygote, filled: Path, tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    shutil.copy(filled, path)
    job = {"path": str(path), "what": "purge", "at": 0}
    assert zygote.fork("tests.fault.duties:run", **job).wait() == KILLED
    with open_database(path, server=True) as db:  # which leaves it to its background
        id = next(iter(db.changes(since=db.t - 1))).entity_ids[0]
        assert left_of(path)
        again = db.purge(id)
        assert (again.entity_ids, again.receipt.t, again.scrubbed) == ([id], db.t, True)
        assert not left_of(path)
        with pytest.raises(NotFound) as caught:
            db.purge(id)
        assert caught.value.code == "entity.purged"


def test_a_server_makes_up_for_it_in_the_background(
    zygote: Zygote, filled: Path, tmp_path: Path
) -> None:
    path = tmp_path / "it.db"
    shutil.copy(filled, path)
    job = {"path": str(path), "what": "purge", "at": 0}
    assert zygote.fork("tests.fault.duties:run", **job).wait() == KILLED
    with open_database(path, server=True) as db:
        assert left_of(path)
        db.start_worker()
        deadline_s = time.monotonic() + 20
        while db._store.owed.duties():
            assert time.monotonic() < deadline_s, "nobody has done it"
            time.sleep(0.01)
        assert not left_of(path)
        assert db.is_well()


def test_a_command_purges_beside_a_server_that_looks_after_duties(
    zygote: Zygote, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbar.database.duties.LOOK_EVERY_S", 0.001)
    path = tmp_path / "it.db"
    shutil.copy(filled, path)
    with open_database(path, server=True) as db:
        db.start_worker()
        job = {"path": str(path), "what": "purge", "at": None}
        assert zygote.fork("tests.fault.duties:run", **job).wait() == 0
        deadline_s = time.monotonic() + 20
        while db._store.owed.duties():
            assert time.monotonic() < deadline_s, "both leave it to the other"
            time.sleep(0.01)
        assert not left_of(path)
        assert db.create("p/Person", {"p/name": "and it goes on"}).created


def forget_index(dialect: str, address: str) -> None:
    """As a restore leaves it: nothing is indexed, and that is noted."""
    index = "INSERT INTO {0}owed SELECT ws, 'index', 0, 0, 0, 0 FROM {0}workspace"
    if dialect == "sqlite":
        connection = apsw.Connection(address)
        connection.execute("DELETE FROM search WHERE rowid > 0")
        connection.execute(index.format(""))
        connection.close()
    else:
        with psycopg.connect(address) as admin:
            admin.execute("DELETE FROM sandbar.search")
            admin.execute(index.format("sandbar.").encode())


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_an_index_is_built_to_its_end_whenever_its_builders_are_killed(
    zygote: Zygote, request: pytest.FixtureRequest, tmp_path: Path, say: Say, dialect: str
) -> None:
    owner = address = str(tmp_path / "it.db")
    if dialect == "postgres":
        owner = request.getfixturevalue("postgres_admin")
        address = request.getfixturevalue("postgres_app")
    with open_database(address, HOME) as db:
        db.define(
            properties={"p/name": {"dt/range": "db.type/string"}},
            classes={"p/P": {"dt/slots": ["p/name"]}},
        )
        made = [db.create("p/P", {"p/name": f"relic {n}"}).entity_id for n in range(60)]
    forget_index(dialect, owner)
    kills = 0
    for kill in cycle(("before", "after")):
        job = {"target": address, "kill": kill}
        status = zygote.fork("tests.fault.duties:build_index", **job).wait()
        if status == 0:
            break
        kills += 1
        assert (status, kills < STEPS_MAX) == (KILLED, True)
    with open_database(address, HOME) as db:
        found = [hit.entity.entity_id for hit in db.search("relic", limit=100).items]
        assert sorted(found) == made
        assert db._store.owed.duties() == []
    say(f"killed {kills} times")
    assert kills > len(made) // ROWS_PER_STEP * 2


@pytest.mark.long
@pytest.mark.timeout(900)
def test_two_hundred_purges_that_were_killed_at_any_moment(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say
) -> None:
    """Of a larger file: the kill comes up to 50 ms after the commit."""
    source, chance, had_bytes = tmp_path / "source.db", random.Random(seed), 0
    fill(source, 3_000)
    with open_database(source, OTHER) as db:
        db.purge(VICTIM)
    for number in range(200):
        path = tmp_path / str(number) / "it.db"
        path.parent.mkdir()
        shutil.copy(source, path)
        out = path.parent / "out"
        child = zygote.fork("tests.fault.duties:purge_and_say", path=str(path), out=str(out))
        while not out.exists() and not child.ended_within(0.0005):
            pass
        child.kill_after(chance.uniform(0.0, 0.05))
        had_bytes += bool(left_of(path))
        sandbar.open(path).close()
        assert (left_of(path), owed(path)) == ([], 0), f"seed {seed}, kill {number}"
        shutil.rmtree(path.parent)
    say(f"200 kills, {had_bytes} of them with bytes left, none after opening")
    assert had_bytes > 20
