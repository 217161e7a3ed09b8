"""Waiting for a task: a stream of one, which hears of commits and tells nobody."""

from __future__ import annotations

from sandbar.access import Caller
from sandbar.edge.streams import Stream

_TASK = "task"


class TaskStream(Stream):
    """Stirred whenever one process changes."""

    def __init__(self, caller: Caller, process_id: int) -> None:
        super().__init__(caller, frozenset())
        self.watch(_TASK, (process_id, None))
