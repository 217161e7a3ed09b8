"""What both kinds of store share while they are open: the queue of writes, and how it all ends."""

from __future__ import annotations

import atexit
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from sandbar.errors import Unavailable
from sandbar.patience import check as check_patience
from sandbar.patience import current
from sandbar.store.answer import Answer
from sandbar.store.api import NOTHING_WANTED, Wanted
from sandbar.store.batch import Item
from sandbar.store.forks import Home
from sandbar.store.numbering import Numbers, Ride
from sandbar.store.plan import Transaction
from sandbar.store.trail import current_note
from sandbar.store.watchers import Heard, Watch, Watchers
from sandbar.store.writer import Connector, Writer, is_writer

T = TypeVar("T")


class OpenStore(ABC):
    """An open database, until it is closed or the program ends."""

    def __init__(
        self,
        connect: Callable[[], Connector],
        numbers: Numbers,
        *,
        workers: int,
        yields: bool,
        poll_s: float,
    ) -> None:
        """`poll_s` is how often a watcher must look for commits that it is not called about."""
        self._home = Home()
        self._numbers = numbers
        self._closed = False  # and whoever asks is told
        self._is_over = False  # and all is let go of
        self._closing = threading.RLock()
        self._watchers = Watchers(self._start_hearing, self._stop_hearing, poll_s)
        self._writer = Writer(connect, workers=workers, yields=yields, committed=self._committed)
        atexit.register(self.close)

    def submit(
        self,
        ws: int,
        work: Callable[[Transaction], T],
        *,
        wanted: Wanted = NOTHING_WANTED,
        alone: bool = False,
        deadline_s: float | None = None,
    ) -> Answer[T]:
        """Queue a transaction; the future resolves after its commit."""
        self._home.require()
        check_patience()
        note = current_note()
        ride = None if note is None or note.ws != ws else Ride(self._numbers, note)
        item = Item(work, wanted, alone=alone, deadline_s=deadline_s, ride=ride, patience=current())
        self._writer.submit(ws, item)
        return item.future

    def has_writers(self) -> bool:
        """Whether the threads that write are alive; for checks of the server's health."""
        return self._writer.is_alive()

    def open_transaction(self) -> Transaction | None:
        """The transaction that the calling thread is inside of."""
        return self._writer.open_transaction()

    def watch(self, ws: int, heard: Heard) -> Watch:
        """Call `heard` after commits in the workspace, others' included as far as they are heard.

        It is called on the writer's thread: it must only mark what has to be looked at.
        """
        self._require_open()
        return self._watchers.add(ws, heard)

    def close(self) -> None:
        """Finish what is queued, then let go of everything; what a fork copied is left alone.

        Whoever comes second waits for the first, and finishes what it was interrupted at.
        """
        if not self._home.is_here():
            return
        if self._closed and is_writer():
            return  # the first waits for us
        with self._closing:
            if self._is_over:
                return
            self._closed = True
            self._writer.close()
            self._watchers.clear()
            self._let_go()
            self._is_over = True
            atexit.unregister(self.close)

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable("store.closed", "this database has been closed", hint="open it again")
        self._home.require()

    def _committed(self, ws: int, t: int) -> None:
        """This process has committed; runs on the writer's thread."""
        self._watchers.tell(ws)

    @abstractmethod
    def _start_hearing(self) -> None:
        """Somebody watches: hear of other processes' commits from now on, if there is a way."""

    @abstractmethod
    def _stop_hearing(self) -> None:
        """Nobody watches any more."""

    @abstractmethod
    def _let_go(self) -> None:
        """Give up whatever was opened, now that nothing is written any more."""
