"""Turning drafts into what the store takes: a document, its index keys and its words."""

from __future__ import annotations

from sandbar.model.documents import Doc, write_doc
from sandbar.model.drafts import Draft
from sandbar.model.schema import Class, Schema
from sandbar.model.words import entity_words
from sandbar.store import Change, Pair

_ACTIVE = "workflow/active?"  # what a process holds until it has ended


def creation_of(draft: Draft, cls: Class) -> Change:
    """The change that brings a new entity, or one that is back again."""
    doc = draft.doc
    assert doc is not None
    begun = _distinct_pairs(cls, doc)
    return Change(draft.id, cls.id, write_doc(doc), begun, (), entity_words(cls, doc))


def change_of(draft: Draft, before: Class, after: Class) -> Change:
    """The change of an entity that was there: under the rules of before, and under those of now."""
    new = pairs_of(after, draft.doc)
    old = pairs_of(before, draft.old)
    begun = [pair for pair in new if pair not in old]
    ended = [pair for pair in old if pair not in new]
    if draft.doc is None:
        return Change(draft.id, after.id, None, begun, ended)
    words = entity_words(after, draft.doc) if _says_other(draft, before, after) else None
    return Change(draft.id, after.id, write_doc(draft.doc), begun, ended, words)


def active_key(schema: Schema) -> str:
    """Where the document of a process says that it has not ended."""
    known: str | None = schema.derived.get(_ACTIVE)
    if known is None:
        known = schema.derived[_ACTIVE] = str(schema.id_named(_ACTIVE))
    return known


def _says_other(draft: Draft, before: Class, after: Class) -> bool:
    """Whether the entity's text has changed, or what counts as text."""
    old, new = draft.old, draft.doc
    assert old is not None and new is not None
    if before is not after and before.text_slots != after.text_slots:
        return True
    return any(old.get(key) != new.get(key) for key, _ in after.text_slots)


def pairs_of(cls: Class, doc: Doc | None) -> dict[Pair, None]:
    """The index keys of a document."""
    return {} if doc is None else dict.fromkeys(_distinct_pairs(cls, doc))


def _distinct_pairs(cls: Class, doc: Doc) -> list[Pair]:
    pairs = [cls.type_pair]
    for slot, number, many, index in cls.indexed_slots:
        stored = doc.get(slot)
        if stored is None:
            continue
        if many:
            pairs += dict.fromkeys((number, key) for key in index(stored))
        else:
            pairs.append((number, index(stored)))
    return pairs
