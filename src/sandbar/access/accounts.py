"""Service accounts: making, listing and revoking them; people can be revoked here, too."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import msgspec

from sandbar import clock
from sandbar.access.callers import Role
from sandbar.access.keyring import end_key, keep_key, keys_of
from sandbar.access.keys import KEY_PREFIX, MINTED_START, check_chosen_key, key_digest, mint_key
from sandbar.access.metamodel import (
    ACTIVE,
    API_KEY,
    CREATED_AT,
    EXPIRES_AT,
    KEY,
    OWNER,
    ROLES,
    SERVICE_ACCOUNT,
    SERVICE_NAME,
    install_access,
)
from sandbar.access.narrowing import pace_slots
from sandbar.access.principals import (
    LOCAL,
    each_of,
    each_principal,
    find_account,
    find_principal,
    known_role,
    new_service_name,
    principal_name,
    service_name,
    short_name,
)
from sandbar.errors import Conflict, NotFound
from sandbar.model import Create, Entity, Operation, Update, Workspace
from sandbar.suggestions import did_you_mean

__all__ = [
    "Account",
    "NewAccount",
    "account_of",
    "add_account",
    "end_keys_of",
    "find_account",
    "list_accounts",
    "revoke",
    "role_of",
    "service_name",
    "set_role",
]

ROLES_BY_STRENGTH: tuple[Role, ...] = ("admin", "writer", "reader")


class Account(msgspec.Struct, frozen=True, rename="kebab"):
    """Somebody who may sign in, without anything that is secret."""

    entity_id: int
    name: str
    role: str | None
    is_active: bool
    created_at: str | None
    expires_at: str | None


class NewAccount(msgspec.Struct, frozen=True):
    """An account and the token that signs in as it: shown now, and never again."""

    account: Account
    token: str
    is_minted: bool


def add_account(
    workspace: Workspace,
    name: str,
    api_key: str | None = None,
    role: str = "writer",
    *,
    rate_limit: int | None = None,
    burst: int | None = None,
    prefix: str = KEY_PREFIX,
    principal: str = LOCAL,
) -> NewAccount:
    """Make an account with the chosen key, or with a minted one, which bears the account's name.

    An account that was revoked is given the new key and is active again; its old keys are not.
    `rate_limit` is in requests a minute, 0 for none; it counts for each key of the account.
    """
    full_name = new_service_name(name)
    minted = mint_key(prefix) if api_key is None else None
    chosen = None if api_key is None else check_chosen_key(api_key)
    pace = pace_slots(rate_limit, burst)
    install_access(workspace)

    def work() -> int:
        roles = [known_role(workspace, role)]
        known = find_account(workspace, full_name)
        if known is None:
            operation: Operation = _creation(full_name, chosen, roles, pace)
        elif known.get(ACTIVE) is True:
            raise Conflict(
                "account.exists",
                f"there is an account {full_name} already",
                hint="revoke it first to give it a new key, or choose another name;"
                f" `sandbar key mint --name NAME --user {shlex.quote(full_name)}` gives it one"
                " more",
            )
        else:
            end_keys_of(workspace, known, principal=principal)
            slots = {ACTIVE: True, ROLES: roles, API_KEY: chosen, EXPIRES_AT: None, **pace}
            operation = Update(entity=known.entity_id, set=slots)
        written = workspace.transact([operation], principal=principal)
        if minted is not None:
            account = workspace.get(written.entity_id)
            keep_key(workspace, short_name(full_name), account, minted, {}, principal=principal)
        return written.entity_id

    id = workspace.run(work, principal=principal, reason=f"account {full_name}")
    token = minted or f"{short_name(full_name)}:{chosen}"
    return NewAccount(account_of(workspace.get(id)), token, minted is not None)


def list_accounts(workspace: Workspace) -> list[Account]:
    """All service accounts, by name."""
    install_access(workspace)
    found = map(account_of, each_of(workspace, SERVICE_ACCOUNT))
    return sorted(found, key=lambda account: account.name)


def revoke(workspace: Workspace, name_or_key: str, *, principal: str = LOCAL) -> Account:
    """Let an account sign in no more; given a minted key, let only that key count no more."""
    install_access(workspace)
    if name_or_key.startswith(MINTED_START):
        return _revoke_key(workspace, name_or_key, principal)
    account = _known_account(workspace, name_or_key)
    workspace.transact(
        [Update(entity=account.entity_id, set={ACTIVE: False})],
        principal=principal,
        reason=f"account {principal_name(account)} revoked",
    )
    return account_of(workspace.get(account.entity_id))


def set_role(workspace: Workspace, name: str, role: str, *, principal: str = LOCAL) -> Account:
    """Give an account another role."""
    install_access(workspace)
    roles = [known_role(workspace, role)]
    account = _known_account(workspace, name)
    operation = Update(entity=account.entity_id, set={ROLES: roles})
    workspace.transact([operation], principal=principal)
    return account_of(workspace.get(account.entity_id))


def end_keys_of(workspace: Workspace, holder: Entity, *, principal: str) -> None:
    """Inside `run`: no key that somebody has had so far counts any more."""
    for key in keys_of(workspace, holder):
        end_key(workspace, key, principal=principal)
    # Keys of a version before they had names belong to the account itself.
    workspace.credentials.revoke_tokens(holder.entity_id)


def account_of(entity: Entity) -> Account:
    """An account as it may be shown."""
    custom = [role for role in entity.get(ROLES) or () if role not in ROLES_BY_STRENGTH]
    return Account(
        entity.entity_id,
        principal_name(entity),
        ", ".join(filter(None, (role_of(entity), *custom))) or None,
        entity.get(ACTIVE) is True,
        entity.get(CREATED_AT),
        entity.get(EXPIRES_AT),
    )


def role_of(entity: Entity) -> Role | None:
    """The strongest of an account's built-in roles."""
    held = entity.get(ROLES) or ()
    return next((role for role in ROLES_BY_STRENGTH if role in held), None)


