"""Small jobs for child processes: to be frozen in the middle of a write, or to write and leave."""

from __future__ import annotations

import json
import time
from pathlib import Path

import sandbar
from sandbar.errors import Problem
from tests.fault.load import prepare


def hold(target: str, inside: str, go: str, out: str) -> None:
    """Add one to an account, and stay inside the transaction until told to go on.

    `inside` and `go` are named pipes. `out` gets the answer, and how often the function has run.
    """
    db = sandbar.open(target)
    account = prepare(db)[0]
    runs = 0

    def work() -> int:
        nonlocal runs
        runs += 1
        count: int = db.get(account)["fault/count"] + 1
        db.update(account, {"fault/count": count})
        if runs == 1:
            Path(inside).write_text("inside")
            Path(go).read_text()
        db.create("fault/Item", {"fault/tag": f"held-{runs}"})
        return count

    try:
        answer = str(db.run(work))
    except Problem as problem:
        answer = problem.code
    Path(out).write_text(json.dumps({"answer": answer, "runs": runs}))
    db.close()


def write_once(target: str, tag: str, out: str) -> None:
    """What a command does: open, write once, close; `out` gets the seconds until the answer."""
    begun = time.monotonic()
    db = sandbar.open(target)
    db.create("fault/Item", {"fault/tag": tag})
    Path(out).write_text(str(time.monotonic() - begun))
    db.close()
