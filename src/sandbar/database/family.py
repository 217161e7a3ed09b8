"""What the workspaces of one open store share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from sandbar.access import Caller
from sandbar.audit import Journal
from sandbar.database.duties import Caretaker
from sandbar.database.neighbours import Neighbourhood
from sandbar.errors import NotFound, Problem, Unavailable
from sandbar.model import JobQueue, Workspace
from sandbar.notify import StoreHub
from sandbar.store import Store
from sandbar.workflow import Worker, Workflows

M = TypeVar("M")

_OWN_THREADS = "sandbar-"  # how the names of all of them begin


class Family(Generic[M]):
    """What the workspaces of one open store share."""

    def __init__(self, store: Store, name: str, workspace: Workspace) -> None:
        self._store = store
        self._home = (name, workspace.number)
        self._bounds = workspace.bounds  # the same for all
        self._workspaces = {name: workspace}
        self._hub: StoreHub | None = None
        self._worker: Worker | None = None
        self._caretaker: Caretaker | None = None
        self._is_closed = False
        self._closing = threading.RLock()
        self.lock = threading.RLock()
        self.members: dict[str, M] = {}
        self.journal = Journal(store)
        self.count_streams: Callable[[str], int] = lambda workspace: 0  # that are open here
        self.projects: Path | None = None  # where callers from outside may export to
        self.neighbours = Neighbourhood(store, self.workspace, self.look_again)

    def workspace(self, name: str) -> Workspace:
        """A workspace by name; it must exist, since nobody can have signed in to another."""
        with self.lock:
            if name not in self._workspaces:
                if self._store.workspace(name) is None:
                    raise NotFound(
                        "workspace.unknown",
                        f"there is no workspace {name}",
                        hint="sandbar workspace create NAME makes one",
                    )
                self._workspaces[name] = Workspace.open(self._store, name, bounds=self._bounds)
            return self._workspaces[name]

    def look_again(self, name: str) -> None:
        """Let go of a workspace that was deleted meanwhile, or is another of the same name now."""
        with self.lock:
            known = self._workspaces.get(name)
            if known is not None and self._store.workspace(name) != known.number:
                del self._workspaces[name]
                self.members.pop(name, None)

    def hub(self) -> StoreHub:
        """The hub, made when somebody first wants to listen."""
        with self.lock:
            self._require_open()
            if self._hub is None:
                self._hub = StoreHub(self.workspace)
            return self._hub

    def start_worker(self, jobs: JobQueue, workflows_of: Callable[[str], Workflows]) -> None:
        """Begin to look after processes and duties; once is enough for all workspaces."""
        with self.lock:
            self._require_open()
            if self._worker is None:
                self._worker = Worker(jobs, workflows_of)
                self._worker.start()
                self._caretaker = Caretaker(self._store)
                self._caretaker.start()

    def wake_worker(self) -> None:
        """A process may have something to do; if nobody works here, somebody else will see it."""
        if self._worker is not None:
            self._worker.wake()

    def take_token(self, ws: int, caller: Caller) -> float:
        """How many seconds the caller has to wait; 0.0: it has taken a token from its bucket."""
        limit = caller.limit
        if limit is None:
            return 0.0
        interval_us = round(60_000_000 / limit.per_minute)
        return self._store.buckets.take(ws, limit.bucket_id, interval_us, limit.burst) / 1e6

    def ailments(self) -> dict[str, str | None]:
        """By part, what ails it, None if nothing does: a word of ours, and nothing that is secret.

        Takes one look at the database, and now and then tries to write; it may be waited for.
        """
        is_told = self._hub is None or self._hub.is_well()
        is_driven = self._worker is None or self._worker.is_well()
        is_tended = self._caretaker is None or self._caretaker.is_well()
        return {
            "database": self._why_not_at_home(),
            "writer": None if self._store.has_writers() else "dead",
            **self.journal.ailments(self._home[1]),
            "workflows": None if is_driven else "failing",
            "duties": None if is_tended else "failing",
            "news": None if is_told else "failing",
        }

    def _why_not_at_home(self) -> str | None:
        """Whether the workspace that all began with can be read, and is still there."""
        name, number = self._home
        try:
            return None if self._store.workspace(name) == number else "workspace.unknown"
        except Problem as problem:
            return problem.code

    def close(self) -> None:
        """Stop working and telling anybody, then close the store.

        Whoever comes second waits for the first, unless it is one whom the first waits for.
        """
        is_ours = threading.current_thread().name.startswith(_OWN_THREADS)
        with self.lock:
            is_second, self._is_closed = self._is_closed, True
            worker, hub = self._worker, self._hub  # whoever they wait for may want the lock
            caretaker = self._caretaker
        if is_second and is_ours:
            return
        with self._closing:
            if caretaker is not None:
                caretaker.stop()
            if worker is not None:
                worker.stop()
            if hub is not None:
                hub.close()
            self.journal.close()
            self._store.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise Unavailable("store.closed", "this database has been closed", hint="open it again")
