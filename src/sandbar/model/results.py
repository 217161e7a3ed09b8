"""What reads and writes answer. All of it is plain JSON once encoded."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbar.model.answers import ItemSequence, Shown, SlotMapping


class Receipt(msgspec.Struct, Shown, frozen=True, rename="kebab", omit_defaults=True, gc=False):
    """Proof of a write: reading as of `t` shows exactly this write and all before it."""

    t: int
    instant: str
    epoch: int
    audit: tuple[int, ...] | None = None  # run and n of its row, if a verb asked for the write


class Outcome(msgspec.Struct, Shown, frozen=True, rename="kebab", omit_defaults=True, gc=False):
    """What one operation did."""

    entity_id: int
    ident: str | None = None
    created: bool = False
    changed: bool = False
    deleted: list[int] = []
    migrated: int = 0
    differs: list[str] = []


class Written(msgspec.Struct, Shown, frozen=True, rename="kebab", omit_defaults=True, gc=False):
    """The answer to a transaction."""

    receipt: Receipt
    outcomes: list[Outcome]
    temps: dict[str, int] = {}
    replayed: bool = False

    @property
    def entity_id(self) -> int:
        """The entity of the first operation."""
        return self.outcomes[0].entity_id

    @property
    def ident(self) -> str | None:
        """The ident of the first operation's entity."""
        return self.outcomes[0].ident

    @property
    def created(self) -> bool:
        """Whether the first operation made its entity."""
        return self.outcomes[0].created

    @property
    def t(self) -> int:
        """The transaction's number."""
        return self.receipt.t


class Entity(msgspec.Struct, SlotMapping, frozen=True, rename="kebab", gc=False):
    """An entity as it is at one moment: a mapping of its slots to their values.

    What it is besides are attributes. Two are equal if all of it is, and none equals a `dict`; like
    any mapping it has no hash.
    """

    entity_id: int
    ident: str | None
    class_: str = msgspec.field(name="class")
    t: int
    slots: dict[str, Any]

    def __bool__(self) -> bool:
        return True  # it is there, also without a slot


class Page(msgspec.Struct, ItemSequence[Entity], frozen=True, rename="kebab", omit_defaults=True):
    """A page of a query, a sequence of its items, and the cursor of the next one."""

    items: list[Entity]
    t: int
    cursor: str | None = None


class Hit(msgspec.Struct, Shown, frozen=True, rename="kebab"):
    """An entity that a search has found; the snippet shows where, with the words marked."""

    entity: Entity
    score: float
    snippet: str


class SearchPage(
    msgspec.Struct, ItemSequence[Hit], frozen=True, rename="kebab", omit_defaults=True
):
    """A page of a search, a sequence of its hits, best first, and the cursor of the next one."""

    items: list[Hit]
    t: int
    cursor: str | None = None


class Purged(msgspec.Struct, Shown, frozen=True, rename="kebab"):
    """The answer to a purge.

    `scrubbed` is false when erased bytes may still linger in a SQLite file, because others hold on
    to it or its disk is full. That is noted, and tried again until it is done: by a server in the
    background, when the file is opened, and by another purge, also of the same entity.
    """

    receipt: Receipt
    entity_ids: list[int]
    scrubbed: bool


class SlotChange(msgspec.Struct, Shown, frozen=True, rename="kebab"):
    """What happened to one slot: the values that went, and those that came after the others."""

    slot: str
    removed: list[Any]
    added: list[Any]  # one that has moved is in both


class HistoryEntry(msgspec.Struct, Shown, frozen=True, rename="kebab", omit_defaults=True):
    """One change of an entity: when, who, why, what."""

    t: int
    instant: str
    principal: str
    kind: str
    changes: list[SlotChange]
    reason: str | None = None


class TransactionEntry(msgspec.Struct, Shown, frozen=True, rename="kebab", omit_defaults=True):
    """One transaction of a workspace."""

    t: int
    instant: str
    principal: str
    entity_ids: tuple[int, ...]
    reason: str | None = None
