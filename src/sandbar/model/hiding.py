"""Classes whose instances are kept from whoever looks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sandbar.model.schema import Schema


class AllBut(frozenset[str]):
    """Every class is hidden but these: somebody has worked out which may be seen."""


def hidden_ids(schema: Schema, hidden: Collection[Any]) -> frozenset[int]:
    """What is hidden, with all below it; who is unknown hides nobody."""
    if isinstance(hidden, AllBut):
        known = (schema.class_if_known(name) for name in hidden)
        return frozenset(schema.class_ids).difference(cls.id for cls in known if cls is not None)
    return schema.with_subclasses(hidden)
