"""Whether whoever holds a right key may come in, as whom, and what that verdict rests on."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, get_args

from sandbar import clock
from sandbar.access.callers import Caller, Limit, Via
from sandbar.access.metamodel import (
    ACTIVE,
    EXPIRES_AT,
    KEY,
    KEY_NAME,
    KEY_ROLES,
    OWNER,
    PRINCIPAL,
    ROLES,
    SERVICE_ACCOUNT,
    SUSPENDED,
    USER,
    WORKSPACE,
)
from sandbar.access.narrowing import narrowed_by
from sandbar.access.principals import principal_name
from sandbar.access.rights import Role
from sandbar.access.roles import Held, Pace, held_roles, is_kind, pace_of
from sandbar.errors import Forbidden, NotFound, Unauthenticated
from sandbar.model import Entity, Workspace

_BUILT_IN_NAMES = frozenset(get_args(Role))
MINTED_PACE = Pace(60, 60)  # of keys that begin with sk-, unless somebody says otherwise
_HINT = "send `Authorization: Bearer KEY`, or NAME:KEY; `sandbar key mint --name NAME` makes one"


class Admitted(NamedTuple):
    """A caller, and the entities that this verdict rests on with the t of their last change."""

    caller: Caller
    basis: dict[int, int] | None  # None: it rests on something that is not there

    def still_holds(self, workspace: Workspace) -> bool:
        """Whether all of them are as they were, in one look."""
        if self.basis is None:
            return False
        return workspace.credentials.last_changes(self.basis) == self.basis


def admit(
    workspace: Workspace,
    workspace_name: str,
    holder: Entity,
    via: Via,
    *,
    is_own: bool = False,
    may_be_suspended: bool = False,
    may_key_have_ended: bool = False,
) -> Admitted:
    """Who holds the key: a key that was minted for somebody, or an account with a key of its own.

    `is_own`: the workspace is the server's own, whose admins see to the others. What goes on by
    itself goes on in a suspended workspace, and a key that has ended narrows what was done with it.
    """
    key = holder if is_key(workspace, holder) else None
    if key is not None and not may_key_have_ended:
        _refuse_ended_key(key)
    account = holder if key is None else _owner(workspace, key)
    _refuse_ended_account(workspace, account)
    state = _workspace_entity(workspace)
    if state is not None and state.get(SUSPENDED) is True and not may_be_suspended:
        raise Forbidden(
            "workspace.suspended",
            "this workspace is suspended",
            hint="ask whoever runs the server; `sandbar workspace resume NAME` ends it",
        )
    held = held_roles(workspace, account.get(ROLES) or ())
    basis = {**held.basis, account.entity_id: account.t}
    rights, is_lacking = held.rights, held.is_lacking or state is None
    roles = held.names
    pace = pace_of(account).else_(held.pace)
    if state is not None:
        basis[state.entity_id] = state.t
    if key is not None:
        basis[key.entity_id] = key.t
        to = _roles_of_key(workspace, key)
        if to is not None:
            basis.update(to.basis)
            is_lacking = is_lacking or to.is_lacking
            pace = pace.and_at_most(to.pace)  # it narrows this as all else
            roles &= to.names
            rights = rights.narrowed(to=to.rights)
        rights = narrowed_by(key, rights)
        pace = pace_of(key).else_(pace)
    role = rights.role
    if role is None:
        raise refused_token("auth.inactive")
    caller = Caller(
        principal_name(account),
        role,
        workspace_name,
        account.entity_id,
        _earlier(account, None if may_key_have_ended else key),
        None if key is None else key.entity_id,
        None if key is None else str(key.get(KEY_NAME)),
        via,
        rights,
        _limit((key or account).entity_id, pace, via),
        is_own and role == "admin",
        frozenset(basis.items()),
        workspace.number,
        roles - _BUILT_IN_NAMES,  # those are what the rights amount to
    )
    return Admitted(caller, None if is_lacking else basis)


def is_key(workspace: Workspace, entity: Entity) -> bool:
    """Whether it is a key that was minted for somebody, not somebody."""
    return entity.class_ not in (SERVICE_ACCOUNT, USER) and is_kind(workspace, entity, KEY)


def is_principal(workspace: Workspace, entity: Entity) -> bool:
    """Whether it can sign in at all: what only looks like an account is none."""
    return entity.class_ in (SERVICE_ACCOUNT, USER) or is_kind(workspace, entity, PRINCIPAL)


def refused_token(code: str) -> Unauthenticated:
    """All that is wrong with a token reads alike; the code is for the log."""
    return Unauthenticated(code, "invalid token", hint=_HINT)


def refused_key() -> Forbidden:
    """The answer to a minted key that counts no more."""
    return Forbidden("auth.revoked", "this key has been revoked", hint="ask an admin for a new one")


def _refuse_ended_key(key: Entity) -> None:
    if key.get(ACTIVE) is not True:
        raise refused_key()
    if _is_over(key):
        raise refused_token("auth.expired")


def _refuse_ended_account(workspace: Workspace, account: Entity) -> None:
    if not is_principal(workspace, account):
        raise refused_token("auth.unknown")
    if account.get(ACTIVE) is not True:
        raise refused_token("auth.inactive")
    if _is_over(account):
        raise refused_token("auth.expired")


def _owner(workspace: Workspace, key: Entity) -> Entity:
    if OWNER not in key.slots:  # whoever it was has been purged
        raise refused_token("auth.unknown")
    try:
        return workspace.get(key[OWNER])
    except NotFound:
        raise refused_token("auth.unknown") from None


def _workspace_entity(workspace: Workspace) -> Entity | None:
    try:
        return workspace.get(WORKSPACE)
    except NotFound:
        return None  # an earlier version made it, and nobody has brought it up to date


def _roles_of_key(workspace: Workspace, key: Entity) -> Held | None:
    """The roles that a key is narrowed to, if it is."""
    names = key.get(KEY_ROLES)
    return held_roles(workspace, names) if names else None


def _limit(bucket_id: int, said: Pace, via: Via) -> Limit | None:
    """What somebody has said, else what such keys have."""
    per_minute = said.per_minute
    if per_minute is None and via == "api-key":
        per_minute = MINTED_PACE.per_minute
    return Limit(per_minute, said.burst or per_minute, bucket_id) if per_minute else None


def _earlier(account: Entity, key: Entity | None) -> int | None:
    ends = (_end_us(one) for one in (account, key) if one is not None)
    return min((us for us in ends if us is not None), default=None)


def _is_over(entity: Entity) -> bool:
    end_us = _end_us(entity)
    return end_us is not None and clock.now_us() >= end_us


def _end_us(entity: Entity) -> int | None:
    text = entity.get(EXPIRES_AT)
    return None if text is None else clock.instant_us(datetime.fromisoformat(text))
