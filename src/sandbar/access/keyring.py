"""Keys: minting, listing, rotating and revoking them.

A key is an entity that belongs to a person or a program and may do at most what they may. Its
secret is shown when it is minted and never again: only a digest is kept, and no history, reason
or record of a request ever has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from sandbar import clock
from sandbar.access.keys import (
    KEY_PREFIX,
    holds_secret,
    key_digest,
    mint_key,
    secret_in,
    shown_part,
)
from sandbar.access.metamodel import (
    ACTIVE,
    CREATED_AT,
    EXPIRES_AT,
    KEY,
    KEY_NAME,
    KEY_SHOWN,
    OWNER,
    USER,
    install_access,
)
from sandbar.access.narrowing import (
    NARROWINGS,
    Key,
    KeyState,
    Narrowing,
    narrowing_slots,
    narrowings_of,
)
from sandbar.access.principals import (
    LOCAL,
    each_of,
    each_principal,
    find_owner,
    known_principal,
    principal_name,
    short_name,
)
from sandbar.access.wishes import Wishes
from sandbar.errors import Conflict, Incorrect, NotFound
from sandbar.keywords import composed, parse_keyword, spellings
from sandbar.model import Create, Entity, Operation, Update, Workspace
from sandbar.suggestions import did_you_mean

_NOBODY = "nobody"  # the owner of a key whose owner was purged: it opens nothing any more


class Minted(msgspec.Struct, frozen=True):
    """A key, and the token that signs in with it: shown now, and never again."""

    key: Key
    token: str


def mint(
    workspace: Workspace,
    name: str,
    *,
    user: str | None = None,
    prefix: str = KEY_PREFIX,
    principal: str = LOCAL,
    reason: str | None = None,
    idempotency_key: str | None = None,
    known_verbs: Collection[str] | None = None,
    **narrowing: Any,
) -> Minted:
    """Make a key for a person or a program; without `user` for the workspace's owner.

    It may do what they may, or less, if it is narrowed by any field of `Narrowing`. The patterns of
    its verbs must mean some of `known_verbs`, if it is told which there are.
    """
    install_access(workspace)
    token = mint_key(prefix)
    narrowed = Narrowing(**narrowing)
    asked = ["key.mint", name, user, narrowed, prefix]

    def work() -> int:
        _refuse_replay(workspace, principal, idempotency_key, asked)
        wishes = Wishes()
        full_name = wishes.look("name", lambda: _key_name(name))
        holder = wishes.look("user", lambda: _holder(workspace, user))
        slots = narrowing_slots(workspace, wishes, narrowed, known_verbs)
        wishes.refuse()
        assert full_name is not None and holder is not None
        return keep_key(workspace, full_name, holder, token, slots, principal=principal)

    id = workspace.run(work, principal=principal, reason=reason or "a key was minted")
    return Minted(_shown(workspace, id), token)


def list_keys(workspace: Workspace) -> list[Key]:
    """All keys by name, those that count no more included."""
    install_access(workspace)
    owners = _by_reference(each_principal(workspace))
    uses = workspace.credentials.uses()
    keys = (_key_of(one, owners, uses) for one in each_of(workspace, KEY))
    return sorted(keys, key=lambda key: key.name)


def rotate(
    workspace: Workspace,
    name: str,
    *,
    prefix: str = KEY_PREFIX,
    principal: str = LOCAL,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> Minted:
    """Give a key a new secret: it stays the same key, and the old secret counts no more."""
    install_access(workspace)
    token = mint_key(prefix)
    asked = ["key.rotate", key_digest(name).hex(), prefix]  # it may be named by its secret

    def work() -> int:
        _refuse_replay(workspace, principal, idempotency_key, asked)
        key = _known_key(workspace, name)
        if not is_good(key):
            raise Conflict(
                "key.ended",
                f"the key {key[KEY_NAME]} is revoked or has expired",
                hint=f"mint it anew under the same name: `sandbar key mint --name {key[KEY_NAME]}`",
            )
        operation = Update(entity=key.entity_id, set={KEY_SHOWN: shown_part(token)})
        workspace.transact([operation], principal=principal)
        workspace.credentials.revoke_tokens(key.entity_id)
        workspace.credentials.keep_token(key.entity_id, key_digest(token))
        return key.entity_id

    id = workspace.run(work, principal=principal, reason=reason or "a key was rotated")
    return Minted(_shown(workspace, id), token)


def revoke_key(
    workspace: Workspace, name: str, *, principal: str = LOCAL, reason: str | None = None
) -> Key:
    """Let a key count no more: given by its name, by how it begins, or whole."""
    install_access(workspace)

    def work() -> int:
        key = _known_key(workspace, name)
        end_key(workspace, key, principal=principal)
        return key.entity_id

    id = workspace.run(work, principal=principal, reason=reason or "a key was revoked")
    return _shown(workspace, id)


# --- inside a transaction --------------------------------------------------------------------


def keep_key(
    workspace: Workspace,
    name: str,
    holder: Entity,
    token: str,
    slots: Mapping[str, Any],
    *,
    principal: str,
) -> int:
    """Inside `run`: the key of that name, with this secret; an ended one begins anew."""
    known = find_key(workspace, name)
    if known is not None and is_good(known):
        raise Conflict(
            "key.exists",
            f"there is a key {name} already",
            hint=f"`sandbar key rotate {name}` gives it a new secret; or choose another name",
        )
    whole = {
        KEY_NAME: name,
        OWNER: holder.entity_id,
        KEY_SHOWN: shown_part(token),
        ACTIVE: True,
        CREATED_AT: clock.instant_text(clock.now_us()),
        **dict.fromkeys(way.slot for way in NARROWINGS),
        **slots,
    }
    if known is None:
        given = {slot: value for slot, value in whole.items() if value is not None}
        operation: Operation = Create(class_=KEY, slots=given)
    else:
        operation = Update(entity=known.entity_id, set=whole)
    id = workspace.transact([operation], principal=principal).entity_id
    workspace.credentials.revoke_tokens(id)
    workspace.credentials.keep_token(id, key_digest(token))
    return id


def end_key(workspace: Workspace, key: Entity, *, principal: str) -> None:
    """Inside `run`: neither the key nor any secret that it ever had counts any more."""
    operation = Update(entity=key.entity_id, set={ACTIVE: False})
    workspace.transact([operation], principal=principal)
    workspace.credentials.revoke_tokens(key.entity_id)


def keys_of(workspace: Workspace, holder: Entity) -> list[Entity]:
    """The keys of a person or a program."""
    return list(each_of(workspace, KEY, {OWNER: holder.entity_id}))


# --- finding ---------------------------------------------------------------------------------


def find_key(workspace: Workspace, name: str) -> Entity | None:
    """The key of that name."""
    for spelled in spellings(parse_keyword(name)):
        try:
            return workspace.get({KEY_NAME: spelled})
        except NotFound:
            continue
    return None


def _known_key(workspace: Workspace, name: str) -> Entity:
    secret = secret_in(name)
    if secret is not None or holds_secret(name):
        return _key_by_secret(workspace, secret or name)
    found = find_key(workspace, name)
    if found is None:
        names = (str(one[KEY_NAME]) for one in each_of(workspace, KEY))
        raise NotFound(
            "key.unknown",
            f"there is no key {name[:80]}",
            hint=did_you_mean(name, names) or "`sandbar key list` lists them",
        )
    return found


def _key_by_secret(workspace: Workspace, given: str) -> Entity:
    """The key whose secret this is, or begins like this; what was given is never repeated."""
    token = workspace.credentials.token(key_digest(given))
    if token is not None and workspace.credentials.owns(token):
        found = workspace.get(token.id)
        if found.class_ != KEY:  # of a version before keys had names
            raise Conflict(
                "key.nameless",
                f"this key has no name: it is one of {principal_name(found)}",
                hint="`sandbar account revoke KEY` ends it",
            )
        return found
    begun = [one for one in each_of(workspace, KEY) if one.get(KEY_SHOWN) == given]
    if len(begun) == 1:
        return begun[0]
    names = ", ".join(str(one[KEY_NAME]) for one in begun)
    raise NotFound(
        "key.unknown",
        "several keys begin like this" if begun else "no key of this workspace is this one",
        hint=f"name it: {names}" if begun else "`sandbar key list` lists names and beginnings",
    )


# --- what is asked for -----------------------------------------------------------------------


def _key_name(name: str) -> str:
    if holds_secret(name):
        raise Incorrect(
            "key.name",
            "this looks like a key, not like the name of one",
            hint="name it after where it is used, such as laptop",
        )
    return composed(parse_keyword(name))


def _holder(workspace: Workspace, user: str | None) -> Entity:
    """Whose key it will be."""
    found = find_owner(workspace) if user is None else known_principal(workspace, user)
    assert found is not None, "install_access has made an owner"
    if not is_good(found):
        raise Conflict(
            "user.inactive",
            f"{principal_name(found)} is revoked or has expired: no key would sign in",
            hint=f"`sandbar account add {short_name(principal_name(found))}"
            f"{' --person' if found.class_ == USER else ''} --role ROLE` lets them sign in again",
        )
    return found


def _refuse_replay(workspace: Workspace, principal: str, key: str | None, asked: Any) -> None:
    """A retry cannot be answered with the secret, since nobody has it any more."""
    if key is not None and workspace.once(principal, key, asked):
        raise Conflict(
            "key.secret-already-shown",
            "this was done before, and its secret was shown then and never again",
            hint="if nobody has it, key.rotate gives the key another one",
        )


# --- showing ---------------------------------------------------------------------------------


def is_good(entity: Entity) -> bool:
    """Whether a key or an account may sign in by itself: active, and not over."""
    return entity.get(ACTIVE) is True and not _is_over(entity)


def _is_over(entity: Entity) -> bool:
    expires = entity.get(EXPIRES_AT)
    return expires is not None and clock.us_of_text(expires) <= clock.now_us()


def _shown(workspace: Workspace, id: int) -> Key:
    entity = workspace.get(id)
    owners = [workspace.get(entity[OWNER])] if OWNER in entity.slots else []
    return _key_of(entity, _by_reference(owners), workspace.credentials.uses())


def _by_reference(entities: Iterable[Entity]) -> dict[int | str, Entity]:
    """Entities by what a reference to them is shown as: the ident, or else the number."""
    return {one.ident or one.entity_id: one for one in entities}


def _key_of(entity: Entity, owners: Mapping[int | str, Entity], uses: Mapping[int, int]) -> Key:
    named = entity.get(OWNER, _NOBODY)
    owner = owners.get(named)
    used_us = uses.get(entity.entity_id)
    return Key(
        name=entity[KEY_NAME],
        prefix=entity.get(KEY_SHOWN),
        owner=str(named) if owner is None else principal_name(owner),
        state=_state(entity, owner),
        entity_id=entity.entity_id,
        created_at=entity.get(CREATED_AT),
        last_used_at=None if used_us is None else clock.instant_text(used_us),
        **narrowings_of(entity),
    )


def _state(entity: Entity, owner: Entity | None) -> KeyState:
    if entity.get(ACTIVE) is not True:
        return "revoked"
    if _is_over(entity):
        return "expired"
    return "active" if owner is not None and is_good(owner) else "owner-inactive"
