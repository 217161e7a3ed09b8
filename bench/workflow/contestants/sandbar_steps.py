"""Sandbar: a workflow of four transitions, each of which records a small result.

`guarded` asks a condition before every step, which DBOS has nothing like.
"""

from __future__ import annotations

import sys
from typing import Any

import sandbar
from bench.workflow.contestants.driving import serve
from bench.workflow.messages import STEPS, Counted

NAME = "bench/steps"
WHO = "bench"
LAST = f"bench/s{STEPS}"


def definition(how: str) -> dict[str, Any]:
    """A line of states, and a transition from each to the next."""
    guard = {"guard": "process.step >= 0"} if how == "guarded" else {}
    states: list[dict[str, Any]] = [{"name": f"bench/s{n}"} for n in range(STEPS + 1)]
    states[0]["initial?"] = True
    states[-1] |= {"terminal?": True, "terminal-kind": "success"}
    return {
        "name": NAME,
        "states": states,
        "transitions": [
            {"name": f"step-{n}", "from": f"bench/s{n - 1}", "to": f"bench/s{n}", **guard}
            for n in range(1, STEPS + 1)
        ],
    }


class SandbarSteps:
    """The workflow, called as a program that embeds the library does."""

    def __init__(self, db: sandbar.Database) -> None:
        self._db = db

    def run_one(self) -> None:
        """Start a process and take it to its end."""
        workflows = self._db.workflows
        view = workflows.start(NAME, principal=WHO)
        for number in range(1, STEPS + 1):
            view = workflows.transition(
                view.process_id, f"step-{number}", data={"step": number}, principal=WHO
            )
        assert view.is_complete

    def count(self) -> Counted:
        """Count the processes in the last state, and the rows of all histories but the starts."""
        finished = self._db.workflows.stats(NAME).by_state[LAST]
        steps, cursor = 0, None
        while True:
            page = self._db.query("workflow/History", limit=1_000, cursor=cursor)
            steps += sum(row["workflow/action"] != "start" for row in page.items)
            cursor = page.cursor
            if cursor is None:
                return Counted(finished, steps)


def main(target: str, how: str) -> None:
    """Open the database, define the workflow, and be driven."""
    with sandbar.open(target) as db:
        db.workflows.define(definition(how), principal=WHO)
        serve(SandbarSteps(db))


if __name__ == "__main__":
    main(*sys.argv[1:])
