"""The budgets of a workspace: what it uses, what it may use, and what waits for room."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from sandbar.errors import Incorrect, Problem, TooMany
from sandbar.model.writes import Writes
from sandbar.store import (
    LIMIT_NAMES,
    Account,
    Limits,
    Store,
    background_full,
    limits_of,
    over_budget,
)
from sandbar.suggestions import did_you_mean

_WORDS = {"none": 0, "default": None}
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_AMOUNT = re.compile(r"([0-9]{1,15}) ?(|[KMGT]iB)")


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


def read_limits(given: Sequence[str]) -> dict[str, int | None]:
    """Limits as people write them: `entities=10000`, `stored-bytes=2GiB`, `streams=none`.

    None is the usual limit again: `processes=default`.
    """
    return dict(_read_limit(text) for text in given)


def usual_limits(given: Sequence[str]) -> Limits:
    """The limits of workspaces for which no others were set, some of them as people write them."""
    read = {name: limit for name, limit in read_limits(given).items() if limit is not None}
    return limits_of(Limits(), msgspec.json.encode(read).decode())


def _read_limit(text: str) -> tuple[str, int | None]:
    name, _, value = text.strip().removeprefix("limit/").partition("=")
    if name not in LIMIT_NAMES:
        raise Incorrect(
            "limit.unknown",
            f"there is no limit {name[:80]!r}",
            hint=did_you_mean(name, LIMIT_NAMES) or f"there are {', '.join(LIMIT_NAMES)}",
        )
    if value in _WORDS:
        return name, _WORDS[value]
    is_bytes = name.endswith("-bytes")
    match = _AMOUNT.fullmatch(value)
    if match is None or (match[2] and not is_bytes):
        amount = f"{name}=2GiB" if is_bytes else f"{name}=50000"
        raise Incorrect(
            "limit.malformed",
            f"{value[:80]!r} is no amount for {name}",
            hint=f"such as {amount}, {name}=none or {name}=default",
        )
    limit = int(match[1]) * _UNITS[match[2]]
    if not limit:
        raise Incorrect(
            "limit.malformed",
            f"a limit is 1 or more, so {name} cannot be {value!r}",
            hint=f"{name}=none for no limit, {name}=1 for the smallest, {name}=default for the"
            " usual one",
        )
    return name, limit


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
    "read_limits",
    "usual_limits",
]
