"""Notice of commits between processes: NOTIFY after the commit, LISTEN while somebody watches.

It is given on a connection of its own, because NOTIFY inside the transaction would make all
commits of the server wait for each other. Notices may be lost, with a connection or a process:
they only spare waiting, and whoever must know also looks.
"""

from __future__ import annotations

import re
import select
import socket
import threading
from contextlib import closing

from sandbar.errors import Problem
from sandbar.faults import log_fault
from sandbar.store.postgres.arrays import Texts
from sandbar.store.postgres.connection import Connection, open_messenger, translated
from sandbar.store.postgres.reads import QUERIES
from sandbar.store.watchers import Watchers

POLL_S = 1.0  # for the notices that were lost
_SILENCE_S = 0.01  # at most one statement in this time, however many commits
_RECONNECT_S = 0.25

_NUMBER = re.compile("[0-9]{1,19}")


class Crier:
    """Tells other processes of this one's commits; its thread starts with the first."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._condition = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None
        self._untold: dict[int, int] = {}  # workspace to its last t

    def cry(self, ws: int, t: int) -> None:
        """Have it said soon; the caller, who is the writer, pays for a mark."""
        with self._condition:
            self._untold[ws] = t
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._work, name="sandbar-crier", daemon=True
                )
                self._thread.start()
            self._condition.notify()

    def close(self) -> None:
        """Say what is left to be said, then stop."""
        self._closing.set()
        with self._condition:
            self._condition.notify()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while untold := self._next():
            pause_s = _SILENCE_S if self._say(untold) else _RECONNECT_S
            self._closing.wait(pause_s)
        self._hang_up()

    def _next(self) -> dict[int, int]:
        with self._condition:
            while not self._untold and not self._closing.is_set():
                self._condition.wait()
            untold, self._untold = self._untold, {}
        return untold

    def _say(self, untold: dict[int, int]) -> bool:
        """Whether it was said; if not, it is tried again, unless all is over."""
        try:
            if self._connection is None:
                self._connection = open_messenger(self._url)
            with translated():
                notices = Texts(f"{ws}:{t}" for ws, t in untold.items())
                self._connection.execute(QUERIES.notify, (notices,))
        except Problem as problem:
            log_fault("store.notify-failed", problem)
            self._hang_up()
            with self._condition:
                if not self._closing.is_set():
                    self._untold = untold | self._untold
            return False
        return True

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Ear:
    """Hears other processes' commits on a connection of its own, for as long as it is open."""

    def __init__(self, url: str, watchers: Watchers) -> None:
        self._url = url
        self._watchers = watchers
        self._end, self._ending = socket.socketpair()
        self._is_deaf = False
        self._thread = threading.Thread(target=self._work, name="sandbar-ear", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._end.close()
        self._thread.join()

    def _work(self) -> None:
        with closing(self._ending):
            pause_s = 0.0
            while not self._ends_within(pause_s):
                try:
                    with closing(open_messenger(self._url)) as connection, translated():
                        self._listen(connection)
                except Problem as problem:
                    if not self._is_deaf:  # once: a server may be away for long
                        log_fault("store.listen-failed", problem)
                    self._is_deaf = True
                pause_s = _RECONNECT_S

    def _listen(self, connection: Connection) -> None:
        ending = self._ending.fileno()
        connection.execute(QUERIES.listen)
        self._is_deaf = False
        self._watchers.tell_all()  # nobody knows what was said before
        while True:
            readable, _, _ = select.select([connection.fileno(), ending], [], [])
            if ending in readable:
                return
            for notice in connection.notifies(timeout=0):
                ws = notice.payload.partition(":")[0]
                if _NUMBER.fullmatch(ws):  # whoever may connect may say anything
                    self._watchers.tell(int(ws))

    def _ends_within(self, seconds: float) -> bool:
        return bool(select.select([self._ending], [], [], seconds)[0])
