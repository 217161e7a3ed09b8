"""Duties: what a commit leaves to be done after it, and when it is tried again.

A row of the table `owed` is written by the transaction that owes the duty, and removed when it is
done. The process may die at any moment in between: the next one to open the database, or to look
after it in the background, finds the row. It does no harm to do a duty twice.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

SCRUB = "scrub"  # overwrite what was erased, wherever it lingers
INDEX = "index"  # make entities searchable that were there before their words were

LEASE_S = 10.0  # for which nobody else is given a duty that one process has claimed
_PAUSE_S_MAX = 3600.0


class Duty(NamedTuple):
    """One duty, and how often it could not be done."""

    ws: int
    workspace_name: str | None  # None: the workspace was dropped, and this is left of it
    duty: str
    since_us: int
    tries: int

    @property
    def is_scrub(self) -> bool:
        """Whether erased bytes are to be overwritten."""
        return self.duty == SCRUB


class Owed(Protocol):
    """The duties of all workspaces of a database."""

    def duties(self) -> list[Duty]:
        """All that is owed, oldest first."""

    def claim(self) -> Duty | None:
        """One that is due, if any is; for a while nobody else is given it."""

    def postpone(self, duty: Duty) -> None:
        """It could not be done: it is due again after a while, which grows with every try."""


def pause_s(tries: int) -> float:
    """How long a duty waits that could not be done so often before."""
    return float(min(2.0 ** min(tries, 20), _PAUSE_S_MAX))
