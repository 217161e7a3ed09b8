"""An import that is killed in the middle, and a second run: nothing doubled, nothing lost."""

from __future__ import annotations

import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import sandbar
from tests.conftest import Say
from tests.forked import CONTEXT, Forked
from tests.projects.conftest import NOTE, Place, tree

COUNT = 700  # two batches
_BATCH = 500
_LONGEST_WAIT_S = 60

# In one process, so that what is imported is made once.
pytestmark = pytest.mark.xdist_group("projects-killed")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of many notes that refer to each other, backwards and forwards."""
    folder = tmp_path_factory.mktemp("origin")
    with sandbar.open(folder / "origin.db") as db:
        db.define(**NOTE)
        db.transact([_create(n) for n in range(COUNT)])
        db.transact([_update(n) for n in range(COUNT)])
        Place(db).export(folder / "project")
    return folder / "project"


def _create(n: int) -> dict[str, object]:
    slots = {"db/ident": f"n/{n}", "note/name": str(n), "note/body": f"Note {n}\n" * 20}
    return {"op": "create", "class": "note/Note", "slots": slots}


def _update(n: int) -> dict[str, object]:
    cites = [f"n/{(n * 7919 + k) % COUNT}" for k in range(3)]
    return {"op": "update", "entity": f"n/{n}", "set": {"note/cites": cites}}


def run_until(database: Path, project: Path, word: str, least: int, how: signal.Signals) -> bool:
    """Import in a process of its own and end it when it says this; whether it had to be ended."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = Forked(run_and_tell, theirs, str(database), project, word, least)
    theirs.close()
    try:
        while ours.poll(_LONGEST_WAIT_S):
            message, done = ours.recv()
            if message == word and done >= least:
                process.send_signal(how)
                return True
        process.kill()
        raise AssertionError(f"it has not told anything for {_LONGEST_WAIT_S} s")
    except EOFError:
        return False
    finally:
        process.wait(_LONGEST_WAIT_S)
        ours.close()


def run_and_tell(told: Connection, database: str, project: Path, word: str, least: int) -> None:
    """Import, and tell how far it is; having got there it waits for its end."""

    def progress(done: int, total: int, message: str) -> None:
        now = message.partition(":")[0]
        told.send((now, done))
        if now == word and done >= least:
            time.sleep(_LONGEST_WAIT_S)

    db = sandbar.open(database)
    Place(db).apply(project, progress=progress)
    db.close()


@pytest.mark.parametrize(
    ("word", "least", "how"),
    [
        ("importing", COUNT + _BATCH, signal.SIGKILL),
        ("importing", COUNT + _BATCH + 100, signal.SIGINT),
        ("linking", 2 * COUNT + COUNT // 3, signal.SIGKILL),
    ],
    ids=["early", "late", "linking"],
)
def test_a_second_run_finishes_what_was_killed(
    exported: Path, tmp_path: Path, word: str, least: int, how: signal.Signals, say: Say
) -> None:
    database = tmp_path / "copy.db"
    assert run_until(database, exported, word, least, how)
    with sandbar.open(database) as db:
        copy = Place(db)
        made = copy.guarded().instance_count("note/Note")
        assert 0 < made <= COUNT
        again = copy.apply(exported)
        assert again.is_clean
        assert again.reconciled
        assert again.counts.get("create", 0) == COUNT - made
        assert "kept" not in again.counts  # what was left half made is not taken for somebody's own
        assert copy.guarded().instance_count("note/Note") == COUNT
        copy.export(tmp_path / "again")
        assert tree(tmp_path / "again") == tree(exported)
        t = db.t
        assert set(copy.apply(exported).counts) == {"unchanged"}
        assert db.t == t
    say(f"ended at {word} {least} with {made} of {COUNT}: {again.counts}")


def test_what_somebody_made_of_a_half_made_entity_stays(exported: Path, tmp_path: Path) -> None:
    database = tmp_path / "copy.db"
    assert run_until(database, exported, "importing", COUNT + _BATCH, signal.SIGKILL)
    with sandbar.open(database) as db:
        copy = Place(db)
        found = next(one for one in db.each("note/Note") if "note/cites" not in one.slots)
        db.update(found.entity_id, {"note/body": "mine\n"})
        whole = next(one for one in db.each("note/Note") if "note/cites" in one.slots)
        db.update(whole.entity_id, {"note/cites": None})
        copy.apply(exported)
        mine = db.get(found.entity_id)
        n = int(mine["note/name"])
        assert mine["note/body"] == "mine\n"
        assert mine["note/cites"] == [f"n/{(n * 7919 + k) % COUNT}" for k in range(3)]
        assert "note/cites" not in db.get(whole.entity_id).slots  # they were taken out on purpose
