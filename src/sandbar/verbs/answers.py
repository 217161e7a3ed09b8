"""The shapes that many answers have in common."""

from __future__ import annotations

import msgspec

from sandbar.model import Entity


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """The base of what verbs answer. What has no default is always there."""


class Reference(Answer, frozen=True, kw_only=True):
    """An entity by its names, without its slots."""

    entity_id: int
    ident: str | None
    class_: str = msgspec.field(name="class")


def reference_to(entity: Entity) -> Reference:
    """The names of an entity."""
    return Reference(entity_id=entity.entity_id, ident=entity.ident, class_=entity.class_)
