"""Who may change what is not the model's business; that nothing changes unasked is.

A guard is asked about every entity that a transaction loads in order to change it, and again about
everything that has really changed, before it is handed to the store: by whatever operation, be it
that another one's deletion took it along.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

from sandbar.model import core
from sandbar.model.documents import Doc
from sandbar.model.drafts import Draft
from sandbar.model.schema import Schema
from sandbar.store import Transaction

_IDENT = str(core.IDENT)
_NONE: frozenset[str] = frozenset()
_NOBODY: set[int] = set()


class Touched(NamedTuple):
    """An entity that a transaction changes, makes or deletes."""

    id: int
    kinds: frozenset[str]  # its class and all above it
    ident: str | None
    ident_before: str | None
    existed: bool
    is_definition: bool
    mentions: frozenset[str]  # of a definition: classes above it, slots, its range, what it inverts
    changed: frozenset[str]  # the slots of an entity that stays which differ from before
    detached: frozenset[str]  # of those: they only have lost what the transaction deletes


class Guard(Protocol):
    """Says no by raising a Problem."""

    def admit(self, kinds: frozenset[str], *, is_new: bool = False) -> None:
        """Whether an entity of these classes may be worked on, or made, at all."""

    def shows(self, kinds: frozenset[str]) -> bool:
        """Whether entities of these classes may be named to whoever writes."""

    def admit_name(self, name: str) -> None:
        """Whether an entity may be looked for by this ident, or by a value of this slot."""

    def admit_reference(self, slot: str, range: frozenset[str], kinds: frozenset[str]) -> None:
        """Whether a slot whose range has these classes may refer to an entity of those."""

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made; to two that differ in their ids only, one answer."""


def ask(guard: Guard, drafts: Collection[Draft], tx: Transaction, old: Schema, new: Schema) -> None:
    """Tell the guard of all that has changed among these drafts, secrets included.

    New instances of a class that have no name are all alike: it is told of the first.
    """
    secret = {id for id, _ in tx.secrets} if tx.secrets else _NOBODY
    gone = {draft.id for draft in drafts if draft.doc is None}
    told: set[int] = set()
    for draft in drafts:
        if draft.old is None and draft.doc is not None and _IDENT not in draft.doc:
            if draft.class_id in told:
                continue
            told.add(draft.class_id)
        if draft.is_changed() or draft.id in secret:
            guard.touch(_touched(draft, old, new, tx.t, gone))


def _touched(draft: Draft, old: Schema, new: Schema, t: int, gone: set[int]) -> Touched:
    schema = new if new.has_class(draft.class_id) else old
    is_definition = draft.class_id in new.metaclasses or draft.class_id in old.metaclasses
    if draft.old is None and draft.doc is not None and not is_definition:
        kinds, ident = schema.class_by_id(draft.class_id).kinds, draft.doc.get(_IDENT)
        return Touched(draft.id, kinds, ident, None, False, False, _NONE, _NONE, _NONE)
    changed = _changed_slots(draft, schema)
    return Touched(
        draft.id,
        schema.class_by_id(draft.class_id).kinds,
        (draft.doc or {}).get(_IDENT),
        (draft.old or {}).get(_IDENT),
        draft.before is not None and draft.before.t != t,
        is_definition,
        _mentions(new, draft) if is_definition else frozenset(),
        frozenset(changed.values()),
        frozenset(name for key, name in changed.items() if _lost(draft, key, gone)),
    )


def _changed_slots(draft: Draft, schema: Schema) -> dict[str, str]:
    """The slots that differ from before, as the document calls them, with their names."""
    old, doc = draft.old, draft.doc
    if old is None or doc is None:
        return {}
    names = schema.class_by_id(draft.class_id).names
    changed = (key for key in old.keys() | doc.keys() if old.get(key) != doc.get(key))
    return {key: names[key] for key in changed if key in names}


def _lost(draft: Draft, key: str, gone: set[int]) -> bool:
    """Whether a slot that has changed has only lost what is gone."""
    before, after = (_values((doc or {}).get(key)) for doc in (draft.old, draft.doc))
    left = [value for value in before if not (isinstance(value, int) and value in gone)]
    return after == left


def _values(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _mentions(schema: Schema, draft: Draft) -> frozenset[str]:
    doc: Doc = draft.doc or {}
    ids = set(doc.get(str(core.SLOTS)) or ())
    ids.update(doc.get(str(core.SUBCLASS_OF)) or ())
    if str(core.INVERSE_OF) in doc:
        ids.add(doc[str(core.INVERSE_OF)])
    range = schema.class_of_id(doc.get(str(core.RANGE), 0))
    ids |= range.lineage if range is not None else _NOBODY
    if schema.has_class(draft.id):
        ids |= schema.class_by_id(draft.id).lineage - {draft.id}
    return frozenset(schema.ident_of(id) for id in ids)
