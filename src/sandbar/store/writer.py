"""The group-commit writer: queues per workspace, served in turn by a few threads.

Whoever writes queues a closure and waits for its future; a worker takes all that is queued for a
workspace (up to a limit) and runs it as one batch. A workspace is never served by two workers at
once. On an unexpected error the batch fails with a typed error and the worker goes on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sandbar import clock
from sandbar.errors import Fault, TooMany, Unavailable
from sandbar.faults import log_fault
from sandbar.store.batch import Item, WriteSession, run_batch
from sandbar.store.plan import Transaction

BATCH_ITEMS_MAX = 256
QUEUED_ITEMS_MAX = 20_000
_BATCHES_BEFORE_PAUSE = 10
_PAUSE_S = 0.002
_GATHER_S_MAX = 0.002
_SILENCE_S = 0.0003  # whoever has not come by then does something else
_RETURN_S = 0.00002  # how long each of many takes to return, one after the other


class _Thread(threading.local):
    is_writer = False  # as the class's, since a lookup that fails takes 1 µs


class _Inside(threading.local):
    tx: Transaction | None = None  # likewise


_thread = _Thread()


def is_writer() -> bool:
    """Whether this is a thread that writes, of whatever store."""
    return _thread.is_writer


def refuse_on_writer() -> None:
    """Whoever waits for a lock of the database must not be the one who holds it."""
    if _thread.is_writer:
        # Also of another store: it may be the same database, whose lock we hold.
        raise Fault(
            "writer.reentrant",
            "a write was started from inside the writer, outside the open transaction",
            hint="use the transaction that the handler was given",
        )


class Connector(Protocol):
    """What a worker needs of its store."""

    def begin(self, ws: int) -> WriteSession:
        """Open a database transaction and take the workspace's lock."""

    def reset(self) -> None:
        """Throw the connection away; the next `begin` makes a new one."""

    def close(self) -> None:
        """Let go of the connection."""


