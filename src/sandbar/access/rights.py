"""Rights: what somebody may do, as a value: grants of roles, narrowed by whatever a key says.

A grant is a group of verbs, how far it may be used, and for which classes. Grants of one layer add
up; layers narrow each other: the owner's roles are one, the roles that a key is limited to another.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

Role = Literal["reader", "writer", "admin"]
Access = Literal["read", "write", "admin"]
Classes = frozenset[str]

ALL = "*"
# Whoever writes accounts, keys and roles may make themselves what they like, and so may whoever
# switches on the code of packs. These are no groups of verbs: patterns of verbs never mean them.
_SOVEREIGN = frozenset({"auth", "pack"})
# Verbs about a workspace as a whole: whoever is limited to some of its classes has none of them.
_OF_THE_WHOLE = frozenset({"key", "workspace", "audit"})
STRENGTH: dict[Access, int] = {"read": 1, "write": 2, "admin": 3}


class Grant(msgspec.Struct, frozen=True):
    """A group of verbs (`*`: all), how far it may be used, and for which classes (None: all)."""

    group: str
    access: Access
    classes: Classes | None = None

    def allows(self, group: str, access: Access) -> bool:
        """Whether it reaches this far; admin includes write, and write includes read."""
        return self.group in (ALL, group) and STRENGTH[self.access] >= STRENGTH[access]


Layer = frozenset[Grant]
Obstacle = Literal["owner", "read-only", "verbs", "role", "classes"]  # all but the first: the key


class Rights(msgspec.Struct, frozen=True):
    """All that a caller may do; hashable, so that what depends on it can be kept by it."""

    layers: tuple[Layer, ...] = ()  # without any: nothing
    verbs: frozenset[str] | None = None  # names, groups and patterns such as entity.*
    classes: Classes | None = None
    is_read_only: bool = False

    @property
    def role(self) -> Role | None:
        """The built-in role that this amounts to; None, if it amounts to nothing.

        Whoever is kept from anything is no admin: what belongs to admins alone is not made for
        exceptions, and whoever may change roles may do everything.
        """
        if self.governs(ALL):
            return "admin"
        if self._has_any("write"):
            return "writer"
        return "reader" if self._has_any("read") else None

    def may(self, access: Access) -> bool:
        """Whether the rights amount to a role that has this kind of access."""
        role = self.role
        return role is not None and access in ACCESS_OF_ROLE[role]

    def may_call(self, group: str, name: str, access: Access) -> bool:
        """Whether a verb may be called; its group stands for itself, for what is no verb."""
        return self.obstacle(group, name, access) is None

    def obstacle(self, group: str, name: str, access: Access) -> Obstacle | None:
        """What keeps them from calling a verb, if anything does."""
        if not self.layers or not _grants(self.layers[0], group, access):
            return "owner"
        if self.is_read_only and access != "read":
            return "read-only"
        if self.verbs is not None and not any(_meant(p, group, name) for p in self.verbs):
            return "verbs"
        if not all(_grants(layer, group, access) for layer in self.layers[1:]):
            return "role"
        if group in _OF_THE_WHOLE and self.scopes(group, access):
            return "classes"
        return None

    def governs(self, group: str) -> bool:
        """Whether all of a group is theirs as an admin's, without exception for any class."""
        if group in _SOVEREIGN and self.is_narrowed:
            group = ALL  # whoever could undo what narrows them would not be narrow
        if self.classes is not None or self.is_read_only:
            return False
        meant = {group, f"{group}.{ALL}"} if group != ALL else set[str]()
        if self.verbs is not None and self.verbs.isdisjoint(meant):
            return False
        return bool(self.layers) and all(
            any(grant.allows(group, "admin") and grant.classes is None for grant in layer)
            for layer in self.layers
        )

    @property
    def is_scoped(self) -> bool:
        """Whether there is anything that they may do with some classes only."""
        return self.classes is not None or any(map(_is_scoped, self.layers))

    def scopes(self, group: str, access: Access) -> tuple[Classes, ...]:
        """Sets of classes: what is touched must be in each, itself or by a class above it."""
        found = [] if self.classes is None else [self.classes]
        for layer in self.layers:
            grants = [grant for grant in layer if grant.allows(group, access)]
            if all(grant.classes is not None for grant in grants):
                found.append(frozenset().union(*(grant.classes or () for grant in grants)))
        return tuple(found) if self.layers else (frozenset(),)

    def scope(self, group: str, access: Access) -> Classes | None:
        """The classes that may be touched; None: all. Of several sets what is named in each."""
        found = self.scopes(group, access)
        return frozenset.intersection(*found) if found else None

    def narrowed(
        self,
        *,
        to: Rights | None = None,
        verbs: Iterable[str] = (),
        classes: Iterable[str] = (),
        is_read_only: bool = False,
    ) -> Rights:
        """What a key has of its owner's rights: no narrowing, no difference."""
        patterns, names = frozenset(verbs), frozenset(classes)
        assert not (patterns and self.verbs) and not (names and self.classes), "narrowed already"
        return Rights(
            self.layers if to is None else self.layers + (to.layers or (frozenset(),)),
            self.verbs if not patterns or ALL in patterns else patterns,
            names or self.classes,
            is_read_only or self.is_read_only,
        )

    def covers(self, other: Rights) -> bool:
        """Whether the other rights are certainly no more than these: nobody gives more away."""
        if self.role == "admin":
            return True
        return (
            _is_within(other.verbs, self.verbs)
            and _is_within(other.classes, self.classes)
            and other.is_read_only >= self.is_read_only
            and all(any(_covers(mine, its) for its in other.layers) for mine in self.layers)
        )

    @property
    def of_owner(self) -> Rights:
        """The same without whatever a key is narrowed to."""
        return Rights(self.layers[:1])

    @property
    def is_narrowed(self) -> bool:
        """Whether these are a key's that may less than its owner."""
        is_limited = self.verbs is not None or self.classes is not None
        return is_limited or self.is_read_only or len(self.layers) > 1

    def _has_any(self, access: Access) -> bool:
        if self.is_read_only and access != "read":
            return False
        return bool(self.layers) and all(
            any(STRENGTH[grant.access] >= STRENGTH[access] for grant in layer)
            for layer in self.layers
        )


