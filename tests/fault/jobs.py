"""Small jobs for child processes: be frozen in a write, write once and leave, write for ever."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sandbar
from sandbar.errors import Problem, Unavailable
from sandbar.model.writes import BATCHED_OPERATIONS_MAX
from tests.fault.breakage import BREAKAGES
from tests.fault.load import prepare

_BULK_THREADS = 8


def hold(target: str, inside: str, go: str, out: str, breakage: str = "none") -> None:
    """Add one to an account, and stay inside the transaction until told to go on.

    `inside` and `go` are named pipes. `out` gets the answer, and how often the function has run.
    """
    BREAKAGES[breakage]()
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


def write_once(target: str, tag: str, out: str, breakage: str = "none") -> None:
    """What a command does: open, write once, close.

    `out` gets the seconds until the answer; if that is `store.busy`, infinitely many.
    """
    BREAKAGES[breakage]()
    begun = time.monotonic()
    db = sandbar.open(target)
    is_written = True
    try:
        db.create("fault/Item", {"fault/tag": tag})
    except Unavailable as problem:
        if problem.code != "store.busy":
            raise
        is_written = False
    Path(out).write_text(str(time.monotonic() - begun if is_written else math.inf))
    db.close()


def write_in_bulk(target: str) -> None:
    """One large transaction after another, several in the queue: the lock is hardly ever free."""
    db = sandbar.open(target)
    operations = [{"op": "create", "class": "fault/Item", "slots": {"fault/count": 1}}]
    operations *= BATCHED_OPERATIONS_MAX + 1

    def work() -> None:
        while True:
            db.transact(operations)

    with ThreadPoolExecutor(_BULK_THREADS) as pool:
        for running in [pool.submit(work) for _ in range(_BULK_THREADS)]:
            running.result()
