"""Signing in: from an Authorization header to a caller.

    Bearer claude:super-secret-mcp-key     an account of the server's own workspace
    Bearer sk-sand-<64 hex>                a minted key, wherever its account lives
    Bearer claude:sk-sand-<64 hex>         the same, with the name it belongs to

Every call looks at the database, so a revocation counts from the next request on, whichever process
made it; but while a workspace stands still, that look is one statement.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from sandbar import clock
from sandbar.access.accounts import find_account, role_of, service_name
from sandbar.access.callers import Caller
from sandbar.access.keys import MINTED_START, key_digest
from sandbar.access.metamodel import ACTIVE, API_KEY, EXPIRES_AT, SERVICE_ACCOUNT, SERVICE_NAME
from sandbar.access.verdicts import MustCheck, Verdicts
from sandbar.errors import Forbidden, Incorrect, NotFound, Unauthenticated
from sandbar.model import Entity, Standing, Workspace

TOKEN_MAX = 600  # a name and a key, each of at most 255 characters
_SEEN_MAX = 4096
_SCHEME = "bearer"
_HINT = "send `Authorization: Bearer NAME:KEY`; `sandbar account add NAME` makes a key"


class _Seen(NamedTuple):
    """A token that was right while its workspace stood like this."""

    caller: Caller
    workspace: Workspace
    standing: Standing
    account: Entity
    proof: bytes | str  # the digest of the minted key, or the hash of the chosen one

    def still_holds(self) -> bool:
        """Whether the account and its key are what they were, whatever else has happened."""
        credentials, id = self.workspace.credentials, self.account.entity_id
        if isinstance(self.proof, bytes):
            token = credentials.token(self.proof)
            is_same_key = token is not None and not token.is_revoked
        else:
            is_same_key = credentials.hash_of(id, API_KEY) == self.proof
        try:
            return is_same_key and self.workspace.get(id).t == self.account.t
        except NotFound:
            return False


class Houses:
    """Where accounts live: the server's own workspace for names, any for minted keys."""

    def __init__(self, workspace_named: Callable[[str], Workspace], default: str) -> None:
        self.workspace_named = workspace_named
        self.default = default
        self.verdicts = Verdicts()
        self._seen: dict[bytes, _Seen] = {}

    def recall(self, case: bytes) -> Caller | None:
        """The caller of a token that was right before, if nothing has happened to it since."""
        seen = self._seen.get(case)
        if seen is None:
            return None
        standing = seen.workspace.standing()
        if standing != seen.standing:
            if not seen.still_holds():
                return None
            self._seen[case] = seen._replace(standing=standing)
        expires_us = seen.caller.expires_us
        if expires_us is not None and clock.now_us() >= expires_us:
            return None
        return seen.caller

    def remember(self, case: bytes, seen: _Seen) -> None:
        """Keep who it was; when there are too many, all are asked anew."""
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen[case] = seen


def sign_in(houses: Houses, authorization: str | None) -> Caller:
    """Who is asking. May take tens of milliseconds: not for an event loop."""
    return _sign_in(houses, authorization, at_once=False)


def sign_in_at_once(houses: Houses, authorization: str | None) -> Caller | None:
    """Who is asking, if that can be told in microseconds; None: ask `sign_in`, in a thread."""
    try:
        return _sign_in(houses, authorization, at_once=True)
    except MustCheck:
        return None


def _sign_in(houses: Houses, authorization: str | None, *, at_once: bool) -> Caller:
    token = bearer_token(authorization)
    case = houses.verdicts.digest(token)
    caller = houses.recall(case)
    if caller is not None:
        return caller
    name, colon, key = token.removeprefix(":").partition(":")
    if not colon:
        seen = _by_minted_key(houses, token, None)
        if seen is None:
            raise _refused("auth.unknown")
    else:
        seen = _by_minted_key(houses, key, name) if key.startswith(MINTED_START) else None
        seen = seen or _by_chosen_key(houses, name, key, at_once=at_once)
    houses.remember(case, seen)
    return seen.caller


