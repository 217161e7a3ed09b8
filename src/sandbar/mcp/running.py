"""Running the house's synchronous work from the event loop, under a deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from sandbar.patience import Patience, limited

T = TypeVar("T")

DEADLINE_S = 30.0
_THREADS = 64


class Runner:
    """Worker threads for whatever may wait; microsecond work stays on the loop."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Run in a worker thread; if the client goes away, the work is told to stop."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_THREADS)
        patience = Patience(self._deadline_s)

        def limited_work() -> T:
            with limited(patience):
                return work()

        try:
            return await anyio.to_thread.run_sync(
                limited_work, abandon_on_cancel=True, limiter=self._limiter
            )
        except anyio.get_cancelled_exc_class():
            patience.cancel()
            raise
