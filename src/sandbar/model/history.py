"""The past: what each transaction changed of an entity, found by comparing neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbar import clock
from sandbar.model.documents import Doc, exact, read_doc
from sandbar.model.properties import Property
from sandbar.model.rendering import render
from sandbar.model.results import HistoryEntry, SlotChange, TransactionEntry
from sandbar.model.schema import Class, Schema
from sandbar.store import Snapshot, TxRow, Version

SchemaAt = Callable[[int], Schema]
Naming = Callable[[int], int | str]  # how a referenced entity is shown


def history_of(
    versions: list[Version], previous: Version | None, schema_at: SchemaAt, naming: Naming
) -> list[HistoryEntry]:
    """One entry per version, oldest first; `previous` is the version before the first."""
    entries = []
    for version in versions:
        changes = changes_between(previous, version, schema_at, naming)
        entries.append(
            HistoryEntry(
                version.t,
                clock.instant_text(version.instant_us),
                version.principal,
                _kind(previous, version),
                changes,
                version.reason,
            )
        )
        previous = version
    return entries


def entries_of(transactions: list[TxRow]) -> list[TransactionEntry]:
    """One entry per transaction, with the entities that it changed."""
    return [
        TransactionEntry(tx.t, clock.instant_text(tx.instant_us), tx.principal, tx.ids, tx.reason)
        for tx in transactions
    ]


def changes_between(
    before: Version | None, after: Version | None, schema_at: SchemaAt, naming: Naming
) -> list[SlotChange]:
    """The slots in which two states of an entity differ."""
    old, old_class = _state(before, schema_at)
    new, new_class = _state(after, schema_at)
    changes = []
    for key in sorted({*old, *new}, key=int):
        was, now = _slot(old_class, key), _slot(new_class, key)
        old_values = _shown(was, old.get(key), naming)
        new_values = _shown(now, new.get(key), naming)
        removed, added = _difference(old_values, new_values)
        property = now or was
        if property is not None and (removed or added):
            changes.append(SlotChange(property.ident, removed, added))
    return changes


def _difference(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """What was taken out, and then put at the end: that way order can be told, too."""
    rest, kept = iter([exact(value) for value in old]), set()
    for value in new:
        key = exact(value)
        if key not in rest:  # looks no further back than behind the one before
            break
        kept.add(key)
    return [value for value in old if exact(value) not in kept], new[len(kept) :]


def _kind(previous: Version | None, version: Version) -> str:
    if version.doc is None:
        return "purged" if version.is_purge else "deleted"
    if previous is None:
        return "created"
    return "restored" if previous.doc is None else "changed"


def _state(version: Version | None, schema_at: SchemaAt) -> tuple[Doc, Class | None]:
    if version is None or version.doc is None:
        return {}, None
    return read_doc(version.doc), schema_at(version.t).class_by_id(version.cls)


def _slot(cls: Class | None, key: str) -> Property | None:
    return None if cls is None else cls.by_key.get(key)


def _shown(property: Property | None, stored: Any, naming: Naming) -> list[Any]:
    if property is None:
        return []
    values = property.values(stored)
    return [naming(value) for value in values] if property.is_ref else values


class Names:
    """Shows a referenced entity by its current ident, or by its id."""

    def __init__(self, snapshot: Snapshot, schema: Schema) -> None:
        self._snapshot = snapshot
        self._schema = schema
        self._known: dict[int, int | str] = {}

    def __call__(self, id: int) -> int | str:
        if id not in self._known:
            rows = self._snapshot.entities([id])
            plain = rows and render(self._schema, rows, self._snapshot)[0].ident
            self._known[id] = plain or id
        return self._known[id]
