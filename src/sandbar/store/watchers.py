"""Who wants to hear of commits: each workspace's watchers, called on whatever thread learns first.

A call says only that something may have been committed; what it was is read from the store. A
watcher marks and returns: it is called on the writer's thread, which has better things to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from sandbar.faults import log_fault

Heard = Callable[[], None]


class Watch:
    """One watcher of one workspace."""

    def __init__(self, watchers: Watchers, ws: int, heard: Heard, poll_s: float) -> None:
        self._watchers = watchers
        self.ws = ws
        self.heard = heard
        self.poll_s = poll_s  # how often to look for what nobody has called about

    def close(self) -> None:
        """Hear no more."""
        self._watchers.remove(self)


class Watchers:
    """The watchers of a store; with the first one `start` runs, with the last one `stop`."""

    def __init__(self, start: Callable[[], None], stop: Callable[[], None], poll_s: float) -> None:
        self._start = start
        self._stop = stop
        self._poll_s = poll_s
        self._lock = threading.Lock()
        self._by_ws: dict[int, tuple[Watch, ...]] = {}  # replaced whole, so read without the lock

    def add(self, ws: int, heard: Heard) -> Watch:
        """Call `heard` after every commit in the workspace from now on."""
        watch = Watch(self, ws, heard, self._poll_s)
        with self._lock:
            is_first = not self._by_ws
            self._by_ws = {**self._by_ws, ws: (*self._by_ws.get(ws, ()), watch)}
            if is_first:
                self._start()
        return watch

    def remove(self, watch: Watch) -> None:
        """Call it no more."""
        with self._lock:
            mine = self._by_ws.get(watch.ws, ())
            if watch not in mine:
                return
            others = {ws: watches for ws, watches in self._by_ws.items() if ws != watch.ws}
            rest = tuple(other for other in mine if other is not watch)
            self._by_ws = {**others, watch.ws: rest} if rest else others
            if not self._by_ws:
                self._stop()

    def clear(self) -> None:
        """Call nobody any more."""
        with self._lock:
            if self._by_ws:
                self._by_ws = {}
                self._stop()

    def tell(self, ws: int) -> None:
        """Something was committed in the workspace."""
        for watch in self._by_ws.get(ws, ()):
            try:
                watch.heard()
            except Exception as error:  # noqa: BLE001 - a commit stands, whatever watchers make of it
                log_fault("watcher.failed", error)

    def tell_all(self) -> None:
        """Something may have been committed anywhere."""
        for ws in self._by_ws:
            self.tell(ws)
