"""The rows that the store hands out. Documents are JSON text whose meaning is the model's."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Head(msgspec.Struct, frozen=True, gc=False):
    """Where a workspace stands: enough to notice that anything, or the schema, has changed."""

    t: int
    generation: int
    epoch: int


class State(NamedTuple):
    """The counters of a workspace."""

    t: int
    generation: int
    epoch: int
    next_id: int
    instant_us: int


class Row(msgspec.Struct, frozen=True, gc=False):
    """An entity: its class, the t of its last change, its document."""

    id: int
    cls: int
    t: int
    doc: str


ERASED = 0  # the class of nothing: that of the mark which an erased entity leaves


class Version(NamedTuple):
    """One state of an entity and the transaction that brought it; no document: a deletion."""

    t: int
    cls: int
    doc: str | None
    instant_us: int
    principal: str
    reason: str | None

    @property
    def is_purge(self) -> bool:
        """Whether this marks that all the versions before it were erased."""
        return self.cls == ERASED


class TxRow(NamedTuple):
    """One transaction: when, who, why, and the ids that it changed."""

    t: int
    instant_us: int
    principal: str
    reason: str | None
    ids: tuple[int, ...]


class Token(NamedTuple):
    """A minted key: the account that it belongs to, and whether it still counts."""

    ws: int
    workspace: str
    id: int
    is_revoked: bool


RECORDS_KEPT_US = 7 * 24 * 3600 * 1_000_000


class Record(NamedTuple):
    """What is remembered of a request that carried an idempotency key."""

    digest: str
    receipt: str
    instant_us: int
