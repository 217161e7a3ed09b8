"""A command that writes once gets its turn beside a process that writes without pause."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

import sandbar
from sandbar.database import Database
from tests.conftest import Say
from tests.fault.load import prepare
from tests.fault.zygote import Child, Zygote

TURN_WITHIN_S = 1.0  # for every command; usual are hundredths, but the cores may be busy
COMMANDS = 10
BROKEN_COMMANDS_MAX = 20  # how many may be in luck before one that seldom asks is late
ATTEMPTS = 3  # in one of them the machine must have had the time
BUSY_WRITES = 10  # from here on the other process is at work


def command_s(zygote: Zygote, path: str, tag: str, folder: Path, breakage: str = "none") -> float:
    """How long a command takes, in a process of its own: open, write, close; if busy, for ever."""
    out = folder / tag
    job = "tests.fault.jobs:write_once"
    child = zygote.fork(job, target=path, tag=tag, out=str(out), breakage=breakage)
    assert child.wait(30) == 0
    return float(out.read_text())


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A SQLite file with the classes of the load."""
    path = str(tmp_path / "busy.db")
    with sandbar.open(path) as db:
        prepare(db)
    return path


def busy_writer(zygote: Zygote, db: Database, path: str, folder: Path, load: str) -> Child:
    """A process that writes until it is killed: small things from many threads, or large ones."""
    before = db.t
    if load == "bulk":
        child = zygote.fork("tests.fault.jobs:write_in_bulk", target=path)
    else:
        journal = str(folder / "journal")
        child = zygote.fork("tests.fault.load:run_load", target=path, journal=journal, seed=load)
    while db.t < before + BUSY_WRITES:
        assert not child.ended_within(0.01)
    return child


@pytest.mark.parametrize("load", ["mixed", "bulk"])
def test_a_command_beside_a_busy_writer(
    zygote: Zygote, path: str, tmp_path: Path, say: Say, load: str
) -> None:
    """Every single one is answered in time, and the other process has written throughout."""
    with sandbar.open(path) as db:
        for attempt in range(ATTEMPTS):
            tags = [f"command-{attempt}-{number}" for number in range(COMMANDS)]
            busy = busy_writer(zygote, db, path, tmp_path, load)
            before = db.t
            waits_s = [command_s(zygote, path, tag, tmp_path) for tag in tags]
            others = db.t - before - COMMANDS
            busy.kill()
            p50_ms, most_ms = 1000 * statistics.median(waits_s), 1000 * max(waits_s)
            say(f"open and write: p50 {p50_ms:.0f}, most {most_ms:.0f} ms beside {others} writes")
            assert others > COMMANDS, "the writer was not busy"
            if max(waits_s) < TURN_WITHIN_S:
                break
        assert max(waits_s) < TURN_WITHIN_S, "late again and again"
        assert [db.get({"fault/tag": tag})["fault/tag"] for tag in tags] == tags


def test_a_command_that_seldom_asks_is_caught(
    zygote: Zygote, path: str, tmp_path: Path, say: Say
) -> None:
    """The negative control: beside the same writer, looking once a second is too seldom."""
    with sandbar.open(path) as db:
        busy = busy_writer(zygote, db, path, tmp_path, "bulk")
    waits_s: list[float] = []
    while len(waits_s) < BROKEN_COMMANDS_MAX and max(waits_s, default=0) < TURN_WITHIN_S:
        tag = f"command-{len(waits_s)}"
        waits_s.append(command_s(zygote, path, tag, tmp_path, "seldom-ask"))
    busy.kill()
    say(f"caught at command {len(waits_s)}, which took {waits_s[-1]:.1f} s")
    assert max(waits_s) > TURN_WITHIN_S
