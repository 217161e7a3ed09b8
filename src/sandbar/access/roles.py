"""Roles as a workspace has them: entities, inherited, and three that mean something by themselves.

What is written rules, with one exception: `admin` may do everything whatever its entity says, so
that nobody can lock themselves out. A workspace in which `reader` and `writer` were never written
down has them all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast, get_args

from sandbar.access.metamodel import (
    ACCESS,
    BURST,
    CLASSES,
    GROUP,
    INHERITS,
    PERMISSION,
    PERMISSIONS,
    RATE_LIMIT,
    ROLE,
    ROLE_NAME,
)
from sandbar.access.rights import BUILT_IN, EVERYTHING, STRENGTH, Grant, Layer, Rights, Role
from sandbar.errors import Incorrect, NotFound
from sandbar.model import Entity, Workspace

ENTITIES_MAX = (
    500  # roles and permissions that are looked at for one caller; the rest grant nothing
)
_ADMIN = "admin"


class Pace(NamedTuple):
    """How often: a number of requests a minute (0: no limit), and how many at once; None: unsaid.

    Each of the two is a matter of its own: one may be said here and the other elsewhere.
    """

    per_minute: int | None = None
    burst: int | None = None

    def else_(self, other: Pace) -> Pace:
        """This, and where it says nothing, the other."""
        return Pace(
            other.per_minute if self.per_minute is None else self.per_minute,
            other.burst if self.burst is None else self.burst,
        )

    def and_at_most(self, other: Pace) -> Pace:
        """The lesser of what both say; what only one of them says."""
        return Pace(
            min(_said(self.per_minute, other.per_minute), key=_generosity, default=None),
            min(_said(self.burst, other.burst), default=None),
        )


class Held(NamedTuple):
    """What roles amount to, and what that rests on."""

    rights: Rights
    pace: Pace
    basis: dict[int, int]  # entities, and the t of their last change
    is_lacking: bool  # a role was not written down: it may be at any time
    names: frozenset[str]  # of the roles, with those that they inherit


def held_roles(workspace: Workspace, names: Iterable[str]) -> Held:
    """The rights of whoever has these roles, with all that they inherit."""
    walk = _Walk(workspace)
    for name in dict.fromkeys(names):
        walk.by_name(name)
    walk.rest()
    rights = Rights((frozenset(walk.grants),))
    return Held(rights, walk.pace(), walk.basis, walk.is_lacking, walk.names())


def pace_of(entity: Entity) -> Pace:
    """What a key, an account or a role says of how often."""
    return Pace(entity.get(RATE_LIMIT), entity.get(BURST))


def is_kind(workspace: Workspace, entity: Entity, kind: str) -> bool:
    """Whether it is an instance of a class, or of one below it."""
    if entity.class_ == kind:
        return True
    try:
        return workspace.schema().is_kind(entity.class_, kind)
    except NotFound:
        return False  # an earlier version made the workspace: it has no such class


class _Walk:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._waiting: list[int | str] = []
        self._roles: dict[int | str, Entity] = {}  # by what a reference to them is shown as
        self._held: list[int | str] = []
        self.grants: set[Grant] = set()
        self.basis: dict[int, int] = {}
        self.is_lacking = False

    def by_name(self, name: str) -> None:
        """A role that somebody holds."""
        if name == _ADMIN:
            self.grants.add(EVERYTHING)
        role = self._find({ROLE_NAME: name}, ROLE)
        if role is None:
            self.is_lacking = True
            self.grants |= _built_in(name)
            return
        self._take(role)
        self._held.append(role.ident or role.entity_id)

    def rest(self) -> None:
        """What those inherit; whoever inherits from themselves has been seen already."""
        while self._waiting and len(self.basis) < ENTITIES_MAX:
            role = self._find(self._waiting.pop(), ROLE)
            if role is not None and role.entity_id not in self.basis:
                self._take(role)

    def names(self) -> frozenset[str]:
        """What the roles are called."""
        return frozenset(str(role.get(ROLE_NAME)) for role in self._roles.values())

    def pace(self) -> Pace:
        """What the roles say, each before those that it inherits; the greatest of several."""
        rates = self._nearest(RATE_LIMIT)
        return Pace(
            max(rates, key=_generosity, default=None), max(self._nearest(BURST), default=None)
        )

    def _nearest(self, slot: str) -> list[int]:
        """What the roles say in a slot; of one that says nothing, what those above it say."""
        found: list[int] = []
        waiting, seen = list(self._held), set[int | str]()
        while waiting:
            name = waiting.pop()
            role = None if name in seen else self._roles.get(name)
            seen.add(name)
            if role is None:
                continue
            said = role.get(slot)
            if said is None:
                waiting += role.get(INHERITS) or ()
            else:
                found.append(said)
        return found

    def _take(self, role: Entity) -> None:
        self.basis[role.entity_id] = role.t
        self._roles[role.ident or role.entity_id] = role
        if role.get(ROLE_NAME) == _ADMIN:
            self.grants.add(EVERYTHING)
        self._waiting += role.get(INHERITS) or ()
        for reference in role.get(PERMISSIONS) or ():
            if len(self.basis) >= ENTITIES_MAX:
                return
            permission = self._find(reference, PERMISSION)
            if permission is not None:
                self.basis[permission.entity_id] = permission.t
                self.grants |= _grant_of(permission)

    def _find(self, entity: object, kind: str) -> Entity | None:
        """It, if it is of that class: what only looks like a role is none."""
        try:
            found = self._workspace.get(entity)
            return found if is_kind(self._workspace, found, kind) else None
        except (NotFound, Incorrect):
            return None  # there is no such thing, or access was never installed here


def _built_in(name: str) -> Layer:
    known = name in cast(tuple[str, ...], get_args(Role))
    return BUILT_IN[cast(Role, name)] if known else frozenset()


def _grant_of(permission: Entity) -> Layer:
    """What a permission grants; nothing, if it says what nobody understands."""
    group, access = permission.get(GROUP), permission.get(ACCESS)
    if not isinstance(group, str) or access not in STRENGTH:
        return frozenset()
    classes = permission.get(CLASSES)
    return frozenset({Grant(group, access, frozenset(classes) if classes else None)})


def _said(*numbers: int | None) -> list[int]:
    return [number for number in numbers if number is not None]


def _generosity(per_minute: int) -> float:
    return per_minute or float("inf")  # 0: no limit
