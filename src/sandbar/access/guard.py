"""What a role may not touch, whichever verb or operation it comes by.

Accounts, roles and whatever else descends from a class of the namespace `auth` belong to admins. So
does the metamodel that exists: a writer may add classes and properties, but only such as cannot
change what others mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sandbar.access.callers import Caller
from sandbar.access.metamodel import NAMESPACE
from sandbar.access.processes import ProcessGuard
from sandbar.errors import Forbidden
from sandbar.model import Guard, Introspection, Touched

_PACKS = "pack"  # whoever writes a record switches on a pack's code, and speaks to every agent
_RESERVED = frozenset(
    {NAMESPACE, _PACKS, "workflow", "dt", "db"}
)  # and what is below them, such as db.type


def is_protected(name: str) -> bool:
    """Whether a class or slot is one of access."""
    namespace = name.removeprefix(":").partition("/")[0]
    return namespace.partition(".")[0] == NAMESPACE


def protected_roots(schema: Introspection) -> frozenset[str]:
    """The classes of access: they, and all below them, are kept from everybody but admins."""
    return schema.derived(
        "access.roots", lambda: frozenset(name for name in schema.classes() if is_protected(name))
    )


def protected_classes(schema: Introspection) -> frozenset[str]:
    """The same with all classes below them, wherever those are named."""
    return schema.derived(
        "access.classes",
        lambda: protected_roots(schema).union(
            name for root in protected_roots(schema) for name in schema.subclasses(root)
        ),
    )


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


class RoleGuard:
    """Refuses what the caller's role may not change."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def admit(self, kinds: frozenset[str], *, is_new: bool = False) -> None:
        """No work on anything of access, not even such as would change nothing."""
        del is_new
        if any(map(is_protected, kinds)):
            raise refuse_protected()

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made."""
        if not self._caller.may("write"):
            raise refuse_writing()
        self.admit(touched.kinds)
        if any(kind.partition("/")[0] == _PACKS for kind in touched.kinds):
            raise Forbidden(
                "entity.protected",
                "packs are loaded and changed by admins only",
                hint="ask an admin; on the server's machine `sandbar pack add` does it",
            )
        if touched.ident != touched.ident_before and _is_reserved(touched.ident):
            raise _admins_only(f"the name {touched.ident} is reserved")
        if touched.is_definition:
            _check_definition(touched)


def refuse_writing() -> Forbidden:
    """The answer to a reader who would write."""
    return Forbidden(
        "access.read-only",
        "this account may only read",
        hint="ask an admin for the role writer",
    )


def _check_definition(touched: Touched) -> None:
    if touched.existed:
        name = touched.ident_before or touched.ident or f"#{touched.id}"
        raise _admins_only(f"{name} exists: only admins change or delete classes and properties")
    for name in _protected(touched.mentions):
        raise _admins_only(f"only admins build upon {name}")


def _protected(names: Iterable[str]) -> Iterator[str]:
    return (name for name in sorted(names) if is_protected(name))


def refuse_reserved_workflow(caller: Caller, name: str) -> None:
    """Names of the house are given by admins and packs only, to workflows as to all else."""
    namespace = name.removeprefix(":").partition("/")[0].partition(".")[0]
    if not caller.may("admin") and namespace in _RESERVED | {"task", "validation", "prompt"}:
        raise _admins_only(f"the name {name[:80]} is reserved")


def _is_reserved(ident: str | None) -> bool:
    return ident is not None and ident.partition("/")[0].partition(".")[0] in _RESERVED


def _admins_only(message: str) -> Forbidden:
    return Forbidden(
        "schema.admin-only",
        message,
        hint="add a new class or property under a name of your own, or ask an admin",
    )


def effects_guard(workspace: str) -> Guard:
    """What the effects of transitions and activities may change: what a writer may."""
    return ProcessGuard(RoleGuard(Caller("effects", "writer", workspace)))
