"""An import that is killed in the middle, and a second run: nothing doubled, nothing lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sandbar
from tests.conftest import Say
from tests.projects.conftest import NOTE, Place, tree

COUNT = 1_200  # three batches
_LONGEST_WAIT_S = 60

_SCRIPT = """
import sys
from pathlib import Path
import sandbar
from tests.projects.conftest import Place
db = sandbar.open(sys.argv[1])
def told(done, total, message):
    print(message.partition(":")[0], done, flush=True)
Place(db).apply(Path(sys.argv[2]), progress=told)
db.close()
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of some thousand notes that refer to each other, backwards and forwards."""
    folder = tmp_path_factory.mktemp("origin")
    with sandbar.open(folder / "origin.db") as db:
        db.define(**NOTE)
        for start in range(0, COUNT, 400):
            db.transact([_create(n) for n in range(start, start + 400)])
        for start in range(0, COUNT, 400):
            db.transact([_update(n) for n in range(start, start + 400)])
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
    command = [sys.executable, "-c", _SCRIPT, str(database), str(project)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    deadline = time.monotonic() + _LONGEST_WAIT_S
    try:
        for line in process.stdout:
            assert time.monotonic() < deadline
            message, _, done = line.partition(" ")
            if message == word and int(done) >= least:
                os.kill(process.pid, how)
                return True
        return False
    finally:
        process.stdout.close()
        process.wait(timeout=_LONGEST_WAIT_S)


@pytest.mark.parametrize(
    ("word", "least", "how"),
    [
        ("importing", COUNT + COUNT // 2, signal.SIGKILL),
        ("importing", COUNT + COUNT * 5 // 6, signal.SIGINT),
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
    assert run_until(database, exported, "importing", COUNT + COUNT * 3 // 5, signal.SIGKILL)
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
