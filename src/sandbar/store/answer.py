"""The answer to a queued write: something to wait for, and nothing more.

`concurrent.futures.Future` does the same with a condition and two more locks each; among many
threads that wait for one writer, that is a tenth of the throughput.

Those who wait for the same batch stand in line: the writer wakes the first, and each the next. Were
all woken at once, most would only fall asleep again, waiting for the interpreter; beside a thread
that computes, that is nine tenths of the throughput.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sandbar.errors import Interrupted
from sandbar.faults import log_fault
from sandbar.patience import Patience, current

T = TypeVar("T")

_transition = threading.Lock()  # guards the few steps where two threads could disagree


class Answer(Generic[T]):
    """Resolved once, by the writer, after the commit."""

    __slots__ = (
        "_begun", "_callbacks", "_cancelled", "_done", "_error", "_gate", "_is_in_line", "_next",
        "_value",
    )  # fmt: skip

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._done = self._begun = self._cancelled = self._is_in_line = False
        self._next: Answer[Any] | None = None  # whom to wake, once awake
        self._callbacks: list[Callable[[Answer[T]], None]] = []

    # --- for whoever waits -------------------------------------------------------------------

    def result(self, timeout_s: float | None = None) -> T:
        """Wait, then give the value or raise the error.

        When the patience of this thread ends, a write that has not begun is taken back. One that
        has is waited for: whoever asked is owed its outcome.
        """
        if not self._done:
            self._wait(timeout_s)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def exception(self, timeout_s: float | None = None) -> BaseException | None:
        """Wait, then give the error, if there was one."""
        if not self._done:
            self._wait(timeout_s)
        return self._error

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._done

    def cancel(self) -> bool:
        """Take the write back; False if it has begun or is done."""
        with _transition:
            if self._begun or self._done:
                return False
            self._cancelled = True
        self.resolve(None, Interrupted("write.cancelled", "the write was taken back"))
        return True

    def is_cancelled(self) -> bool:
        """Whether the write was taken back."""
        return self._cancelled

    def add_done_callback(self, callback: Callable[[Answer[T]], None]) -> None:
        """Call back when the answer is there: on the writer's thread, or at once on this one.

        What it raises on the writer's thread is logged, and nobody else's concern.
        """
        with _transition:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def _wait(self, timeout_s: float | None) -> None:
        patience = current() if timeout_s is None else None
        # Ctrl-C may come between any two steps of the main thread, so nobody waits behind it.
        is_sure = threading.main_thread().ident != threading.get_ident()
        try:
            with _transition:
                self._is_in_line = is_sure and not self._done
            if patience is not None:
                self._wait_patiently(patience)
            elif not self._gate.acquire(timeout=-1 if timeout_s is None else timeout_s):
                raise TimeoutError
        finally:
            self._wake_next()  # also by whoever gives up
        self._gate.release()  # whoever waits beside us may pass, too

    def _wake_next(self) -> None:
        with _transition:
            self._is_in_line = False
            following, self._next = self._next, None
        if following is not None:
            following._gate.release()

    def _wait_patiently(self, patience: Patience) -> None:
        with patience.on_cancel(self.cancel):
            left_s = patience.remaining_s()
            if not self._gate.acquire(timeout=-1 if left_s is None else left_s):
                self.cancel()
                self._gate.acquire()
        if self._cancelled:
            self._gate.release()
            raise patience.problem()

    # --- for the writer ----------------------------------------------------------------------

    def begin(self) -> bool:
        """Whether the write may begin; from then on it cannot be taken back."""
        with _transition:
            self._begun = not self._cancelled
            return self._begun

    def resolve(self, value: T | None, error: BaseException | None) -> None:
        """Give the answer; a second one is ignored."""
        resolve_all([(self, value, error)])

    def _settle(self, value: T | None, error: BaseException | None) -> bool:
        if self._done:
            return False
        self._value, self._error = value, error
        self._done = True
        return True

    def _call_back(self) -> None:
        for callback in self._callbacks:
            try:
                callback(self)
            except BaseException as error:  # noqa: BLE001 - the answer stands, and so do the others'
                log_fault("answer.callback-failed", error)


def resolve_all(answers: list[tuple[Answer[Any], Any, BaseException | None]]) -> None:
    """Give each its answer, and wake the first in line; a second answer is ignored."""
    line: list[Answer[Any]] = []
    others: list[Answer[Any]] = []
    last: Answer[Any] | None = None
    each = iter(answers)
    with _transition:  # makes no objects: a collection of garbage could need this very lock
        for answer, value, error in each:
            if not answer._settle(value, error):
                continue
            if not answer._is_in_line:
                others.append(answer)
                continue
            if last is not None:
                last._next = answer
            last = answer
            line.append(answer)
    for answer in (*line[:1], *others):
        answer._gate.release()
    for answer in (*line, *others):
        if answer._callbacks:
            answer._call_back()
