"""What a bare driver does in this benchmark."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from bench.samples import Batch

Doc = dict[str, Any]

decode = msgspec.json.Decoder(Doc).decode

PRINCIPAL = "local"
NONCE = bytes(16)


class Bare(Protocol):
    """A connection, and the statements that somebody in a hurry would write."""

    def counters(self) -> tuple[int, int, int]:
        """ws, the last t and the next id of the only workspace."""

    def write(self, batch: Batch) -> None:
        """Insert the rows of one transaction and commit it durably."""

    def point(self, id: int) -> Doc:
        """One document by id."""

    def point_by_key(self, property: int, key: bytes) -> Doc:
        """One document by the key of a unique slot."""

    def equal(self, property: int, key: bytes, limit: int) -> list[Doc]:
        """The documents whose slot has this value."""

    def at_least(self, property: int, key: bytes, limit: int) -> list[Doc]:
        """The documents from this value on, in the order of the slot."""

    def close(self) -> None:
        """Let go of the connection."""
