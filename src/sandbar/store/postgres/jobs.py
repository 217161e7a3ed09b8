"""Jobs in a PostgreSQL database: scheduled by the writers, claimed over connections of their own.

The time is the database's own, so that servers whose clocks differ agree on leases.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbar.sql import load_queries
from sandbar.store.jobs import PUT_OFF_MAX_S, Claim, microseconds, new_token, seconds
from sandbar.store.plan import Plan
from sandbar.store.postgres.arrays import Longs
from sandbar.store.postgres.connection import Connection, open_claimer
from sandbar.store.postgres.pool import Pool
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.postgres", "jobs.sql")

_CONNECTIONS_MAX = 4


def apply_jobs(connection: Connection, ws: int, plan: Plan) -> None:
    """Write what the batch scheduled; whoever held any of it holds it no more."""
    if plan.jobs:
        due = {id: due_us for id, due_us in plan.jobs.items() if due_us is not None}
        bindings = {
            "ws": ws,
            "ids": Longs(due),
            "due": Longs(due.values()),
            "gone_ids": Longs(id for id in plan.jobs if id not in due),
        }
        connection.execute(_Q.put_jobs, bindings)


def lock_job(connection: Connection, ws: int, id: int) -> int | None:
    """The token under which a job is held, if it is; until the end of this transaction it stays."""
    row = connection.execute(_Q.job_token, (ws, id)).fetchone()
    return None if row is None or row[0] is None else int(row[0])


class PostgresJobs:
    """The jobs of all workspaces of a database."""

    def __init__(self, url: str) -> None:
        self._pool = Pool(url, open_claimer, _CONNECTIONS_MAX)

    def is_due(self) -> bool:
        """Whether there is a job to claim."""
        return bool(self._pool.one_row(None, _Q.is_due, ())[0])

    def next_due_s(self) -> float | None:
        """How long until there is a job to claim."""
        (left_us,) = self._pool.one_row(None, _Q.next_due, ())
        return None if left_us is None else seconds(left_us)

    def claim(
        self, owner: str, limit: int, lease_s: float, spared: Sequence[int] | None = ()
    ) -> list[Claim]:
        """Hold some of the jobs that are due."""
        refuse_on_writer()
        tokens = Longs(new_token() for _ in range(limit))
        left_out = None if spared is None else Longs(spared)
        rows = self._pool.all_rows(_Q.claim, (owner, tokens, microseconds(lease_s), left_out))
        return [Claim(*row) for row in rows]

    def renew(self, ws: int, id: int, token: int, lease_s: float) -> bool:
        """Hold a job for longer."""
        refuse_on_writer()
        bindings = (ws, id, token, microseconds(lease_s))
        return bool(self._pool.one_row(None, _Q.renew, bindings)[0])

    def release(self, ws: int, id: int, token: int, delay_s: float = 0.0) -> None:
        """Let others have it."""
        refuse_on_writer()
        self._pool.one_row(None, _Q.release, (ws, id, token, microseconds(delay_s)))

    def put_off(self, ws: int, id: int, token: int, least_s: float, *, with_all_due: bool) -> None:
        """Let it wait for a budget, perhaps with all that are due."""
        refuse_on_writer()
        bindings = {
            "ws": ws,
            "id": id,
            "token": token,
            "least": microseconds(min(least_s, PUT_OFF_MAX_S)),
            "most": microseconds(PUT_OFF_MAX_S),
            "all": with_all_due,
        }
        self._pool.one_row(ws, _Q.put_off, bindings)

    def note_over_budget(self, ws: int, id: int, token: int, *, is_over: bool) -> None:
        """Say of a job that is held whether it waits for a budget."""
        refuse_on_writer()
        bindings = {"ws": ws, "id": id, "token": token, "is_over": is_over}
        self._pool.one_row(ws, _Q.note_over_budget, bindings)

    def over_budget(self, ws: int, ids: Sequence[int]) -> dict[int, int]:
        """Which of these wait for a budget, and since when."""
        return dict(self._pool.all_rows(_Q.over_budget, (ws, Longs(ids)), ws))

    def all_over_budget(self, ws: int) -> tuple[int, int | None]:
        """How many wait for a budget, and since when."""
        count, since_us = self._pool.one_row(ws, _Q.all_over_budget, (ws,)) or (0, None)
        return count, since_us

    def try_over_budget(self, ws: int) -> None:
        """Have those be due that wait for a budget."""
        refuse_on_writer()
        self._pool.one_row(ws, _Q.try_over_budget, (ws,))

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.close()
