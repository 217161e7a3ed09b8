"""The rows that the store hands out. Documents are JSON text whose meaning is the model's."""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
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


class Row(NamedTuple):
    """An entity: its class, the t of its last change, its document."""

    id: int
    cls: int
    t: int
    doc: str


class Version(NamedTuple):
    """One state of an entity and the transaction that brought it; no document: a deletion."""

    t: int
    cls: int
    doc: str | None
    instant_us: int
    principal: str
    reason: str | None


class TxRow(NamedTuple):
    """One transaction: when, who, why, and the ids that it changed."""

    t: int
    instant_us: int
    principal: str
    reason: str | None
    ids: tuple[int, ...]


RECORDS_KEPT_US = 7 * 24 * 3600 * 1_000_000


class Record(NamedTuple):
    """What is remembered of a request that carried an idempotency key."""

    digest: str
    receipt: str
    instant_us: int
