"""`sandbar` with a defect: every server counts for itself, as a limiter in memory does."""

from __future__ import annotations

from sandbar.cli.main import main
from sandbar.store.postgres.buckets import PostgresBuckets
from sandbar.store.sqlite.buckets import MemoryBuckets

if __name__ == "__main__":
    memory = MemoryBuckets()
    PostgresBuckets.take = lambda self, *given: memory.take(*given)  # type: ignore[method-assign]
    main()
