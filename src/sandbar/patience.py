"""Patience: how long somebody waits for an answer, and whether they still do.

    patience = Patience(2.0)
    with limited(patience):  # in the thread that does the work
        ...                  # reads, scans and waits end with Interrupted when it is over
    patience.cancel()        # from any thread

A write is interrupted only while it is planned: once its first row is written, its outcome is owed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sandbar import clock
from sandbar.errors import Interrupted


class Patience:
    """Ends at its deadline, if it has one, or when it is cancelled."""

    __slots__ = ("_deadline_s", "_hooks", "_is_cancelled", "_lock")

    def __init__(self, seconds: float | None) -> None:
        self._deadline_s = None if seconds is None else clock.monotonic_s() + seconds
        self._is_cancelled = False
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], object]] = []

    def cancel(self) -> None:
        """Nobody waits any more: whatever is done in its name stops soon."""
        with self._lock:
            self._is_cancelled = True
            hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook()

    def is_cancelled(self) -> bool:
        """Whether somebody has called it off."""
        return self._is_cancelled

    def is_over(self) -> bool:
        """Whether to stop."""
        if self._is_cancelled:
            return True
        return self._deadline_s is not None and clock.monotonic_s() >= self._deadline_s

    def remaining_s(self) -> float | None:
        """The time that is left (None: no end is set; never below 0)."""
        if self._deadline_s is None:
            return None
        return max(self._deadline_s - clock.monotonic_s(), 0.0)

    def check(self) -> None:
        """Go on only while somebody waits."""
        if self.is_over():
            raise self.problem()

    def problem(self) -> Interrupted:
        """What to raise once it is over."""
        if self._is_cancelled:
            return Interrupted(
                "request.cancelled",
                "the request was cancelled",
                hint="send it again if the answer is wanted after all",
            )
        return Interrupted(
            "request.deadline",
            "the request took longer than it may",
            hint="ask for less: a narrower filter, an indexed slot or a smaller limit",
        )

    @contextmanager
    def on_cancel(self, hook: Callable[[], object]) -> Iterator[None]:
        """Call `hook` if it is cancelled in the meantime: on the canceller's thread, so briefly."""
        with self._lock:
            if not self._is_cancelled:
                self._hooks.append(hook)
        if self._is_cancelled:
            hook()
        try:
            yield
        finally:
            with self._lock:
                if hook in self._hooks:
                    self._hooks.remove(hook)


class _Current(threading.local):
    patience: Patience | None = None


_current = _Current()


def current() -> Patience | None:
    """The patience that this thread works under, if any."""
    return _current.patience


def check() -> None:
    """Go on only while somebody waits for what this thread does."""
    patience = _current.patience
    if patience is not None:
        patience.check()


def limit(patience: Patience | None) -> Patience | None:
    """Work under this patience in this thread from now on; answers the one that counted before."""
    outer, _current.patience = _current.patience, patience
    return outer


@contextmanager
def limited(patience: Patience | None) -> Iterator[None]:
    """The same for as long as the context lasts; the outer one counts again afterwards."""
    outer = limit(patience)
    try:
        yield
    finally:
        limit(outer)
