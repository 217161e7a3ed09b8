"""Task handles: the number of a process, and a digest that only its owner was given.

A handle works in the workspace that made it and for the principal it was made for; whoever
guesses one finds nothing. A process that is retried after its end goes on under a new handle,
because to whoever holds the old one the task has ended.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import NamedTuple

from sandbar.errors import NotFound
from sandbar.model import Workspace

_SHAPE = re.compile(r"([1-9][0-9]{0,14})(?:\.([1-9][0-9]{0,8}))?-([0-9a-f]{32})")
_CHARACTERS = 32


class Opened(NamedTuple):
    """What a handle stands for."""

    process_id: int
    run: int


class Handles:
    """The handles of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._key: bytes | None = None  # drawn once for good, so it may be kept

    def of(self, process_id: int, run: int, principal: str) -> str:
        """The handle of a process for the one who started it."""
        number = str(process_id) if run == 1 else f"{process_id}.{run}"
        return f"{number}-{self._digest(process_id, run, principal)}"

    def parsed(self, handle: object) -> Opened | None:
        """What a handle would stand for, if it is right."""
        found = _SHAPE.fullmatch(handle) if isinstance(handle, str) else None
        return None if found is None else Opened(int(found[1]), int(found[2] or 1))

    def is_right(self, handle: str, opened: Opened, principal: str) -> bool:
        """Whether the handle was made for this principal."""
        digest = self._digest(opened.process_id, opened.run, principal)
        return hmac.compare_digest(handle[-_CHARACTERS:], digest)

    def _digest(self, process_id: int, run: int, principal: str) -> str:
        if self._key is None:
            self._key = self._workspace.credentials.shared_key()
        said = f"task\0{process_id}\0{run}\0{principal}".encode()
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()[:_CHARACTERS]


def unknown_task(handle: object) -> NotFound:
    """There is no such task, or it is somebody else's."""
    return NotFound(
        "task.unknown",
        f"Task not found: {str(handle)[:100]}",
        hint="task.list lists your tasks",
        data={"received-task-id": str(handle)[:100]},
    )
