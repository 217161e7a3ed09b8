"""Token buckets that all servers of a PostgreSQL database share, by the database's own clock."""

from __future__ import annotations

from sandbar.sql import load_queries
from sandbar.store.postgres.pool import Pool

_Q = load_queries("sandbar.store.postgres", "buckets.sql")


class PostgresBuckets:
    """One row for each bucket, and one statement for each token."""

    def __init__(self, pool: Pool) -> None:
        """The connections of `pool` wait for no disk: a power cut may fill a bucket."""
        self._pool = pool

    def take(self, ws: int, id: int, interval_us: int, burst: int) -> int:
        """Take a token, or tell in how many microseconds there will be one."""
        bindings = {"ws": ws, "id": id, "interval_us": interval_us}
        (wait_us,) = self._pool.one_row(ws, _Q.take, bindings | {"whole_us": burst * interval_us})
        return int(wait_us)
