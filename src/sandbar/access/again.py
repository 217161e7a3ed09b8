"""Work that was asked for earlier and is done now: in whose name, if they still may.

The effects of a transition act with the rights of the account that makes it, timers and activities
with those of the account that started the process; both within those of the workflow's definer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sandbar import clock
from sandbar.access.admission import Admitted, admit
from sandbar.access.callers import Caller, Role, local_caller
from sandbar.access.guarded import Guarded
from sandbar.access.principals import LOCAL, find_principal
from sandbar.access.rights import rights_of_role
from sandbar.access.scope import Reach, reach_of
from sandbar.errors import Conflict, Forbidden, Incorrect, NotFound, Unauthenticated
from sandbar.model import Entity, Workspace

Kept = Mapping[str, Any]
Named = tuple[str, Kept]  # a principal, and what was kept of it; nothing by an earlier version

_DOOR = ("workflow", "workflow.start-process")  # by which most processes begin
_WRITING = ("entity", "entity")  # what those must be allowed who define effects
_HOUSE = frozenset({LOCAL, "sandbar"})
_PACKS = "pack/"
_KNOWN_MAX = 1024


def caller_again(
    workspace: Workspace, workspace_name: str, principal: str, kept: Kept | None
) -> Caller:
    """Whoever asked, with the rights that the account and the key have now; refused if none."""
    if kept is None:
        raise _gone(principal)
    if kept.get("account") is None:
        return _without_account(workspace_name, principal, kept)
    try:
        caller = admit(workspace, workspace_name, _holder(workspace, kept), _via(kept)).caller
    except (NotFound, Unauthenticated, Forbidden):
        raise _gone(principal) from None
    if not _is_theirs(caller, kept):
        raise _gone(principal)
    return caller


def remembered(caller: Caller, door: tuple[str, str] = _DOOR) -> dict[str, Any]:
    """What is kept of a caller who asks by a verb of a group, to act for it later."""
    kept: dict[str, Any] = {
        "account": caller.account_id,
        "role": caller.role,
        "key": caller.key_id,
        "via": caller.via,
    }
    if reach_of(caller.rights, *door) != reach_of(caller.rights, *_DOOR):
        kept["verb"] = list(door)  # by others they may do more, or less
    return kept


class Authority:
    """The rights that the work of a workspace's processes has, as these are at the moment."""

    def __init__(self, workspace: Workspace, workspace_name: str) -> None:
        self._workspace = workspace
        self._workspace_name = workspace_name
        self._known: OrderedDict[tuple[Any, ...], Admitted] = OrderedDict()

    def __call__(self, mover: Named, definer: Named) -> Guarded:
        """The workspace as the mover may see and change it, as far as the definer may, too.

        Refused if either may nothing any more. Inside a transaction their rights hold at its end.
        """
        principal, kept = mover
        if "account" in kept:
            caller = self._caller(principal, kept, _gone(principal))
            bounds: list[Reach] = []
            if not caller.may("admin"):
                # A key for a few verbs makes their transitions whole; its owner's roles hold.
                bounds.append(reach_of(caller.rights.of_owner, *_WRITING))
        else:
            caller = self._unrecorded(principal, _gone(principal))
            bounds = [_as_writer()]
        bounds += self._bounds([definer, *_within(kept)])
        group, verb = kept.get("verb") or _DOOR
        return Guarded(self._workspace, caller, group, verb, bounds)

    def _bounds(self, definers: Sequence[Named]) -> Iterator[Reach]:
        for principal, kept in definers:
            gone = _definer_gone(principal)
            if "account" in kept:
                caller = self._caller(principal, kept, gone, is_definer=True)
            elif principal in _HOUSE or principal.startswith(_PACKS):
                continue
            else:
                caller = self._unrecorded(principal, gone)
                yield _as_writer()
            if not caller.may("admin"):
                yield reach_of(caller.rights, *_WRITING)

    def _caller(
        self, principal: str, kept: Kept, gone: Forbidden, *, is_definer: bool = False
    ) -> Caller:
        """An account as it is now; the key narrows it, and ends what it has started."""
        if kept["account"] is None:
            return _without_account(self._workspace_name, principal, kept)
        case = (kept["account"], kept.get("key"), _via(kept), is_definer)
        admitted = self._known.get(case)
        if admitted is None or not admitted.still_holds(self._workspace):
            try:
                holder = _holder(self._workspace, kept)
                admitted = self._admitted(holder, kept, may_key_have_ended=is_definer)
            except (NotFound, Unauthenticated, Forbidden):
                raise gone from None
            if not _is_theirs(admitted.caller, kept):
                raise gone
            self._keep(case, admitted)
        return _not_over(admitted.caller, gone)

    def _unrecorded(self, principal: str, gone: Forbidden) -> Caller:
        """One of whom an earlier version kept the name only; a plain name is the library's."""
        if "/" not in principal and not principal.startswith("#"):
            return Caller(principal, "writer", self._workspace_name)
        try:
            account = find_principal(self._workspace, principal)
            if account is None:
                raise gone
            admitted = self._admitted(account, {}, may_key_have_ended=True)
        except (NotFound, Unauthenticated, Forbidden, Incorrect, Conflict):
            raise gone from None
        return _not_over(admitted.caller, gone)

    def _admitted(self, holder: Entity, kept: Kept, *, may_key_have_ended: bool) -> Admitted:
        return admit(
            self._workspace,
            self._workspace_name,
            holder,
            _via(kept),
            may_be_suspended=True,
            may_key_have_ended=may_key_have_ended,
        )

    def _keep(self, case: tuple[Any, ...], admitted: Admitted) -> None:
        """Only what rests on what is committed: a number that is not may yet mean another state."""
        basis = admitted.basis
        if basis is None or max(basis.values()) > self._workspace.standing().t:
            self._known.pop(case, None)
            return
        self._known[case] = admitted
        while len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)


def _within(kept: Kept) -> list[Named]:
    """Who has defined the workflows that have started a process one after another."""
    return [(str(one["principal"]), one) for one in kept.get("within") or ()]


def _without_account(workspace_name: str, principal: str, kept: Kept) -> Caller:
    """One that needs no account: it has the database, or speaks for a role alone."""
    role = cast(Role, kept.get("role") or "admin")
    if role == "admin":
        return local_caller(workspace_name, principal)
    return Caller(principal, role, workspace_name)


def _holder(workspace: Workspace, kept: Kept) -> Entity:
    key = kept.get("key")
    return workspace.get(int(kept["account"] if key is None else key))


def _via(kept: Kept) -> Any:
    return kept.get("via") or "service-key"


def _is_theirs(caller: Caller, kept: Kept) -> bool:
    """Whether the key is still one of the account's, and a key."""
    return caller.account_id == int(kept["account"]) and caller.key_id == kept.get("key")


def _not_over(caller: Caller, gone: Forbidden) -> Caller:
    if caller.expires_us is not None and clock.now_us() >= caller.expires_us:
        raise gone
    return caller


def _as_writer() -> Reach:
    return reach_of(rights_of_role("writer"), *_WRITING)


def _gone(principal: str) -> Forbidden:
    return Forbidden(
        "access.no-longer",
        f"{principal} asked for this and may not do it any more",
        hint="ask an admin to let the account sign in again, and start the task anew",
    )


def _definer_gone(principal: str) -> Forbidden:
    return Forbidden(
        "access.no-longer",
        f"{principal} has defined this workflow and may do nothing any more",
        hint="so neither may its effects; ask an admin to define another version of it"
        " (workflow.define), which new processes follow, or to let the account sign in again",
    )