class Writer:
    """Threads that turn queued closures into durable batches."""

    def __init__(
        self,
        connect: Callable[[], Connector],
        *,
        workers: int,
        yields: bool,
        committed: Callable[[int, int], None] = lambda ws, t: None,
    ) -> None:
        """`committed` is told which workspace got transactions, up to which t; never raises."""
        self._committed = committed
        self._condition = threading.Condition()
        self._queues: dict[int, deque[Item]] = {}
        self._ready: deque[int] = deque()
        self._busy: set[int] = set()
        self._last_size: dict[int, int] = {}
        self._gathering: dict[int, tuple[int, threading.Event]] = {}
        self._idle = 0  # workers that wait for work
        self._closing = False
        self._yields = yields
        self._inside = _Inside()
        self._threads = [
            threading.Thread(
                target=self._work, args=(connect,), name=f"sandbar-writer-{n}", daemon=True
            )
            for n in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, ws: int, item: Item) -> None:
        """Queue an item; its future resolves after the commit."""
        refuse_on_writer()
        with self._condition:
            if self._closing:
                raise Unavailable(
                    "store.closed", "this database has been closed", hint="open it again"
                )
            queue = self._queues.get(ws)
            if queue is None:
                queue = self._queues[ws] = deque()
            if len(queue) >= QUEUED_ITEMS_MAX:
                raise TooMany("store.queue-full", "too many writes are waiting", hint="slow down")
            queue.append(item)
            if ws not in self._busy and len(queue) == 1:
                self._ready.append(ws)
                self._condition.notify()
                if len(self._ready) > self._idle:
                    self._stop_gathering()  # this one need not wait for those who may return
            elif ws in self._gathering:
                expected, gathered = self._gathering[ws]
                if item.alone or len(queue) >= expected:
                    gathered.set()

    def is_alive(self) -> bool:
        """Whether all threads are there."""
        return all(thread.is_alive() for thread in self._threads)

    def open_transaction(self) -> Transaction | None:
        """The transaction that the calling thread is inside of."""
        return self._inside.tx

    def close(self) -> None:
        """Drain the queues, then stop."""
        with self._condition:
            self._closing = True
            self._stop_gathering()
            self._condition.notify_all()
        for thread in self._threads:
            thread.join()

    def _enter(self, tx: Transaction | None) -> None:
        self._inside.tx = tx

    def _work(self, connect: Callable[[], Connector]) -> None:
        _thread.is_writer = True
        connector = connect()
        batches = 0
        while (taken := self._take()) is not None:
            ws, items = taken
            self._run(connector, ws, items)
            batches = batches + 1 if self._is_behind(ws) else 0
            self._gather(ws)
            self._release(ws)
            if self._yields and batches >= _BATCHES_BEFORE_PAUSE:
                # SQLite has no queue for its lock: without a pause other processes starve.
                clock.pause_s(_PAUSE_S)
                batches = 0
        connector.close()

    def _run(self, connector: Connector, ws: int, items: list[Item]) -> None:
        is_first = True

        def committed(t: int) -> None:
            nonlocal is_first
            if is_first:  # of those who run alone the others need not wait
                self._expect(ws, len(items))
                is_first = False
            self._committed(ws, t)

        try:
            run_batch(lambda: connector.begin(ws), items, self._enter, committed)
        except BaseException as error:  # noqa: BLE001 - the writer outlives any defect in a batch
            fault_id = log_fault("writer.batch-failed", error)
            connector.reset()
            for item in items:
                item.error = Fault("writer.failed", "the write failed", data={"id": fault_id})
                item.answer()

    def _take(self) -> tuple[int, list[Item]] | None:
        """Wait for work: a workspace and the items of its next batch; None when closing."""
        with self._condition:
            while not self._ready:
                if self._closing:
                    return None
                self._idle += 1
                self._condition.wait()
                self._idle -= 1
            ws = self._ready.popleft()
            self._busy.add(ws)
        self._gather(ws)
        with self._condition:
            queue = self._queues[ws]
            items = [queue.popleft()]
            if not items[0].alone:
                while queue and len(items) < BATCH_ITEMS_MAX and not queue[0].alone:
                    items.append(queue.popleft())
            self._last_size[ws] = len(items)
            return ws, items

    def _expect(self, ws: int, answered: int) -> None:
        """Note who may take part in the next batch, before anybody can have come back."""
        with self._condition:
            self._last_size[ws] = answered + len(self._queues[ws])

    def _is_behind(self, ws: int) -> bool:
        """Whether there is more work than this batch was."""
        with self._condition:
            return bool(self._queues[ws] or self._ready)

    def _gather(self, ws: int) -> None:
        """Let those who were answered together come back together, before anybody is served.

        Without this the first of many threads to return gets a batch of its own, while the
        others fight the writer for the interpreter: a third of the throughput. A writer that
        waits before the first returns is not woken by it; one who returns late is waited with.
        """
        with self._condition:
            expected = min(self._last_size.get(ws, 1), BATCH_ITEMS_MAX)
            queue = self._queues[ws]
            is_alone = bool(queue) and queue[0].alone
            if expected <= 1 or len(queue) >= expected or is_alone or self._ready or self._closing:
                return
            gathered = threading.Event()
            self._gathering[ws] = (expected, gathered)
        deadline_s, come = clock.monotonic_s() + _GATHER_S_MAX, -1
        is_over = gathered.wait(min(expected * _RETURN_S, _GATHER_S_MAX))
        while not is_over and come < len(queue) and clock.monotonic_s() < deadline_s:
            come = len(queue)
            is_over = gathered.wait(_SILENCE_S)
        with self._condition:
            del self._gathering[ws]
            if queue:
                self._last_size[ws] = len(queue)  # nobody else is waited for

    def _stop_gathering(self) -> None:
        for _, gathered in self._gathering.values():
            gathered.set()

    def _release(self, ws: int) -> None:
        """Give the workspace back to the queue."""
        with self._condition:
            self._busy.discard(ws)
            if self._queues[ws]:
                self._ready.append(ws)
                self._condition.notify()
            else:
                del self._queues[ws]
