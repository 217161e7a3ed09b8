"""Work that was asked for earlier and is done now: in whose name, if they still may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbar.access.admission import admit
from sandbar.access.callers import Caller, local_caller
from sandbar.errors import Forbidden, NotFound, Unauthenticated
from sandbar.model import Workspace


def caller_again(
    workspace: Workspace, workspace_name: str, principal: str, kept: Mapping[str, Any] | None
) -> Caller:
    """Whoever asked, with the rights that the account and the key have now; refused if none."""
    if kept is None:
        raise _gone(principal)  # nobody's: it was started by what another process did
    account_id = kept.get("account")
    if account_id is None:
        return local_caller(workspace_name, principal)
    key_id = kept.get("key")
    try:
        holder = workspace.get(int(account_id if key_id is None else key_id))
        caller = admit(workspace, workspace_name, holder, kept.get("via") or "service-key").caller
    except (NotFound, Unauthenticated, Forbidden):
        raise _gone(principal) from None
    if caller.account_id != int(account_id) or caller.key_id != key_id:
        raise _gone(principal)  # the key is somebody else's by now, or no key
    return caller


def remembered(caller: Caller) -> dict[str, Any]:
    """What is kept of whoever asks, to be them again later."""
    return {
        "account": caller.account_id,
        "role": caller.role,
        "key": caller.key_id,
        "via": caller.via,
    }


def _gone(principal: str) -> Forbidden:
    return Forbidden(
        "access.no-longer",
        f"{principal} asked for this and may not do it any more",
        hint="ask an admin to let the account sign in again, and start the task anew",
    )
