"""What holds for every writer, admins included.

Only the verbs of workflows change processes, their history and definitions: a process that could be
edited by hand would be no witness of what happened. And only slots that are made for it refer to
accounts, keys and roles: a reference keeps what it names from being deleted.
"""

from __future__ import annotations

from sandbar.access.protected import is_protected
from sandbar.errors import Forbidden
from sandbar.model import Guard, Introspection, Touched

_VERBS = {
    "workflow/Process": "workflow.start-process begins a process, workflow.transition moves it on, "
    "task.cancel ends it; what it is about can be deleted with mode detach",
    "workflow/History": "workflow.transition writes history; workflow.process-history reads it",
    "workflow/Definition": "workflow.define makes a definition or a new version of one",
    "workflow/State": "workflow.define makes states",
    "workflow/Transition": "workflow.define makes transitions",
}
_DEFINITIONS = frozenset({"workflow/Definition", "workflow/State", "workflow/Transition"})
_SUBJECT = frozenset({"workflow/subject"})


def kept_classes(schema: Introspection) -> frozenset[str]:
    """The classes of which nobody makes instances by hand, and all below them."""
    return schema.derived("access.kept", lambda: schema.below(_VERBS))


def refuse_purge(kinds: frozenset[str]) -> None:
    """Definitions stay as long as there may be processes that follow them."""
    for kind in kinds & _DEFINITIONS:
        raise Forbidden(
            "entity.protected",
            f"entities of {kind} cannot be purged: processes follow them",
            hint="workflow.define makes a new version; processes and their history can be purged",
        )


class HouseGuard:
    """Refuses what no writer may do by generic verbs; asks the guard of a role besides."""

    def __init__(self, role_guard: Guard | None) -> None:
        self._role_guard = role_guard

    def admit(self, kinds: frozenset[str], *, is_new: bool = False) -> None:
        """Whether an entity of these classes may be worked on, or made, at all."""
        if is_new and not kinds.isdisjoint(_VERBS):
            raise _protected(kinds)  # before anybody mends what cannot be made anyway
        if self._role_guard is not None:
            self._role_guard.admit(kinds, is_new=is_new)

    def shows(self, kinds: frozenset[str]) -> bool:
        """Whether entities of these classes may be named to whoever writes."""
        return self._role_guard is None or self._role_guard.shows(kinds)

    def admit_name(self, name: str) -> None:
        """Whether an entity may be looked for by this ident, or by a value of this slot."""
        if self._role_guard is not None:
            self._role_guard.admit_name(name)

    def admit_reference(self, slot: str, range: frozenset[str], kinds: frozenset[str]) -> None:
        """Whether a slot whose range has these classes may refer to an entity of those."""
        if not any(map(is_protected, kinds)) or any(map(is_protected, (slot, *range))):
            return
        raise Forbidden(
            "entity.protected",
            f"{slot} cannot refer to an account, a key or anything else that belongs to signing in",
            hint="name the account by its name, as text; an admin can make a slot whose dt/range "
            "is auth/Principal",
        )

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made."""
        if not touched.kinds.isdisjoint(_VERBS):
            # What a process was about may be deleted: the process then is about nothing.
            is_detached = touched.existed and touched.changed == touched.detached == _SUBJECT
            if not is_detached:
                raise _protected(touched.kinds)
        if self._role_guard is not None:
            self._role_guard.touch(touched)


def _protected(kinds: frozenset[str]) -> Forbidden:
    kind = min(kinds & _VERBS.keys())
    return Forbidden(
        "entity.protected",
        f"entities of {kind} are changed by the verbs of workflows only",
        hint=_VERBS[kind],
    )
