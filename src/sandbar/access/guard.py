"""What somebody may not touch, whichever verb or operation it comes by.

Accounts, roles and whatever else descends from a class of the namespace `auth` belong to admins. So
does what speaks to every agent: packs, and prompts. So does the metamodel that exists: a writer may
add classes and properties, but only such as cannot change what others mean. A key or a role may be
limited to classes besides.
"""

from __future__ import annotations

from collections.abc import Iterable

from sandbar.access.callers import Caller
from sandbar.access.metamodel import NAMESPACE
from sandbar.access.protected import is_protected, refuse_protected
from sandbar.access.scope import Reach, is_within, reach_of, refuse_outside
from sandbar.errors import Forbidden
from sandbar.keywords import RESERVED, namespace
from sandbar.model import Introspection, Touched

# The record of a pack switches on its code and instructs every agent; a prompt is obeyed by those
# who choose it.
_SPEAKING = {"pack": "packs are loaded and changed", "prompt": "prompts are made and changed"}
_RESERVED = frozenset(RESERVED) - {"sandbar"}  # and what is below them, such as db.type
_RESERVED_WORKFLOWS = _RESERVED | {"task", "validation"}


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
        spoken = None if self._reach.governs_packs else _speaks(kinds)
        if spoken is not None:
            raise Forbidden(
                "entity.protected",
                f"{_SPEAKING[spoken]} by admins only: every agent is told what they say",
                hint="ask an admin; on the server's machine `sandbar pack add` loads packs, and"
                " `sandbar call` makes the change",
            )

    def shows(self, kinds: frozenset[str]) -> bool:
        """Whether what a write comes across may be told: who has a value, who refers to it."""
        if not self._reach.governs_access and any(map(is_protected, kinds)):
            return False
        return is_within(kinds, self._reach.read)

    def admit_name(self, name: str) -> None:
        """Nothing of access is looked for, be it there or not."""
        if not self._reach.governs_access and is_protected(name):
            raise refuse_protected()

    def admit_reference(self, slot: str, range: frozenset[str], kinds: frozenset[str]) -> None:
        """Any: what may refer to accounts is the same for all, and `HouseGuard` knows it."""

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made."""
        reach = self._reach
        if not reach.may_write:
            raise refuse_writing()
        self.admit(touched.kinds)
        if touched.ident != touched.ident_before and self._is_kept(touched.ident):
            raise _admins_only(f"the name {touched.ident} is reserved")
        if touched.is_definition:
            self._check_definition(touched)

    def _is_kept(self, ident: str | None) -> bool:
        """Whether a name is one that they may not give."""
        if ident is None or namespace(ident) not in _RESERVED:
            return False
        return not (namespace(ident) == NAMESPACE and self._reach.governs_access)

    def _check_definition(self, touched: Touched) -> None:
        name = touched.ident_before or touched.ident or f"#{touched.id}"
        # Whoever may change classes may not change those of the house, nor build on access.
        is_ours = namespace(name) in _RESERVED
        if touched.existed and (is_ours or not self._reach.governs_schema):
            raise _admins_only(
                f"{name} exists: only admins change or delete classes and properties"
            )
        for mentioned in sorted(touched.mentions):
            is_speaking = _speaks([mentioned]) is not None and not self._reach.governs_packs
            if is_protected(mentioned) or is_speaking:
                raise _admins_only(f"only admins build upon {mentioned}")


def refuse_writing() -> Forbidden:
    """The answer to a reader who would write."""
    return Forbidden(
        "access.read-only",
        "this account may only read",
        hint="ask an admin for the role writer",
    )


def speaking_classes(schema: Introspection) -> frozenset[str]:
    """The classes of which every agent is told what their instances say."""
    return schema.derived(
        "access.speaking",
        lambda: schema.below(name for name in schema.classes() if namespace(name) in _SPEAKING),
    )


def _speaks(kinds: Iterable[str]) -> str | None:
    """The namespace of the first such class among these."""
    return next((found for kind in kinds if (found := namespace(kind)) in _SPEAKING), None)


def refuse_reserved_workflow(caller: Caller, name: str) -> None:
    """Names of the house are given by admins and packs only, to workflows as to all else.

    Effects write what those may who define them, and that has to be anything: who is limited to
    some classes could not tell others which effects will be refused.
    """
    if caller.may("admin"):
        return
    if namespace(name) in _RESERVED_WORKFLOWS:
        raise _admins_only(f"the name {name[:80]} is reserved")
    everything = reach_of(caller.rights, "entity", "entity")
    if everything.write or not everything.may_write:
        raise refuse_outside("whatever the effects of a workflow may write")


def refuse_others_workflow(caller: Caller, name: str, makers: frozenset[str]) -> None:
    """A workflow is a prompt, and its questions bind all who follow it.

    So besides admins only its maker defines it anew, or gives another the name of its prompt.
    """
    others = makers - {caller.principal}
    if others and not caller.may("admin"):
        raise _admins_only(
            f"{name[:80]} is a workflow of {min(others)[:80]}, or named like one in prompts:"
            " only they and admins define it anew"
        )


def _admins_only(message: str) -> Forbidden:
    return Forbidden(
        "schema.admin-only",
        message,
        hint="choose a name of your own, or ask an admin",
    )
