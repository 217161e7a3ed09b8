"""Work that was asked for earlier and is done now: in whose name, if they still may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbar import clock
from sandbar.access.accounts import role_of
from sandbar.access.callers import Caller, local_caller
from sandbar.access.metamodel import ACTIVE, EXPIRES_AT
from sandbar.errors import Forbidden, NotFound
from sandbar.model import Workspace


def caller_again(
    workspace: Workspace, workspace_name: str, principal: str, kept: Mapping[str, Any] | None
) -> Caller:
    """Whoever asked, with the role that the account has now; refused if it has none any more."""
    if kept is None:
        raise _gone(principal)  # nobody's: it was started by what another process did
    account_id = kept.get("account")
    if account_id is None:
        return local_caller(workspace_name, principal)
    try:
        account = workspace.get(int(account_id))
    except NotFound:
        raise _gone(principal) from None
    role = role_of(account)
    expires = account.get(EXPIRES_AT)
    is_over = expires is not None and clock.us_of_text(expires) <= (clock.now_us())
    if account.get(ACTIVE) is not True or role is None or is_over:
        raise _gone(principal)
    return Caller(principal, role, workspace_name, account.entity_id)


def _gone(principal: str) -> Forbidden:
    return Forbidden(
        "access.no-longer",
        f"{principal} asked for this and may not do it any more",
        hint="ask an admin to let the account sign in again, and start the task anew",
    )
