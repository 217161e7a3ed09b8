"""A server for child processes with an activity that kills it, and another that runs beside it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import sandbar
from sandbar.access import Authority
from sandbar.workflow import Handlers, Outcome, Running, Worker, Workflows, worker

PRINCIPAL = "starter"
RENEW_EVERY_S, ASIDE_S = 0.1, 0.2  # leases of these tests are short
FATAL_AFTER_S = 0.05
INNOCENT_S = 0.4  # longer than the other lets a server live


def spec(name: str) -> dict[str, Any]:
    """A workflow with the activity of that name, and ends."""
    ends = {"done": "success", "failed": "failure"}
    return {
        "name": name,
        "states": [
            {"name": "c/new", "initial?": True, "activity": name},
            *(
                {"name": f"c/{end}", "terminal?": True, "terminal-kind": kind}
                for end, kind in ends.items()
            ),
        ],
        "transitions": [
            {"name": end, "from": "c/new", "to": f"c/{end}", "effects": [{"data": {"is": end}}]}
            for end in ends
        ],
    }


FATAL, INNOCENT = spec("c/fatal"), spec("c/innocent")


def _kill(job: Running) -> Outcome:
    time.sleep(FATAL_AFTER_S)
    os.kill(os.getpid(), signal.SIGKILL)
    return Outcome("done")


def _take_time(job: Running) -> Outcome:
    """Says nothing meanwhile: whoever takes it over begins anew."""
    time.sleep(INNOCENT_S)
    return Outcome("done")


def _run_suspects_together() -> None:
    """Suspects run side by side."""
    Worker._isolate = lambda self, claim: True  # type: ignore[method-assign]


BREAKAGES: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "suspects-together": _run_suspects_together,
}


def serve(target: str, lease_s: float, breakage: str = "none") -> None:
    """Look after whatever there is until it is done, or we are."""
    BREAKAGES[breakage]()
    worker._RENEW_EVERY_S, worker._ASIDE_S = RENEW_EVERY_S, ASIDE_S
    db = sandbar.open(target)
    known = Handlers({"c/fatal": _kill, "c/innocent": _take_time})
    workflows = Workflows(db.workspace, lambda: known, Authority(db.workspace, "main"))
    running = Worker(db._store.jobs, lambda name: workflows, lease_s=lease_s)
    running.start()
    while workflows.active(limit=1)[0]:
        time.sleep(0.02)
    running.stop()
    db.close()
