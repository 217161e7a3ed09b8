"""A database with a hub, and a listener that can be waited for."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from sandbar.model import Workspace
from sandbar.notify import News, StoreHub
from sandbar.store.api import Store
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore

WAIT_S = 20.0
OFTEN_S = 0.05  # as on SQLite

PROPERTIES: dict[str, dict[str, Any]] = {
    "note/text": {"dt/range": "db.type/string", "dt/indexed?": True},
    "note/number": {"dt/range": "db.type/long"},
}
CLASSES: dict[str, dict[str, Any]] = {
    "note/Note": {"dt/slots": list(PROPERTIES), "dt/subclass-of": ["dt/Ref"]}
}

# Another process: it writes through the library and says when each write was acknowledged.
WRITER = """
import sys, time
import sandbar

address, workspace, count, pause_s = sys.argv[1:]
db = sandbar.open(address, workspace)
sys.stdin.readline()
for n in range(int(count)):
    t = db.create("note/Note", {"note/number": n}).t
    print(t, time.monotonic(), flush=True)
    time.sleep(float(pause_s))
db.close()
"""


class Site:
    """A database, a hub over it, and workspaces of its own."""

    def __init__(self, dialect: str, address: str) -> None:
        self.dialect = dialect
        self.address = address
        kinds: dict[str, Callable[[str], Store]] = {
            "sqlite": SqliteStore,
            "postgres": PostgresStore,
        }
        self.store = kinds[dialect](address)
        self.hub = StoreHub(lambda name: Workspace.open(self.store, name))

    def workspace(self, name: str | None = None) -> tuple[str, Workspace]:
        """A workspace with a class of notes."""
        name = name or f"test-{uuid4()}"
        workspace = Workspace.open(self.store, name)
        workspace.define(PROPERTIES, CLASSES, principal="test")
        return name, workspace

    def look_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let whoever subscribes from now on wait less for what it is not called about."""
        monkeypatch.setattr(vars(self.store)["_watchers"], "_poll_s", OFTEN_S)

    def close(self) -> None:
        """In the order in which a server does it."""
        self.hub.close()
        self.store.close()


class Heard:
    """A listener that remembers, and whom one can wait for."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.news: list[News] = []
        self.at_s: list[float] = []

    def __call__(self, news: News) -> None:
        with self._condition:
            self.news.append(news)
            self.at_s.append(time.monotonic())
            self._condition.notify_all()

    @property
    def ts(self) -> list[int]:
        """The transactions that were told, as they came."""
        return [news.t for news in self.news]

    def wait_for(self, t: int) -> list[News]:
        """All that was told, once it was told of this transaction."""
        with self._condition:
            is_there = self._condition.wait_for(
                lambda: bool(self.news) and self.news[-1].t >= t, WAIT_S
            )
            assert is_there, f"nobody told of t={t}, but of {self.ts[-5:]}"
            return list(self.news)


def write_note(workspace: Workspace, **slots: Any) -> int:
    """Make a note; returns the t of its transaction."""
    given = {f"note/{name}": value for name, value in slots.items()}
    operation = {"op": "create", "class": "note/Note", "slots": given}
    return workspace.transact([operation], principal="test").t


def other_process(address: str, name: str, count: int, pause_s: float = 0) -> subprocess.Popen[str]:
    """Another process that is about to write notes: it begins with a line on its input."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, address, name, str(count), str(pause_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(process: subprocess.Popen[str]) -> dict[int, float]:
    """Let the other process write; returns when each t was acknowledged."""
    output, _ = process.communicate("go\n", timeout=WAIT_S * 3)
    assert process.returncode == 0
    lines = [line.split() for line in output.splitlines()]
    return {int(t): float(at_s) for t, at_s in lines}


_strangers: set[threading.Thread] = set()


def note_strangers() -> None:
    """Leave out of account what runs already: servers of other modules, in the same process."""
    _strangers.clear()
    _strangers.update(threading.enumerate())


def threads_left() -> list[str]:
    """The names of our threads that this test began and that still run."""
    ours = [thread for thread in threading.enumerate() if thread not in _strangers]
    return [thread.name for thread in ours if thread.name.startswith("sandbar")]


def assert_no_thread_left() -> None:
    """Whoever is closed takes its threads along."""
    assert threads_left() == []
