"""Rows that need not be written this instant, but soon: together, by a thread of their own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from sandbar.errors import Fault, Problem, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Answer, Note

ROWS_MAX = 256  # of one append
QUEUED_ROWS_MAX = 20_000


class Settler:
    """A queue of notes, and a thread that exists once somebody has used it."""

    def __init__(self, settle: Callable[[Sequence[Note]], None]) -> None:
        """`settle` commits the rows of some notes, or raises a Problem."""
        self._settle = settle
        self._condition = threading.Condition()
        self._queue: deque[tuple[Note, Answer[None]]] = deque()
        self._thread: threading.Thread | None = None
        self._is_closing = False

    def add(self, note: Note) -> Answer[None]:
        """Have its row written soon; the answer is there once it is committed."""
        answer: Answer[None] = Answer()
        answer.begin()  # a row is never taken back: what it tells of has happened
        with self._condition:
            if self._is_closing:
                raise Unavailable(
                    "store.closed", "this database has been closed", hint="open it again"
                )
            if len(self._queue) >= QUEUED_ROWS_MAX:
                raise Unavailable("audit.unavailable", "too many rows wait to be written")
            self._queue.append((note, answer))
            if not self._is_at_work():
                self._thread = threading.Thread(
                    target=self._work, name="sandbar-settler", daemon=True
                )
                self._thread.start()
            self._condition.notify()
        return answer

    def is_well(self) -> bool:
        """Whether somebody is there to write what waits."""
        with self._condition:
            return not self._queue or self._is_at_work()

    def _is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def close(self) -> None:
        """Write what waits, then stop."""
        with self._condition:
            self._is_closing = True
            self._condition.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while taken := self._take():
            error: Problem | None = None
            try:
                self._settle([note for note, _ in taken])
            except Problem as problem:
                error = problem
            except BaseException as defect:  # noqa: BLE001 - the thread outlives it; the calls fail
                fault_id = log_fault("audit.settling-failed", defect)
                error = Fault("audit.failed", "the audit row failed", data={"id": fault_id})
            for _, answer in taken:
                answer.resolve(None, error)

    def _take(self) -> list[tuple[Note, Answer[None]]]:
        """Wait for notes; none when closing."""
        with self._condition:
            while not self._queue and not self._is_closing:
                self._condition.wait()
            return [self._queue.popleft() for _ in range(min(len(self._queue), ROWS_MAX))]
