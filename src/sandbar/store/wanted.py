"""What a write will probably read, said beforehand: a remote store fetches it in one go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sandbar.store.rows import Row
from sandbar.store.scan import Key


class Wanted(NamedTuple):
    """What a transaction is likely to read, so that a remote store can fetch it in one go."""

    ids: tuple[int, ...] = ()
    keys: tuple[tuple[int, Key], ...] = ()
    records: tuple[tuple[str, str], ...] = ()  # principals and their idempotency keys


NOTHING_WANTED = Wanted()


class LookedUp(NamedTuple):
    """What there is of what was wanted: rows by id (None: there is none), and who holds a key."""

    rows: dict[int, Row | None]
    holders: dict[tuple[int, Key], list[int]]


def unique_wanted(parts: Iterable[Wanted]) -> Wanted:
    """All that several transactions want, each thing once."""
    ids: dict[int, None] = {}
    keys: dict[tuple[int, Key], None] = {}
    records: dict[tuple[str, str], None] = {}
    for part in parts:
        if part is NOTHING_WANTED:
            continue
        ids.update(dict.fromkeys(part.ids))
        keys.update(dict.fromkeys(part.keys))
        records.update(dict.fromkeys(part.records))
    return Wanted(tuple(ids), tuple(keys), tuple(records))
