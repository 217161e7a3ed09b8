"""What somebody may not touch, whichever verb or operation it comes by.

Accounts, roles and whatever else descends from a class of the namespace `auth` belong to admins. So
does the metamodel that exists: a writer may add classes and properties, but only such as cannot
change what others mean. A key or a role may be limited to classes besides.
"""

from __future__ import annotations

from typing import Any

from sandbar.access.callers import Caller
from sandbar.access.metamodel import NAMESPACE
from sandbar.access.processes import ProcessGuard
from sandbar.access.rights import rights_of_role
from sandbar.access.scope import Reach, is_within, reach_of, refuse_outside
from sandbar.errors import Forbidden
from sandbar.model import Guard, Introspection, Touched

_PACKS = "pack"  # whoever writes a record switches on a pack's code, and speaks to every agent
_RESERVED = frozenset(
    {NAMESPACE, _PACKS, "workflow", "dt", "db"}
)  # and what is below them, such as db.type


def is_protected(name: str) -> bool:
    """Whether a class or slot is one of access."""
    return _namespace(name) == NAMESPACE


def protected_roots(schema: Introspection) -> frozenset[str]:
    """The classes of access: they, and all below them, are kept from everybody but admins."""
    return schema.derived(
        "access.roots", lambda: frozenset(name for name in schema.classes() if is_protected(name))
    )


def protected_classes(schema: Introspection) -> frozenset[str]:
    """The same with all classes below them, wherever those are named."""
    return schema.derived("access.classes", lambda: schema.below(protected_roots(schema)))


def refuse_protected() -> Forbidden:
    """The answer to whoever asks for an account or touches one."""
    return Forbidden(
        "entity.protected",
        "accounts and whatever belongs to signing in are read and changed by admins only",
        hint="ask an admin; on the server's machine `sandbar account list|add|revoke` does it",
    )


def names_protected_slot(given: Any) -> bool:
    """Whether a filter, a list of slots or a lookup names a slot of access, however deep."""
    waiting = [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if any(isinstance(name, str) and is_protected(name) for name in part):
                return True
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return False


class RightsGuard:
    """Refuses what somebody may not change who is no admin of everything."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def admit(self, kinds: frozenset[str], *, is_new: bool = False) -> None:
        """No work on what is kept from them, not even such as would change nothing."""
        del is_new
        if not self._reach.governs_access and any(map(is_protected, kinds)):
            raise refuse_protected()
        if not is_within(kinds, self._reach.write):
            raise refuse_outside("an entity of this class")

    def shows(self, kinds: frozenset[str]) -> bool:
        """Whether what a write comes across may be told: who has a value, who refers to it."""
        return is_within(kinds, self._reach.read)

    def admit_purge(self, kinds: frozenset[str]) -> None:
        """Whether an entity may be changed or purged, by what it is; it may be gone already."""
        self.admit(kinds)
        if not self._reach.governs_packs and any(_namespace(kind) == _PACKS for kind in kinds):
            raise Forbidden(
                "entity.protected",
                "packs are loaded and changed by admins only",
                hint="ask an admin; on the server's machine `sandbar pack add` does it",
            )

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made."""
        reach = self._reach
        if not reach.may_write:
            raise refuse_writing()
        self.admit_purge(touched.kinds)
        if touched.ident != touched.ident_before and self._is_kept(touched.ident):
            raise _admins_only(f"the name {touched.ident} is reserved")
        if touched.is_definition:
            self._check_definition(touched)

    def _is_kept(self, ident: str | None) -> bool:
        """Whether a name is one that they may not give."""
        if ident is None or _namespace(ident) not in _RESERVED:
            return False
        return not (_namespace(ident) == NAMESPACE and self._reach.governs_access)

    def _check_definition(self, touched: Touched) -> None:
        name = touched.ident_before or touched.ident or f"#{touched.id}"
        # Whoever may change classes may not change those of the house, nor build on access.
        is_ours = _namespace(name) in _RESERVED
        if touched.existed and (is_ours or not self._reach.governs_schema):
            raise _admins_only(
                f"{name} exists: only admins change or delete classes and properties"
            )
        for mentioned in sorted(touched.mentions):
            is_pack = _namespace(mentioned) == _PACKS and not self._reach.governs_packs
            if is_protected(mentioned) or is_pack:
                raise _admins_only(f"only admins build upon {mentioned}")


def refuse_writing() -> Forbidden:
    """The answer to a reader who would write."""
    return Forbidden(
        "access.read-only",
        "this account may only read",
        hint="ask an admin for the role writer",
    )


def refuse_reserved_workflow(caller: Caller, name: str) -> None:
    """Names of the house are given by admins and packs only, to workflows as to all else.

    Effects write what any writer may write, so only such as may all of that define them.
    """
    if caller.may("admin"):
        return
    if _namespace(name) in _RESERVED | {"task", "validation", "prompt"}:
        raise _admins_only(f"the name {name[:80]} is reserved")
    everything = reach_of(caller.rights, "entity", "entity")
    if everything.write or not everything.may_write:
        raise refuse_outside("whatever the effects of a workflow may write")


def _namespace(name: str) -> str:
    return name.removeprefix(":").partition("/")[0].partition(".")[0]


def _admins_only(message: str) -> Forbidden:
    return Forbidden(
        "schema.admin-only",
        message,
        hint="add a new class or property under a name of your own, or ask an admin",
    )


def effects_guard(workspace: str) -> Guard:
    """What the effects of transitions and activities may change: what a writer may."""
    del workspace
    return _EFFECTS


_EFFECTS = ProcessGuard(RightsGuard(reach_of(rights_of_role("writer"), "entity", "entity")))
