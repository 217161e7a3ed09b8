"""The hub: one thread that follows every workspace somebody listens to, and tells them.

    hub = StoreHub(open_workspace)  # Callable[[str], Workspace]: from a name to its workspace
    subscription = hub.subscribe("main", listener)
    ...
    hub.close()  # before the store is closed

The store calls back when it hears of a commit, which only marks the workspace. The thread then
reads what was committed and tells it, in order of t. Nothing is queued: the transactions
themselves are the queue, so a slow listener costs time and no memory. The thread exists only while
somebody listens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from sandbar import clock
from sandbar.errors import Interrupted, NotFound, Unavailable
from sandbar.faults import log_fault
from sandbar.model import Workspace
from sandbar.notify.followed import Followed, Told
from sandbar.notify.news import Listener, Subscription

_SETTLE_S = 0.002  # commits that follow each other at once are read together


class StoreHub:
    """Listeners in any number of workspaces."""

    def __init__(self, open_workspace: Callable[[str], Workspace]) -> None:
        self._open_workspace = open_workspace
        self._lock = threading.Lock()
        self._followed: dict[str, Followed] = {}
        self._ailing: dict[str, bool] = {}  # what cannot be followed now, and whether by a defect
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._is_closed = False

    def subscribe(self, workspace: str, listener: Listener) -> Subscription:
        """Be told of every commit in a workspace from now on, whoever made it."""
        fresh = Followed(workspace, self._open_workspace(workspace), self._stir)
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                followed = self._followed.setdefault(workspace, fresh)
                told = Told(listener, fresh.told, partial(self._leave, followed))
                followed.listeners += (told,)
                self._keep_running()
        if is_closed or followed is not fresh:
            fresh.close()
        if is_closed:
            raise Unavailable("notify.closed", "the hub has been closed", hint="open it again")
        return told

    def is_well(self) -> bool:
        """Whether everybody who listens is being told; for checks of the server's health."""
        with self._lock:
            is_running = self._thread is not None and self._thread.is_alive()
            return (is_running or not self._followed) and not self._ailing

    def close(self) -> None:
        """Stop telling anybody."""
        with self._lock:
            self._is_closed = True
            followed, self._followed = self._followed, {}
            thread = self._thread
        self._wake.set()
        for one in followed.values():
            one.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _leave(self, followed: Followed, told: Told) -> None:
        with self._lock:
            followed.listeners = tuple(one for one in followed.listeners if one is not told)
            is_last = not followed.listeners and self._followed.get(followed.name) is followed
            if is_last:
                self._forget(followed)
        if is_last:
            followed.close()

    def _forget(self, followed: Followed) -> None:
        del self._followed[followed.name]
        self._ailing.pop(followed.name, None)
        self._wake.set()

    def _stir(self) -> None:
        if not self._wake.is_set():  # the writer's thread pays for a look
            self._wake.set()

    # --- the thread --------------------------------------------------------------------------

    def _keep_running(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="sandbar-hub", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        next_poll_s = 0.0
        while followed := self._all_followed():
            now_s = clock.monotonic_s()
            is_poll = now_s >= next_poll_s
            if is_poll:
                next_poll_s = now_s + min(one.poll_s for one in followed)
            for one in followed:
                if is_poll or one.is_stirred:
                    one.is_stirred = False
                    self._look(one)
            self._wake.wait(max(next_poll_s - clock.monotonic_s(), 0))
            self._wake.clear()
            clock.pause_s(_SETTLE_S)

    def _all_followed(self) -> tuple[Followed, ...]:
        """What there is to follow; nothing means that the thread is no longer needed."""
        with self._lock:
            if not self._followed:
                self._thread = None
            return tuple(self._followed.values())

    def _look(self, followed: Followed) -> None:
        """Tell what is new; whatever goes wrong is logged once and tried again at the next look."""
        try:
            if self._ailing.get(followed.name):
                followed.skip()
            elif followed.advance():
                followed.stir()
            self._ailing.pop(followed.name, None)
        except NotFound as problem:
            if problem.code == "store.no-workspace":  # somebody has deleted it
                followed.bury()
                self._drop(followed)
                followed.close()
            else:
                self._note(followed, problem, is_defect=True)
        except (Unavailable, Interrupted) as problem:
            if problem.code == "store.closed":
                self._drop(followed)
            else:
                self._note(followed, problem, is_defect=False)
        except BaseException as error:  # noqa: BLE001 - a silent watcher would look like peace
            self._note(followed, error, is_defect=True)

    def _note(self, followed: Followed, error: BaseException, *, is_defect: bool) -> None:
        if followed.name not in self._ailing:
            log_fault("notify.look-failed", error)
        self._ailing[followed.name] = is_defect or self._ailing.get(followed.name, False)

    def _drop(self, followed: Followed) -> None:
        with self._lock:
            if self._followed.get(followed.name) is followed:
                self._forget(followed)
