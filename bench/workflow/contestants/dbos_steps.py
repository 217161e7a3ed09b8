"""DBOS: a workflow of four steps, each of which records a small result, on PostgreSQL.

`plain` is DBOS as it comes. `tuned` has more connections and does not ask each of them for a sign
of life before it is used: the two settings that its users turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import psycopg
from dbos import DBOS

from bench.workflow.contestants.driving import serve
from bench.workflow.messages import STEPS, Counted

_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tuned": {"sys_db_pool_size": 40, "db_engine_kwargs": {"pool_pre_ping": False}},
}
_COUNT = """SELECT (SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'),
                   (SELECT count(*) FROM dbos.operation_outputs)"""

Result = dict[str, int]


def _step(number: int) -> Result:
    return {"step": number}


step: Callable[[int], Result] = DBOS.step(name="step")(_step)


def _steps() -> list[Result]:
    return [step(number) for number in range(1, STEPS + 1)]


steps: Callable[[], list[Result]] = DBOS.workflow(name="steps")(_steps)


class DbosSteps:
    """The workflow, called as DBOS' own examples do."""

    def __init__(self, url: str) -> None:
        self._url = url

    def run_one(self) -> None:
        """Run the workflow."""
        assert len(steps()) == STEPS

    def count(self) -> Counted:
        """Look into the tables of DBOS."""
        with psycopg.connect(self._url) as connection:
            row = connection.execute(_COUNT).fetchone()
            assert row is not None
            return Counted(*row)


def main(url: str, how: str) -> None:
    """Launch DBOS, silently, and be driven."""
    DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "log_level": "ERROR",
            **_SETTINGS[how],
        }
    )
    DBOS.launch()
    try:
        serve(DbosSteps(url))
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])
