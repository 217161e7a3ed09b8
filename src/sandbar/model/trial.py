"""Trying operations out: everything that a write would find wrong, and nothing written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbar.errors import Problem
from sandbar.findings import data_of, finding_of
from sandbar.model.guarding import Guard
from sandbar.model.operations import Operation, parse_operations
from sandbar.model.perform import perform
from sandbar.model.preflight import Elsewhere
from sandbar.model.schema import Schema
from sandbar.model.secrets import with_hashed_secrets
from sandbar.model.unit import Unit
from sandbar.store import Plan, State, Store, Transaction


def try_out(
    store: Store,
    ws: int,
    state: State,
    schema: Schema,
    operations: Sequence[Any],
    guard: Guard | None,
) -> list[dict[str, Any]]:
    """The findings of a write that does not take place; none if it would be accepted.

    What a changed class means for its existing instances is not looked at.
    """
    base = Elsewhere(store, ws)

    def attempt(ready: list[Operation]) -> None:
        unit = Unit(Transaction(Plan(state), base, alone=True), schema, guard)
        with store.snapshot(ws) as snapshot:
            base.look_ahead(snapshot, schema, ready)
        perform(unit, ready)
        unit.ask_guard()

    try:
        with_hashed_secrets(schema, parse_operations(operations), attempt)
    except Problem as problem:
        found: list[dict[str, Any]] = problem.data.get("findings") or data_of([finding_of(problem)])
        return found
    return []