def _covers(mine: Layer, its: Layer) -> bool:
    return all(
        any(m.allows(i.group, i.access) and _is_within(i.classes, m.classes) for m in mine)
        for i in its
    )


def _is_within(inner: frozenset[str] | None, outer: frozenset[str] | None) -> bool:
    return outer is None or (inner is not None and inner <= outer)


def _grants(layer: Layer, group: str, access: Access) -> bool:
    return any(grant.allows(group, access) for grant in layer)


def _is_scoped(layer: Layer) -> bool:
    """Whether a grant for some classes adds to those for all of them."""
    whole = [grant for grant in layer if grant.classes is None]
    return any(
        grant.classes is not None and not any(w.allows(grant.group, grant.access) for w in whole)
        for grant in layer
    )


def _meant(pattern: str, group: str, name: str) -> bool:
    """Whether a pattern means a verb: by its name, with its group before it, or by the group.

    A pattern such as `*y` means names that end so, not all verbs of a group that does. What is no
    verb, such as a door, is meant with its group as a whole.
    """
    if pattern == group:
        return True
    if name == group:
        return fnmatchcase(f"{group}.", pattern)
    return fnmatchcase(name, pattern) or fnmatchcase(f"{group}.{name}", pattern)


ACCESS_OF_ROLE: dict[Role, frozenset[Access]] = {
    "reader": frozenset({"read"}),
    "writer": frozenset({"read", "write"}),
    "admin": frozenset({"read", "write", "admin"}),
}
EVERYTHING = Grant(ALL, "admin")
BUILT_IN: dict[Role, Layer] = {
    "reader": frozenset({Grant(ALL, "read")}),
    "writer": frozenset({Grant(ALL, "read"), Grant(ALL, "write")}),
    "admin": frozenset({Grant(ALL, "read"), Grant(ALL, "write"), EVERYTHING}),
}


def rights_of_role(role: Role) -> Rights:
    """What a built-in role means where nobody says anything else."""
    return Rights((BUILT_IN[role],))
