"""The life of a watch: woken by files and by commits, looking anyway every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from watchfiles import watch

from sandbar.clock import monotonic_s
from sandbar.errors import Interrupted, Unavailable
from sandbar.projects.sync.engine import Sync

_WAKE_S = 0.2  # how often the workspace is asked for news
_SOON_S = 0.05  # when to look again at what was being written
_RESCAN_S = 10.0  # events get lost: by then every file has been looked at
_RESCAN_BLIND_S = 1.0  # the same, where there are no events
_RETRY_S = 5.0
_ONCE_S_MAX = 60.0


class Watcher:
    """Keeps a folder and a workspace in step until it is told to stop."""

    def __init__(self, sync: Sync, trouble: Callable[[str], None]) -> None:
        self._sync = sync
        self._trouble = trouble
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._touched: set[str] = set()
        self._is_all_touched = False
        self._is_blind = False

    def stop(self) -> None:
        """End soon: what is under way is finished."""
        self._stop.set()
        self._wake.set()

    def run_once(self) -> None:
        """Bring both sides in step, and end."""
        self._sync.round()
        until = monotonic_s() + _ONCE_S_MAX
        while self._sync.is_waiting and monotonic_s() < until and not self._stop.is_set():
            self._stop.wait(_SOON_S)
            self._sync.round()

    def run(self) -> None:
        """Bring both sides in step, and keep them so."""
        thread = threading.Thread(target=self._listen, name="watch-files", daemon=True)
        thread.start()
        try:
            self._run()
        finally:
            self.stop()
            thread.join(timeout=2.0)

    def _run(self) -> None:
        next_scan = 0.0
        while not self._stop.is_set():
            now = monotonic_s()
            touched = self._taken()
            if now >= next_scan:
                touched = None
                next_scan = now + (_RESCAN_BLIND_S if self._is_blind else _RESCAN_S)
            try:
                self._sync.round(touched)
            except (Unavailable, Interrupted) as problem:
                # A database that is away for a moment comes back; nothing was lost meanwhile.
                self._trouble(f"{problem.message}; trying again")
                self._stop.wait(_RETRY_S)
                next_scan = 0.0
                continue
            self._wake.wait(_SOON_S if self._sync.is_waiting else _WAKE_S)
            self._wake.clear()

    def _taken(self) -> set[str] | None:
        """The files that something has happened to since; None if it may be any."""
        with self._lock:
            touched, self._touched = self._touched, set()
            is_all, self._is_all_touched = self._is_all_touched, False
        return None if is_all else touched

    def _listen(self) -> None:
        hidden = f"{self._sync.root}/."
        try:
            for changes in watch(
                self._sync.root,
                watch_filter=lambda _, path: not path.startswith(hidden),
                debounce=100,
                step=20,
                stop_event=self._stop,
                rust_timeout=500,
                raise_interrupt=False,
            ):
                self._note(path for _, path in changes)
        except (OSError, RuntimeError) as error:
            self._is_blind = True
            self._trouble(f"no events of files ({error}); looking at all of them every second")

    def _note(self, paths: Iterable[str]) -> None:
        with self._lock:
            for path in paths:
                inside = self._sync.relative(path)
                if inside is None:
                    self._is_all_touched = True  # a folder, perhaps
                else:
                    self._touched.add(inside)
        self._wake.set()