def _creation(
    full_name: str, chosen: str | None, roles: list[str], pace: Mapping[str, int | None]
) -> Create:
    slots: dict[str, Any] = {
        SERVICE_NAME: full_name,
        ACTIVE: True,
        ROLES: roles,
        CREATED_AT: clock.instant_text(clock.now_us()),
    }
    said = {API_KEY: chosen, **pace}
    slots |= {slot: value for slot, value in said.items() if value is not None}
    return Create(class_=SERVICE_ACCOUNT, slots=slots)


def _known_account(workspace: Workspace, name: str) -> Entity:
    """The program or the person of that name."""
    found = find_principal(workspace, name)
    if found is None:
        names = [principal_name(one) for one in each_principal(workspace)]
        near = did_you_mean(name, dict.fromkeys([*names, *map(short_name, names)]))
        raise NotFound(
            "account.unknown",
            f"neither a program nor a person is called {name[:80]}",
            hint=near or "`sandbar account list` lists them",
        )
    return found


def _revoke_key(workspace: Workspace, key: str, principal: str) -> Account:
    digest = key_digest(key)
    token = workspace.credentials.token(digest)
    # A key of another workspace is none of this one's business.
    if token is None or not workspace.credentials.owns(token):
        raise NotFound(
            "key.unknown",
            "this key was not minted here",
            hint="give the whole key; `sandbar key revoke NAME` takes its name, and"
            " `sandbar account revoke NAME` ends an account",
        )

    def work() -> int:
        holder = workspace.get(token.id)
        if holder.class_ == KEY:
            end_key(workspace, holder, principal=principal)
            return workspace.get(holder[OWNER]).entity_id
        workspace.credentials.revoke_token(token.id, digest)
        return token.id

    id = workspace.run(work, principal=principal, reason="a key was revoked")
    return account_of(workspace.get(id))
