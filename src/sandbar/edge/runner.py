"""Running the house's synchronous work from the event loop, under a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from sandbar.access import Caller
from sandbar.model import Answer
from sandbar.patience import Patience, limited

T = TypeVar("T")

DEADLINE_S = 30.0
_THREADS = 64
_AT_ONCE_OF_ONE_CALLER = 16  # so that nobody can keep all the others waiting


class Runner:
    """Worker threads for whatever may wait; microsecond work stays on the loop."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._limiter: anyio.CapacityLimiter | None = None
        self._of_caller: dict[Caller, anyio.CapacityLimiter] = {}

    async def run(
        self, caller: Caller, work: Callable[[], T], patience: Patience | None = None
    ) -> T:
        """Run in a worker thread; if the client goes away, the work is told to stop.

        `patience` is that of a call of which some has passed already.
        """
        async with self.turn(caller):
            return await self._run(work, patience or self.patience())

    @asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Wait while too much of a caller's is under way: in threads, or queued for the writer."""
        own = self._of_caller.get(caller)
        if own is None:
            own = self._of_caller[caller] = anyio.CapacityLimiter(_AT_ONCE_OF_ONE_CALLER)
        try:
            async with own:
                yield
        finally:
            if not own.borrowed_tokens and not own.statistics().tasks_waiting:
                self._of_caller.pop(caller, None)

    async def committed(self, answer: Answer[T], patience: Patience) -> BaseException | None:
        """Wait until a queued write has come to an end: the writer calls back, no thread waits.

        When the patience ends, a write that has not begun is taken back; one that has is waited
        for, since its outcome is owed.
        """
        loop = asyncio.get_running_loop()
        woken = loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        def tell(answer: Answer[T]) -> None:
            del answer
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        answer.add_done_callback(tell)
        left_s = patience.remaining_s()
        timer = None if left_s is None else loop.call_later(left_s, answer.cancel)
        try:
            await woken
        except asyncio.CancelledError:
            patience.cancel()  # ends its planning
            answer.cancel()
            raise
        finally:
            if timer is not None:
                timer.cancel()
        return patience.problem() if answer.is_cancelled() else answer.exception()

    def patience(self) -> Patience:
        """As long as a call may take from now on."""
        return Patience(self._deadline_s)

    async def _run(self, work: Callable[[], T], patience: Patience) -> T:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_THREADS)

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
