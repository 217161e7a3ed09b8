"""People who have an account: making and listing them. How they sign in by themselves comes later;
until then they sign in with the keys that are minted for them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec

from sandbar import clock
from sandbar.access.accounts import end_keys_of
from sandbar.access.metamodel import (
    ACTIVE,
    CREATED_AT,
    EXPIRES_AT,
    OWNS,
    ROLES,
    USER,
    USER_NAME,
    install_access,
)
from sandbar.access.narrowing import pace_slots
from sandbar.access.principals import (
    LOCAL,
    each_of,
    find_owner,
    find_user,
    known_role,
    new_user_name,
    principal_name,
)
from sandbar.access.wishes import Wishes
from sandbar.errors import Conflict, Incorrect
from sandbar.model import Create, Entity, Operation, Update, Workspace

EMAIL = "auth/email"
_EMAIL = re.compile(r"[^\s@\x00-\x1f\x7f]{1,64}@[^\s@\x00-\x1f\x7f]{1,189}")


class User(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A person."""

    entity_id: int
    name: str
    email: str | None
    roles: list[str]
    is_active: bool
    is_owner: bool
    created_at: str | None
    expires_at: str | None


def add_user(
    workspace: Workspace,
    name: str,
    *,
    email: str | None = None,
    role: str = "writer",
    rate_limit: int | None = None,
    burst: int | None = None,
    principal: str = LOCAL,
) -> User:
    """Make a person known; whoever was revoked may sign in again, with keys minted from now on."""
    install_access(workspace)
    wishes = Wishes()
    full_name = wishes.look("name", lambda: new_user_name(name)) or ""
    wishes.look("email", lambda: check_email(email))
    role = wishes.look("role", lambda: known_role(workspace, role)) or role
    pace = wishes.look("rate-limit", lambda: pace_slots(rate_limit, burst)) or {}
    wishes.refuse()
    now = clock.instant_text(clock.now_us())
    said = {USER_NAME: full_name, ROLES: [role], CREATED_AT: now, EMAIL: email, **pace}
    slots: dict[str, Any] = {slot: value for slot, value in said.items() if value is not None}

    def work() -> int:
        known = find_user(workspace, full_name)
        if known is None:
            operation: Operation = Create(class_=USER, slots=slots)
        elif known.get(ACTIVE) is True:
            raise Conflict(
                "user.exists",
                f"{full_name} is known already",
                hint=f"`sandbar key mint --name NAME --user {shlex.quote(full_name)}`"
                " gives them a key",
            )
        else:
            end_keys_of(workspace, known, principal=principal)
            operation = Update(
                entity=known.entity_id, set={**slots, **pace, ACTIVE: True, EXPIRES_AT: None}
            )
        return workspace.transact([operation], principal=principal).entity_id

    id = workspace.run(work, principal=principal, reason=f"user {full_name}")
    return user_of(workspace.get(id))


def name_owner(
    workspace: Workspace, name: str | None, email: str | None, *, principal: str = LOCAL
) -> User:
    """Say who the owner of the workspace is; what is not given stays as it is."""
    install_access(workspace)
    wishes = Wishes()
    full_name = None if name is None else wishes.look("owner", lambda: new_user_name(name))
    wishes.look("email", lambda: check_email(email))
    wishes.refuse()
    owner = find_owner(workspace)
    assert owner is not None, "install_access has made one"
    given = {USER_NAME: full_name, EMAIL: email}
    slots = {slot: value for slot, value in given.items() if value is not None}
    if slots:
        operation = Update(entity=owner.entity_id, set=slots)
        workspace.transact([operation], principal=principal, reason="the workspace's owner")
    return user_of(workspace.get(owner.entity_id))


def list_users(workspace: Workspace) -> list[User]:
    """All people, by name."""
    install_access(workspace)
    return sorted(map(user_of, each_of(workspace, USER)), key=lambda one: one.name)


def user_of(entity: Entity) -> User:
    """A person as admins see them."""
    return User(
        entity_id=entity.entity_id,
        name=principal_name(entity),
        email=entity.get(EMAIL),
        roles=list(entity.get(ROLES) or ()),
        is_active=entity.get(ACTIVE) is True,
        is_owner=entity.get(OWNS) is not None,
        created_at=entity.get(CREATED_AT),
        expires_at=entity.get(EXPIRES_AT),
    )


def check_email(email: str | None) -> None:
    """An address as it is written; whether mail arrives there, nobody can tell."""
    if email is not None and _EMAIL.fullmatch(email) is None:
        raise Incorrect(
            "user.email", f"{email[:80]!r} is no e-mail address", hint="such as anna@example.com"
        )
