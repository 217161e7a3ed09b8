"""Small things that a plan is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sandbar.store.scan import Key
from sandbar.store.search import Words

Pair = tuple[int, Key]  # property and key

# Both stores number entities up to 2^40 - 1: whoever chooses numbers leaves as many free above.
CHOSEN_ID_MAX = (1 << 39) - 1


class Change(msgspec.Struct, frozen=True, gc=False):
    """The net change of one entity in one transaction; no document means deletion.

    `words` is what it is searched by from now on; None leaves that as it is.
    """

    id: int
    cls: int
    doc: str | None
    begun: Sequence[Pair]
    ended: Sequence[Pair]
    words: Words | None = None


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
