"""Duties in a PostgreSQL database, which any number of servers work off."""

from __future__ import annotations

from sandbar.sql import load_queries
from sandbar.store.jobs import microseconds
from sandbar.store.owed import LEASE_S, Duty, pause_s
from sandbar.store.postgres.connection import Connection
from sandbar.store.postgres.pool import Pool
from sandbar.store.writer import refuse_on_writer

_Q = load_queries("sandbar.store.postgres", "owed.sql")


def duties_of(connection: Connection) -> tuple[Duty, ...]:
    """All that is owed, oldest first."""
    return tuple(Duty(*row) for row in connection.execute(_Q.duties))


class PostgresOwed:
    """The duties of all workspaces of a database."""

    def __init__(self, pool: Pool) -> None:
        """The connections of `pool` may write; a power cut may take a claim back."""
        self._pool = pool

    def duties(self) -> list[Duty]:
        """All that is owed, oldest first."""
        return [Duty(*row) for row in self._pool.all_rows(_Q.duties, ())]

    def claim(self) -> Duty | None:
        """One that is due; a row that another server is about to claim is passed over."""
        refuse_on_writer()
        row = self._pool.one_row(None, _Q.claim, (microseconds(LEASE_S),))
        return None if row is None else Duty(*row)

    def postpone(self, duty: Duty) -> None:
        """It could not be done: it is due again after a while."""
        refuse_on_writer()
        delay_us = microseconds(pause_s(duty.tries))
        self._pool.one_row(duty.ws, _Q.postpone, (delay_us, duty.ws, duty.duty))
