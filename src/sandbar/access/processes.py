"""What only the verbs of workflows may change, whoever asks: processes, their history, definitions.

A process that could be edited by hand would be no witness of what happened.
"""

from __future__ import annotations

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
_SUBJECT = frozenset({"workflow/subject"})


def kept_classes(schema: Introspection) -> frozenset[str]:
    """The classes of which nobody makes instances by hand, and all below them."""
    return schema.derived("access.kept", lambda: _kept_classes(schema))


def _kept_classes(schema: Introspection) -> frozenset[str]:
    roots = _VERBS.keys() & set(schema.classes())
    return frozenset(roots).union(name for root in roots for name in schema.subclasses(root))


class ProcessGuard:
    """Refuses what generic verbs may not change; asks the guard of a role besides."""

    def __init__(self, role_guard: Guard | None) -> None:
        self._role_guard = role_guard

    def admit(self, kinds: frozenset[str]) -> None:
        """Whether an entity of these classes may be worked on at all."""
        if self._role_guard is not None:
            self._role_guard.admit(kinds)

    def touch(self, touched: Touched) -> None:
        """Whether this change may be made."""
        for kind, verbs in _VERBS.items():
            # What a process was about may be deleted: the process then is about nothing.
            is_detached = touched.existed and touched.changed == touched.detached == _SUBJECT
            if kind in touched.kinds and not is_detached:
                raise Forbidden(
                    "entity.protected",
                    f"entities of {kind} are changed by the verbs of workflows only",
                    hint=verbs,
                )
        if self._role_guard is not None:
            self._role_guard.touch(touched)
