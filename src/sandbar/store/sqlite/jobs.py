"""Jobs in a SQLite file: scheduled by the writer, claimed over a connection of their own.

Leases come and go without a sync: one that a power cut takes back leaves a token that no longer
counts. A commit of the writer syncs whatever was leased before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from sandbar import clock
from sandbar.sql import load_queries
from sandbar.store.jobs import PUT_OFF_MAX_S, Claim, microseconds, new_token, seconds
from sandbar.store.plan import Plan
from sandbar.store.sqlite.connection import open_claimer
from sandbar.store.sqlite.file import File
from sandbar.store.sqlite.line import Line
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.sqlite", "jobs.sql")

OneRow = Callable[[str, tuple[Any, ...]], Any]
AllRows = Callable[[str, tuple[Any, ...]], list[Any]]


def apply_jobs(connection: apsw.Connection, ws: int, plan: Plan) -> None:
    """Write what the batch scheduled; whoever held any of it holds it no more."""
    if plan.jobs:
        due = [(ws, id, due_us) for id, due_us in plan.jobs.items() if due_us is not None]
        connection.executemany(_Q.put_job, due)
        if len(due) < len(plan.jobs):
            none = [(ws, id) for id, due_us in plan.jobs.items() if due_us is None]
            connection.executemany(_Q.drop_job, none)


def token_of_job(connection: apsw.Connection, ws: int, id: int) -> int | None:
    """The token under which a job is held, if it is; under the writer's lock it stays so."""
    for (token,) in connection.execute(_Q.job_token, (ws, id)):
        return None if token is None else int(token)
    return None


class SqliteJobs:
    """The jobs of all workspaces of a file."""

    def __init__(
        self, file: File, one_row: OneRow, all_rows: AllRows, require_open: Callable[[], None]
    ) -> None:
        """Both read as the store does, whose being open is asked before any write."""
        self._one_row = one_row
        self._all_rows = all_rows
        self._require_open = require_open
        self._lock = threading.Lock()
        self._line = Line(file, open_claimer, require_open)

    def is_due(self) -> bool:
        """Whether there is a job to claim."""
        return bool(self._one_row(_Q.is_due, (clock.now_us(),))[0])

    def next_due_s(self) -> float | None:
        """How long until there is a job to claim."""
        (left_us,) = self._one_row(_Q.next_due, (clock.now_us(),))
        return None if left_us is None else seconds(left_us)

    def claim(
        self, owner: str, limit: int, lease_s: float, spared: Sequence[int] | None = ()
    ) -> list[Claim]:
        """Hold some of the jobs that are due."""
        if not self.is_due():  # so nobody waits for a lock that nobody needs
            return []
        with self._writing() as connection:
            now_us = clock.now_us()
            until_us = now_us + microseconds(lease_s)
            left_out = None if spared is None else msgspec.json.encode(list(spared)).decode()
            due: list[Any] = connection.execute(
                _Q.due_jobs, (now_us, limit, owner, left_out)
            ).fetchall()
            claims = [
                Claim(ws, name, id, new_token(), due_us, bool(was_held))
                for ws, name, id, due_us, was_held in due
            ]
            leases = [(owner, claim.token, until_us, claim.ws, claim.id) for claim in claims]
            connection.executemany(_Q.claim_job, leases)
        return claims

    def renew(self, ws: int, id: int, token: int, lease_s: float) -> bool:
        """Hold a job for longer."""
        with self._writing() as connection:
            until_us = clock.now_us() + microseconds(lease_s)
            connection.execute(_Q.renew_job, (until_us, ws, id, token))
            return connection.changes() == 1

    def release(self, ws: int, id: int, token: int, delay_s: float = 0.0) -> None:
        """Let others have it."""
        with self._writing() as connection:
            due_us = clock.now_us() + microseconds(delay_s)
            connection.execute(_Q.release_job, (due_us, ws, id, token))

    def put_off(self, ws: int, id: int, token: int, least_s: float, *, with_all_due: bool) -> None:
        """Let it wait for a budget, perhaps with all that are due."""
        bounds = microseconds(min(least_s, PUT_OFF_MAX_S)), microseconds(PUT_OFF_MAX_S)
        with self._writing() as connection:
            bindings = (clock.now_us(), *bounds, ws, id, token, with_all_due)
            connection.execute(_Q.put_off_jobs, bindings)

    def note_over_budget(self, ws: int, id: int, token: int, *, is_over: bool) -> None:
        """Say of a job that is held whether it waits for a budget."""
        with self._writing() as connection:
            connection.execute(_Q.note_over_budget, (clock.now_us(), is_over, ws, id, token))

    def over_budget(self, ws: int, ids: Sequence[int]) -> dict[int, int]:
        """Which of these wait for a budget, and since when."""
        given = msgspec.json.encode(list(ids)).decode()
        return dict(self._all_rows(_Q.over_budget, (ws, given)))

    def all_over_budget(self, ws: int) -> tuple[int, int | None]:
        """How many wait for a budget, and since when."""
        count, since_us = self._one_row(_Q.all_over_budget, (ws,)) or (0, None)
        return count, since_us

    def try_over_budget(self, ws: int) -> None:
        """Have those be due that wait for a budget."""
        with self._writing() as connection:
            connection.execute(_Q.try_over_budget, (clock.now_us(), ws))

    def close(self) -> None:
        """Let go of the connection, once the store is no longer open."""
        with self._lock:
            self._line.hang_up()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        self._require_open()  # before the lock, which after a fork nobody might ever release
        refuse_on_writer()
        with self._lock, self._line.transaction() as connection:
            yield connection
