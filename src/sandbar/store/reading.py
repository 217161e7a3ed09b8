"""What can be read of a workspace as it is now, wherever one reads: in a snapshot or in a write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sandbar.store.rows import Row
from sandbar.store.scan import Found, Key, Scan
from sandbar.store.search import Sought


class Reads(Protocol):
    """Reads that every snapshot and every write session offers."""

    def entity(self, id: int) -> Row | None:
        """The current row of an entity."""

    def entities(self, ids: Sequence[int], as_of: int | None = None) -> list[Row]:
        """The rows of several entities, now or as of the past; missing ones are left out."""

    def find(self, property: int, key: Key) -> list[int]:
        """Ids of the entities that hold this key now, lowest first."""

    def count(self, property: int, key: Key) -> int:
        """How many entities hold this key now."""

    def holders(
        self, property: int, keys: Sequence[Key], limit: int, as_of: int | None = None
    ) -> dict[Key, list[int]]:
        """For each key the ids of the first who hold it, lowest first, `limit` at the most."""

    def referrers(self, key: Key, properties: Sequence[int], limit: int) -> list[tuple[int, int]]:
        """(property, id) pairs that hold this key in any of the properties now."""

    def secret(self, id: int, property: int) -> str | None:
        """The hash kept for a secret slot."""

    def scan(self, scan: Scan) -> list[Found]:
        """One page of an index walk."""

    def search(self, sought: Sought) -> list[list[int]]:
        """For each search for words the ids of those who have them, greatest first."""
