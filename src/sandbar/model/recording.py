"""Noting how the database answers, for `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.store.api import Snapshot
from sandbar.store.rows import Row


class Recorder:
    """A source that notes the plan of every scan it passes on."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.plans: list[str] = []

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        return self._snapshot.entities(ids, as_of)

    def scan(self, scan: Any) -> Any:
        """One page of an index walk."""
        self.plans.append(self._snapshot.explain(scan))
        return self._snapshot.scan(scan)
