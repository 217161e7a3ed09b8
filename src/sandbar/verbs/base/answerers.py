"""Who is to answer the questions of a workflow, as far as there is no such role or account."""

from __future__ import annotations

from collections.abc import Iterator

from sandbar.verbs.context import Context
from sandbar.workflow import NOT_STARTER, Machine


def unknown_answerers(context: Context, machine: Machine) -> Iterator[dict[str, str]]:
    """Names of no role and no account; only admins are told, who may list both."""
    if not context.db.caller.may("admin"):
        return
    for n, state in enumerate(machine.states.values()):
        by = () if state.input is None else state.input.by
        for name in by:
            if name != NOT_STARTER and not context.db.is_known_name(name):
                said = f"no role and no account is called {name} yet; accounts: user/anna"
                yield {"at": f"states[{n}].input.by", "message": said}
