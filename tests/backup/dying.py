"""A process that dies in the middle of a backup or a restore.

It is forked from one that has loaded everything: to load it takes longer than to be killed.
"""

from __future__ import annotations

import os
import signal
from unittest.mock import patch

import sandbar.database.backup as steps
from sandbar.database import backup_database, restore_database
from sandbar.store.sqlite import archive
from tests.forked import CONTEXT

_S_MAX = 60


def ended_by_kill(what: str, first: object, second: object, phase: str, times: int) -> bool:
    """Whether a process came so far, and died of it; else it has ended in order."""
    process = CONTEXT.Process(target=_work, args=(what, str(first), str(second), phase, times))
    process.start()
    process.join(_S_MAX)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _work(what: str, first: str, second: str, phase: str, times: int) -> None:
    """Dies when it has been told so often how far it is with something."""
    left = times

    def progress(now: str, done: int, total: int) -> None:
        nonlocal left
        if now == phase:
            left -= 1
            if left == 0:
                _die()

    if phase == "placing":
        patch.object(archive, "put_in_place", _die).start()
    if phase == "searching":
        patch.object(steps, "_make_searchable", _die).start()
    if what == "backup":
        backup_database(first, second, progress, force=True)
    else:
        restore_database(first, second, progress)
