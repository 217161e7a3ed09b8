"""Scopes: which classes somebody may touch, when it is not all of them.

A scope names classes and means all below them, also those that are made later. Several scopes must
all hold: what the owner's roles allow, what the key's roles allow, what the key is limited to.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from sandbar.access.rights import Classes, Rights
from sandbar.errors import Forbidden
from sandbar.model import Introspection

Scopes = tuple[Classes, ...]  # none: everything
NOTHING: Scopes = (frozenset(),)


class Reach(NamedTuple):
    """How far somebody comes by one verb, or by one door."""

    read: Scopes
    write: Scopes
    may_write: bool
    may_purge: bool
    governs_access: bool  # accounts, keys, roles
    governs_packs: bool
    governs_schema: bool  # classes and properties that exist

    def within(self, other: Reach) -> Reach:
        """What both reach."""
        flags = (mine and its for mine, its in zip(self[2:], other[2:], strict=True))
        return Reach(self.read + other.read, self.write + other.write, *flags)


@lru_cache(maxsize=4096)
def reach_of(rights: Rights, group: str, name: str) -> Reach:
    """The reach of a verb; of a door, if the name is that of the group."""
    may_read = rights.may_call(group, name, "read")
    may_write = rights.may_call(group, name, "write")
    return Reach(
        rights.scopes(group, "read") if may_read else NOTHING,
        rights.scopes(group, "write") if may_write else NOTHING,
        may_write,
        rights.may_call(group, name, "admin"),
        rights.governs("auth"),
        rights.governs("pack"),
        # Whoever moves a class below another one moves it into every scope that names that.
        rights.governs("schema") and not rights.is_scoped,
    )


def is_within(kinds: Iterable[str], scopes: Scopes) -> bool:
    """Whether an entity that has these classes, inherited ones included, may be touched."""
    return all(not scope.isdisjoint(kinds) for scope in scopes)


def classes_within(schema: Introspection, scopes: Scopes) -> Classes:
    """The classes whose instances may be touched."""
    return schema.derived(("access.within", scopes), lambda: _classes_within(schema, scopes))


def _classes_within(schema: Introspection, scopes: Scopes) -> Classes:
    known = frozenset(schema.classes())
    within = known
    for scope in scopes:
        within &= schema.below(scope)
    return within


def slots_within(schema: Introspection, scopes: Scopes) -> frozenset[str]:
    """The slots that those have: by others nobody is found."""
    return schema.derived(
        ("access.slots", scopes),
        lambda: schema.slots_of_any(classes_within(schema, scopes)),
    )


def names_slot_outside(given: Any, slots: frozenset[str]) -> bool:
    """Whether lookups, however deep, name a slot that nothing within the scope has."""
    waiting = [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            names = (name.removeprefix(":") for name in part if isinstance(name, str))
            if any("/" in name and name not in slots for name in names):
                return True
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return False


def refuse_outside(what: str = "this") -> Forbidden:
    """The answer to whoever asks for something that their key or role is not meant for."""
    return Forbidden(
        "access.out-of-scope",
        f"{what[:80]} is outside of the classes that this key or role is limited to",
        hint="ask an admin for a key that has the class; entity.query lists what is within reach",
    )
