"""The budgets of a workspace: what it uses, what it may use, and what waits for room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from sandbar.errors import Problem, TooMany
from sandbar.model.writes import Writes
from sandbar.store.api import Store
from sandbar.store.usage import (
    LIMIT_NAMES,
    Account,
    Limits,
    background_full,
    over_budget,
)


class Waiting(NamedTuple):
    """How many processes wait for a budget, and since when the first of them does."""

    processes: int
    since_us: int | None


class Budgets:
    """What one workspace uses and may use."""

    def __init__(self, store: Store, ws: int, writes: Writes) -> None:
        self._store = store
        self._ws = ws
        self._writes = writes

    # --- inside `run` ------------------------------------------------------------------------

    def use_reserve(self) -> None:
        """Let this transaction be possible in a full workspace, too: it keeps it safe."""
        self._writes.open_transaction().tally.uses_reserve = True

    def count_transition(self) -> None:
        """A process was moved on, or begun by another."""
        self._writes.open_transaction().tally.transitions += 1

    # --- looking -----------------------------------------------------------------------------

    def account(self) -> Account:
        """What is used, and what may be, at this moment."""
        return self._store.account(self._ws)

    def background_full(self) -> TooMany | None:
        """Why the server may do nothing by itself here now; None: it may."""
        account = self.account()
        return background_full(account.usage, account.limits, account.now_us)

    def waiting(self) -> Waiting:
        """What waits for a budget."""
        return Waiting(*self._store.jobs.all_over_budget(self._ws))

    def waiting_of(self, entity_ids: Sequence[int]) -> dict[int, int]:
        """Which of these entities wait for a budget, and since when."""
        return self._store.jobs.over_budget(self._ws, entity_ids) if entity_ids else {}

    def note_waiting(self, entity_id: int, token: int, *, is_waiting: bool) -> None:
        """Say of an entity whose job is held whether it waits for a budget."""
        self._store.jobs.note_over_budget(self._ws, entity_id, token, is_over=is_waiting)

    # --- setting -----------------------------------------------------------------------------

    def limits_set(self) -> dict[str, int]:
        """The limits that were set for this workspace; the others are the usual ones."""
        return msgspec.json.decode(self.account().limits_set, type=dict[str, int])

    def set_limits(self, changes: Mapping[str, int | None]) -> None:
        """Set limits by name, 0: none at all, None: the usual one again; what waits is tried."""
        limits: dict[str, int | None] = {**self.limits_set(), **changes}
        kept = {name: limit for name, limit in limits.items() if limit is not None}
        self._store.set_limits(self._ws, msgspec.json.encode(kept).decode())
        self._store.jobs.try_over_budget(self._ws)


def is_over_budget(problem: Problem) -> bool:
    """Whether it says that a budget is used up."""
    return isinstance(problem, TooMany) and problem.code.startswith("budget.")


__all__ = [
    "LIMIT_NAMES",
    "Account",
    "Budgets",
    "Limits",
    "Waiting",
    "is_over_budget",
    "over_budget",
]
