"""Token buckets of the one server of a file: they live in its memory, and begin full with it."""

from __future__ import annotations

import threading

from sandbar import clock

BUCKETS_MAX = 20_000


class MemoryBuckets:
    """Each bucket is the moment at which it will be full, if nobody takes from it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._full_us: dict[tuple[int, int], int] = {}

    def take(self, ws: int, id: int, interval_us: int, burst: int) -> int:
        """Take a token, or tell in how many microseconds there will be one."""
        whole_us = burst * interval_us
        with self._lock:
            now_us = int(clock.monotonic_s() * 1_000_000)  # not before, or it may be an older one
            # One that was larger before is at most empty now.
            full_us = max(min(self._full_us.get((ws, id), 0), now_us + whole_us), now_us)
            wait_us = max(full_us + interval_us - now_us - whole_us, 0)
            if len(self._full_us) >= BUCKETS_MAX and (ws, id) not in self._full_us:
                self._make_room(now_us)
            self._full_us[ws, id] = full_us if wait_us else full_us + interval_us
            return wait_us

    def _make_room(self, now_us: int) -> None:
        """Forget those that are full; if there are none, the half that will be soonest."""
        kept = {key: full_us for key, full_us in self._full_us.items() if full_us > now_us}
        if len(kept) >= BUCKETS_MAX:
            latest = sorted(kept, key=kept.__getitem__)[len(kept) // 2 :]
            kept = {key: kept[key] for key in latest}
        self._full_us = kept
