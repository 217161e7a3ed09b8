"""Jobs: what an entity has to have done by itself, from a moment on.

A job is scheduled by a transaction, with whatever else that changes. Whoever does it holds it for
a while, under a token; a transaction that requires the token is refused once the job is another's,
or was scheduled anew. Times are microseconds since 1970.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sandbar.errors import Conflict

_S = 1_000_000
_TOKEN_BITS = 63

PUT_OFF_MAX_S = 60.0  # a job that waits for a budget is looked at again after this at the latest


class Claim(NamedTuple):
    """A job that somebody holds, under a token that nobody else has."""

    ws: int
    workspace_name: str
    id: int
    token: int
    due_us: int
    is_taken_over: bool = False  # from somebody else, whose lease has run out without a word


class JobQueue(Protocol):
    """The jobs of all workspaces, as those see them who do them."""

    def is_due(self) -> bool:
        """Whether there is a job to claim: a cheap look."""

    def claim(
        self, owner: str, limit: int, lease_s: float, spared: Sequence[int] | None = ()
    ) -> list[Claim]:
        """Hold some of the jobs that are due, oldest first, for so long and under new tokens.

        Of workspaces that are `spared` (None: of all) only such as were due from a moment on, and
        not at once: timers, and what was put off.
        """

    def renew(self, ws: int, id: int, token: int, lease_s: float) -> bool:
        """Hold a job for so long from now on; False if it is lost."""

    def release(self, ws: int, id: int, token: int, delay_s: float = 0.0) -> None:
        """Let others have it, after a while; whoever has lost it has nothing to give."""

    def put_off(self, ws: int, id: int, token: int, least_s: float, *, with_all_due: bool) -> None:
        """Let it wait for a budget: for so long at least, and longer the longer it has waited.

        And with it, perhaps, all of its workspace that are due and free: else each of thousands
        would be claimed to find out the same.
        """

    def note_over_budget(self, ws: int, id: int, token: int, *, is_over: bool) -> None:
        """Say of a job that is held whether it waits for a budget."""

    def over_budget(self, ws: int, ids: Sequence[int]) -> dict[int, int]:
        """Which of these wait for a budget, and since when."""

    def all_over_budget(self, ws: int) -> tuple[int, int | None]:
        """How many of a workspace wait for a budget, and since when the first of them does."""

    def try_over_budget(self, ws: int) -> None:
        """Have those be due that wait for a budget: there may be room now."""

    def next_due_s(self) -> float | None:
        """How long until there is a job to claim; one that is held counts from its lease's end."""


def new_token() -> int:
    """A positive number that was not drawn before, nor will be."""
    return secrets.randbits(_TOKEN_BITS) or 1


def microseconds(seconds: float) -> int:
    """A duration as the database takes it."""
    return round(seconds * _S)


def seconds(microseconds: int) -> float:
    """A duration as callers take it."""
    return microseconds / _S


def job_lost(id: int) -> Conflict:
    """What to raise for whoever no longer holds a job."""
    return Conflict(
        "job.lost",
        f"the job of {id} has been taken over, done or scheduled anew",
        hint="stop working on it; whoever holds it now goes on",
        data={"id": id},
    )
