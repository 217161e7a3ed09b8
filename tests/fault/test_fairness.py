"""A command that writes once gets its turn beside a process that writes without pause."""

from __future__ import annotations

import statistics
from pathlib import Path

import sandbar
from tests.fault.conftest import Say
from tests.fault.journal import read_journal
from tests.fault.load import prepare
from tests.fault.zygote import Zygote

TURN_WITHIN_S = 1.0
COMMANDS = 20


def test_a_command_beside_a_busy_writer(
    zygote: Zygote, tmp_path: Path, seed: str, say: Say
) -> None:
    """Each command is a process of its own: open, write, close."""
    path, journal, out = (str(tmp_path / name) for name in ("busy.db", "journal", "out"))
    with sandbar.open(path) as db:
        prepare(db)
    busy = zygote.fork("tests.fault.load:run_load", target=path, journal=journal, seed=seed)
    waits_s = []
    for number in range(COMMANDS):
        tag = f"command-{number}"
        child = zygote.fork("tests.fault.jobs:write_once", target=path, tag=tag, out=out)
        assert child.wait(30) == 0
        waits_s.append(float(Path(out).read_text()))
    busy.kill()
    answers = len(read_journal(Path(journal)).answers)
    p50_ms, most_ms = 1000 * statistics.median(waits_s), 1000 * max(waits_s)
    say(f"open and write: p50 {p50_ms:.0f} ms, most {most_ms:.0f} ms beside {answers} writes")
    assert answers > COMMANDS, "the writer was not busy"
    # One straggler is let pass: SQLite's own way of waiting may sleep through several pauses.
    assert sorted(waits_s)[-1] < TURN_WITHIN_S
    with sandbar.open(path) as db:
        for number in range(COMMANDS):
            tag = f"command-{number}"
            assert db.get({"fault/tag": tag})["fault/tag"] == tag