def bearer_token(authorization: str | None) -> str:
    """The token of a header: `<name>:<key>`, or a minted key."""
    if authorization is None or not authorization.strip():
        raise Unauthenticated("auth.missing", "Bearer token required", hint=_HINT)
    scheme, _, token = authorization.strip().partition(" ")
    token = token.strip()
    name, colon, key = token.removeprefix(":").partition(":")
    is_shaped = bool(name and key) if colon else token.startswith(MINTED_START)
    if scheme.lower() != _SCHEME or len(token) > TOKEN_MAX or not is_shaped:
        raise Unauthenticated("auth.malformed", "Bearer token required", hint=_HINT)
    return token


def _by_minted_key(houses: Houses, key: str, name: str | None) -> _Seen | None:
    """The account that a key was minted for; None if it was not minted."""
    digest = key_digest(key)
    token = houses.workspace_named(houses.default).credentials.token(digest)
    if token is None:
        return None
    workspace = houses.workspace_named(token.workspace)
    standing = workspace.standing()
    # Again, now that we know how the workspace stood: it may have been revoked in between.
    token = workspace.credentials.token(digest)
    if token is None:
        return None
    if token.is_revoked:
        raise Forbidden(
            "auth.revoked", "this key has been revoked", hint="ask an admin for a new one"
        )
    try:
        account = workspace.get(token.id)
    except NotFound:
        raise _refused("auth.unknown") from None
    if name is not None and not _is_named(account, name):
        raise _refused("auth.mismatch")
    return _admit(workspace, token.workspace, account, standing, digest)


def _by_chosen_key(houses: Houses, name: str, key: str, *, at_once: bool) -> _Seen:
    workspace = houses.workspace_named(houses.default)
    standing = workspace.standing()
    account = _find(workspace, name)
    hashed = None
    if account is not None:
        hashed = workspace.credentials.hash_of(account.entity_id, API_KEY)
    if not houses.verdicts.is_right(name, hashed, key, at_once=at_once):
        raise _refused("auth.unknown" if account is None else "auth.mismatch")
    assert account is not None and hashed is not None
    return _admit(workspace, houses.default, account, standing, hashed)


def _find(workspace: Workspace, name: str) -> Entity | None:
    """The account of that name; whatever else has such a slot is none."""
    try:
        found = find_account(workspace, name)
    except (NotFound, Incorrect):
        return None  # no access was ever installed here, or this is no name
    return found if found is not None and _is_account(workspace, found) else None


def _is_account(workspace: Workspace, entity: Entity) -> bool:
    return entity.class_ == SERVICE_ACCOUNT or workspace.schema().is_kind(
        entity.class_, SERVICE_ACCOUNT
    )


def _is_named(account: Entity, name: str) -> bool:
    try:
        return account.get(SERVICE_NAME) in (name, service_name(name))
    except Incorrect:
        return False


def _admit(
    workspace: Workspace,
    workspace_name: str,
    account: Entity,
    standing: Standing,
    proof: bytes | str,
) -> _Seen:
    """The key is right; now whether the account may sign in."""
    role = role_of(account)
    if not _is_account(workspace, account):
        raise _refused("auth.unknown")
    if account.get(ACTIVE) is not True or role is None:
        raise _refused("auth.inactive")
    expires_us = _instant_us(account.get(EXPIRES_AT))
    if expires_us is not None and clock.now_us() >= expires_us:
        raise _refused("auth.expired")
    caller = Caller(account[SERVICE_NAME], role, workspace_name, account.entity_id, expires_us)
    return _Seen(caller, workspace, standing, account, proof)


def _instant_us(text: str | None) -> int | None:
    return None if text is None else clock.instant_us(datetime.fromisoformat(text))


def _refused(code: str) -> Unauthenticated:
    """All that is wrong with a token reads alike; the code is for the log."""
    return Unauthenticated(code, "invalid token", hint=_HINT)
