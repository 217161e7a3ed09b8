"""What an index scan asks for, in the store's own words: properties, byte keys, ids.

A scan has one driving condition, which decides the index range that is walked and the order of
the rows. `classes` and `also` narrow the walk where the index can do it cheaply; a store may
ignore them (and does so as of the past), so whoever asks must check the documents again.
"""

from __future__ import annotations

from typing import NamedTuple

Key = bytes


class Equals(NamedTuple):
    """The property holds one of these keys."""

    property: int
    keys: tuple[Key, ...]


class Between(NamedTuple):
    """The property holds a key in `low <= key < high`; None leaves that side open."""

    property: int
    low: Key | None
    high: Key | None


class Position(NamedTuple):
    """Where a page ended. The key counts only for scans that walk a range of keys."""

    key: Key
    id: int


class Scan(NamedTuple):
    """One page of an index walk.

    `Equals` walks in order of id; `Between` in order of (key, id), backwards if `descending`.
    """

    drive: Equals | Between
    limit: int
    classes: tuple[int, ...] = ()
    also: tuple[Equals, ...] = ()
    after: Position | None = None
    descending: bool = False
    as_of: int | None = None


class Found(NamedTuple):
    """One row of a scan: where it stood in the index, and the entity's document."""

    key: Key
    id: int
    cls: int
    t: int
    doc: str


def levels_at(t: int, last: int) -> list[tuple[int, int]]:
    """The levels of ended values that can hold at `t`, each with the lowest `since` to look at.

    `last` is the workspace's last transaction: a value that held at `t` can have ended any time
    since.

    A value that held from `since` until `until` stands on the level of the bit length of their
    difference, so at most one short range of `since` per level can cover any moment.
    """
    deepest = (last + 1).bit_length()  # + 1: a writer looks at what it is about to commit
    return [(level, max(t - (1 << level) + 1, 0)) for level in range(1, deepest + 1)]


def level_of(since: int, until: int) -> int:
    """The level on which an ended value stands."""
    return (until - since).bit_length()
