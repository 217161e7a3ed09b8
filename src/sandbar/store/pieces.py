"""Small things that a plan is made of."""

from __future__ import annotations

from typing import NamedTuple

from sandbar.store.scan import Key

Pair = tuple[int, Key]  # property and key

# Both stores number entities up to 2^40 - 1: whoever chooses numbers leaves as many free above.
CHOSEN_ID_MAX = (1 << 39) - 1


class PastRow(NamedTuple):
    """A value that held in `since <= t < until`."""

    property: int
    key: Key
    level: int
    since: int
    id: int
    until: int


class RunAlone(BaseException):
    """Raised inside a transaction that cannot share a batch: it is run again by itself.

    No `Exception`, because it passes through handlers that may catch all of those.
    """
