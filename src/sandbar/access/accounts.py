"""Service accounts: making, listing and revoking them, and their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, get_args

import msgspec

from sandbar import clock
from sandbar.access.callers import Role
from sandbar.access.keys import KEY_PREFIX, MINTED_START, check_chosen_key, key_digest, mint_key
from sandbar.access.metamodel import (
    ACTIVE,
    API_KEY,
    CREATED_AT,
    EXPIRES_AT,
    ROLES,
    SERVICE_ACCOUNT,
    SERVICE_NAME,
    install_access,
)
from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.keywords import parse_keyword
from sandbar.model import Create, Entity, Operation, Update, Workspace

_NAMESPACE = "service"
_LOCAL = "local"
_PAGE = 500

ROLES_BY_STRENGTH: tuple[Role, ...] = ("admin", "writer", "reader")


class Account(msgspec.Struct, frozen=True, rename="kebab"):
    """A service account, without anything that is secret."""

    entity_id: int
    name: str
    role: Role | None
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
    role: Role = "writer",
    *,
    prefix: str = KEY_PREFIX,
    principal: str = _LOCAL,
) -> NewAccount:
    """Make an account with the chosen key, or with a minted one.

    An account that was revoked is given the new key and is active again; its old keys are not.
    """
    _check_role(role)
    full_name = service_name(name)
    minted = mint_key(prefix) if api_key is None else None
    chosen = None if api_key is None else check_chosen_key(api_key)
    install_access(workspace)

    def work() -> int:
        known = find_account(workspace, full_name)
        if known is None:
            operation: Operation = _creation(full_name, chosen, role)
        elif known.get(ACTIVE) is True:
            raise Conflict(
                "account.exists",
                f"there is an account {full_name} already",
                hint="revoke it first to give it a new key, or choose another name",
            )
        else:
            slots = {ACTIVE: True, ROLES: [role], API_KEY: chosen, EXPIRES_AT: None}
            operation = Update(entity=known.entity_id, set=slots)
        written = workspace.transact([operation], principal=principal)
        workspace.credentials.revoke_tokens(written.entity_id)
        if minted is not None:
            workspace.credentials.keep_token(written.entity_id, key_digest(minted))
        return written.entity_id

    id = workspace.run(work, principal=principal, reason=f"account {full_name}")
    token = minted or f"{_short(full_name)}:{chosen}"
    return NewAccount(account_of(workspace.get(id)), token, minted is not None)


def list_accounts(workspace: Workspace) -> list[Account]:
    """All service accounts, by name."""
    install_access(workspace)
    return sorted((account_of(e) for e in _each_account(workspace)), key=lambda a: a.name)


def revoke(workspace: Workspace, name_or_key: str, *, principal: str = _LOCAL) -> Account:
    """Let an account sign in no more; given a minted key, let only that key count no more."""
    install_access(workspace)
    if name_or_key.startswith(MINTED_START):
        return _revoke_key(workspace, name_or_key, principal)
    account = _known_account(workspace, name_or_key)
    workspace.transact(
        [Update(entity=account.entity_id, set={ACTIVE: False})],
        principal=principal,
        reason=f"account {account[SERVICE_NAME]} revoked",
    )
    return account_of(workspace.get(account.entity_id))


def set_role(workspace: Workspace, name: str, role: Role, *, principal: str = _LOCAL) -> Account:
    """Give an account another role."""
    _check_role(role)
    install_access(workspace)
    account = _known_account(workspace, name)
    operation = Update(entity=account.entity_id, set={ROLES: [role]})
    workspace.transact([operation], principal=principal)
    return account_of(workspace.get(account.entity_id))


def service_name(name: str) -> str:
    """`claude` is short for `service/claude`."""
    keyword = parse_keyword(name)
    return keyword if "/" in keyword else f"{_NAMESPACE}/{keyword}"


def find_account(workspace: Workspace, name: str) -> Entity | None:
    """What has this service name: as it is written, or in the usual namespace."""
    keyword = parse_keyword(name)
    for spelled in dict.fromkeys((service_name(keyword), keyword)):
        try:
            return workspace.get({SERVICE_NAME: spelled})
        except NotFound:
            continue
    return None


def account_of(entity: Entity) -> Account:
    """An account as it may be shown."""
    return Account(
        entity.entity_id,
        entity[SERVICE_NAME],
        role_of(entity),
        entity.get(ACTIVE) is True,
        entity.get(CREATED_AT),
        entity.get(EXPIRES_AT),
    )


def role_of(entity: Entity) -> Role | None:
    """The strongest of an account's roles."""
    held = entity.get(ROLES) or ()
    return next((role for role in ROLES_BY_STRENGTH if role in held), None)


def _creation(full_name: str, chosen: str | None, role: Role) -> Create:
    slots = {
        SERVICE_NAME: full_name,
        ACTIVE: True,
        ROLES: [role],
        CREATED_AT: clock.instant_text(clock.now_us()),
    }
    if chosen is not None:
        slots[API_KEY] = chosen
    return Create(class_=SERVICE_ACCOUNT, slots=slots)


def _known_account(workspace: Workspace, name: str) -> Entity:
    found = find_account(workspace, name)
    if found is None:
        raise NotFound(
            "account.unknown",
            f"there is no account {service_name(name)}",
            hint="`sandbar account list` lists them",
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
            hint="give the whole key, or the account's name to revoke the account",
        )

    def work() -> None:
        workspace.credentials.revoke_token(token.id, digest)

    workspace.run(work, principal=principal, reason="a key was revoked")
    return account_of(workspace.get(token.id))


def _each_account(workspace: Workspace) -> Iterator[Entity]:
    cursor = None
    while True:
        page = workspace.query(SERVICE_ACCOUNT, limit=_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _check_role(role: str) -> None:
    if role not in get_args(Role):
        raise Incorrect(
            "account.role",
            f"{role[:40]!r} is no role",
            hint=f"one of {', '.join(cast(tuple[str, ...], get_args(Role)))}",
        )


def _short(full_name: str) -> str:
    return full_name.removeprefix(f"{_NAMESPACE}/")
