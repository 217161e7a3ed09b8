"""Noting how the database answers, for `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.model.naming import Names
from sandbar.model.queries import Question, View, answer
from sandbar.model.schema import Schema
from sandbar.store import Key, Row, Snapshot


def plans_of(snapshot: Snapshot, schema: Schema, question: Question) -> str:
    """The database's own plans for a query, each once."""
    recorder = Recorder(snapshot)
    view = View(recorder, schema, snapshot.state.t, 0, None)
    answer(view, question, None, Names(snapshot, schema, None))
    return "\n".join(dict.fromkeys(recorder.plans))


class Recorder:
    """A source that notes the plan of every scan it passes on."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.plans: list[str] = []

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities."""
        return self._snapshot.entities(ids, as_of)

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it."""
        return self._snapshot.holders(property, keys, limit, as_of)

    def scan(self, scan: Any) -> Any:
        """One page of an index walk."""
        self.plans.append(self._snapshot.explain(scan))
        return self._snapshot.scan(scan)
