"""The caretaker: one thread of a server that works off what commits have left to be done.

It does so for all workspaces. Any number of servers may share a database: a duty that one has
claimed is given to no other for a while. What cannot be done is put off, for longer each time.
"""

from __future__ import annotations

import threading

from sandbar.errors import Problem
from sandbar.faults import log_fault
from sandbar.model import Workspace
from sandbar.patience import Patience, limited
from sandbar.store import Duty, Store

LOOK_EVERY_S = 5.0


class Caretaker:
    """Works off what is owed, on a thread of its own once it is started."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._patience = Patience(None)
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_ailing = False

    def start(self) -> None:
        """Look at once, and every few seconds from now on."""
        self._thread = threading.Thread(target=self._work, name="sandbar-duties", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop soon: what is being done is broken off, and stays owed."""
        self._patience.cancel()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def is_well(self) -> bool:
        """Whether duties are being looked for."""
        is_alive = self._thread is not None and self._thread.is_alive()
        return is_alive and not self._is_ailing

    def work_off(self) -> None:
        """Do all that is due."""
        while (duty := self._store.owed.claim()) is not None:
            self._do(duty)
            self._patience.check()

    def _do(self, duty: Duty) -> None:
        if duty.is_scrub:
            self._store.scrub()  # which notes by itself what came of it
            return
        try:
            Workspace.ready(self._store, duty.ws)
        except Exception as error:  # noqa: BLE001 - one workspace's defect keeps no other from its turn
            self._patience.check()
            if not isinstance(error, Problem) or error.code != "store.no-workspace":
                log_fault("owed.failed", error)
                self._store.owed.postpone(duty)

    def _work(self) -> None:
        with limited(self._patience):
            while not self._patience.is_cancelled():
                try:
                    self.work_off()
                    self._is_ailing = False
                except Problem as problem:
                    if problem.code == "store.closed" or self._patience.is_cancelled():
                        return
                    if not self._is_ailing:
                        log_fault("owed.unknown", problem)
                    self._is_ailing = True
                self._wake.wait(LOOK_EVERY_S)
