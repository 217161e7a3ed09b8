"""Where the model-checked processes live: a database of each kind, and its time."""

from __future__ import annotations

import shutil
import time
from itertools import count
from pathlib import Path

import psycopg
import pytest

import sandbar
from sandbar import clock
from sandbar.store.postgres.install import install
from tests.fault.workflow_checks import Job as Row
from tests.fault.workflow_checks import jobs_of, sqlite_jobs
from tests.workflow.flow import CLASSES, PROPERTIES, spec

WHO = "somebody"


class SqlitePlace:
    """New files, and a clock that stands still unless it is told to go on."""

    timer_s, backoff_s = 60.0, 10.0
    knows_due = True  # what is due can be foretold

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._names = count()
        self._now_us = clock.now_us()
        monkeypatch.setattr(clock, "now_us", self._tick)
        self._template = folder / "template.db"
        with sandbar.open(str(self._template)) as db:
            define(db, self)

    def _tick(self) -> int:
        self._now_us += 1
        return self._now_us

    def begin(self) -> None:
        """A database of its own for what follows."""
        self._path = str(self._folder / f"{next(self._names)}.db")
        shutil.copy(self._template, self._path)

    def open(self) -> sandbar.Database:
        """Open it, once more."""
        return sandbar.open(self._path)

    def jobs(self) -> list[Row]:
        """The table of jobs."""
        return sqlite_jobs(self._path)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self._now_us += round(seconds * 1e6)


class PostgresPlace:
    """New workspaces; the time is the database's, so timers are short and really waited for."""

    timer_s, backoff_s = 0.1, 0.1
    knows_due = False

    def __init__(self, admin: str) -> None:
        self._app = install(admin)
        self._owner = psycopg.connect(admin, autocommit=True)
        self._names = count()

    def begin(self) -> None:
        """A workspace of its own for what follows; what others have left to do is forgotten."""
        self._owner.execute("DELETE FROM sandbar.job")
        self._name = f"flow-{next(self._names)}"
        with self.open() as db:
            define(db, self)

    def open(self) -> sandbar.Database:
        """Open it, once more."""
        return sandbar.open(self._app, self._name)

    def jobs(self) -> list[Row]:
        """The table of jobs."""
        return jobs_of(self._owner)

    def wait(self, seconds: float) -> None:
        """Let time pass, and a little more; no longer than until all that there is is due."""
        latest_us = max((row.due_us for row in self.jobs()), default=0)
        left_s = (latest_us - clock.now_us()) / 1e6
        time.sleep(max(0.0, min(seconds, left_s)) + 0.005)

    def close(self) -> None:
        """Leave the database."""
        self._owner.close()


AnyPlace = SqlitePlace | PostgresPlace


def define(db: sandbar.Database, place: AnyPlace) -> None:
    """The classes and the workflow."""
    db.define(properties=PROPERTIES, classes=CLASSES)
    db.workflows.define(spec(place.timer_s, place.backoff_s), principal=WHO)
