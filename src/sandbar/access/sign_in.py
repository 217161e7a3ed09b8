"""Signing in: from a token to a caller, wherever a request may have carried it.

    claude:super-secret-mcp-key     an account of the server's own workspace
    sk-sand-<64 hex>                a minted key, wherever its account lives
    claude:sk-sand-<64 hex>         the same, with the name it belongs to

Every call looks at the database, so a revocation counts from the next request on, whichever process
made it; but while a workspace stands still, that look is one statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sandbar import clock
from sandbar.access.admission import Admitted, admit, refused_key, refused_token
from sandbar.access.callers import Caller
from sandbar.access.keys import MINTED_START, key_digest
from sandbar.access.metamodel import (
    API_KEY,
    KEY_NAME,
    OWNER,
    SERVICE_ACCOUNT,
    SERVICE_NAME,
    USER_NAME,
)
from sandbar.access.principals import service_name, user_name
from sandbar.access.roles import is_kind
from sandbar.access.verdicts import MustCheck, Verdicts
from sandbar.errors import Incorrect, NotFound, Unauthenticated
from sandbar.keywords import parse_keyword
from sandbar.model import Entity, Standing, Workspace

TOKEN_MAX = 600  # a name and a key, each of at most 255 characters
_SEEN_MAX = 4096
_HINT = "send `Authorization: Bearer KEY`, or NAME:KEY; `sandbar key mint --name NAME` makes one"


class _Seen(NamedTuple):
    """A token that was right while its workspace stood like this."""

    admitted: Admitted
    workspace: Workspace
    standing: Standing
    proof: bytes | str  # the digest of the minted key, or the hash of the chosen one

    def still_holds(self) -> bool:
        """Whether the key and all that the verdict rests on are what they were."""
        credentials = self.workspace.credentials
        if isinstance(self.proof, bytes):
            token = credentials.token(self.proof)
            is_same_key = token is not None and not token.is_revoked
        else:
            account_id = self.admitted.caller.account_id
            assert account_id is not None
            is_same_key = credentials.hash_of(account_id, API_KEY) == self.proof
        return is_same_key and self.admitted.still_holds(self.workspace)


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
        try:
            standing = seen.workspace.standing()
        except NotFound:  # it was deleted
            self._seen.pop(case, None)
            return None
        if standing != seen.standing:
            if not seen.still_holds():
                return None
            self._seen[case] = seen._replace(standing=standing)
        caller = seen.admitted.caller
        if caller.expires_us is not None and clock.now_us() >= caller.expires_us:
            return None
        return caller

    def remember(self, case: bytes, seen: _Seen) -> None:
        """Keep who it was; when there are too many, all are asked anew."""
        if len(self._seen) >= _SEEN_MAX:
            self._seen.clear()
        self._seen[case] = seen


def sign_in(houses: Houses, token: str | None) -> Caller:
    """Who is asking. May take tens of milliseconds: not for an event loop."""
    return _sign_in(houses, _shaped(token), at_once=False)


def sign_in_at_once(houses: Houses, token: str | None) -> Caller | None:
    """Who is asking, if that can be told in microseconds; None: ask `sign_in`, in a thread."""
    try:
        return _sign_in(houses, _shaped(token), at_once=True)
    except MustCheck:
        return None


def _sign_in(houses: Houses, token: str, *, at_once: bool) -> Caller:
    case = houses.verdicts.digest(token)
    caller = houses.recall(case)
    if caller is not None:
        return caller
    name, colon, key = token.removeprefix(":").partition(":")
    if not colon:
        seen = _by_minted_key(houses, token, None)
        if seen is None:
            raise refused_token("auth.unknown")
    else:
        seen = _by_minted_key(houses, key, name) if key.startswith(MINTED_START) else None
        seen = seen or _by_chosen_key(houses, name, key, at_once=at_once)
    houses.remember(case, seen)
    return seen.admitted.caller


def _shaped(token: str | None) -> str:
    """A token that could be right: `<name>:<key>`, or a minted key."""
    if token is None:
        raise Unauthenticated("auth.missing", "Bearer token required", hint=_HINT)
    name, colon, key = token.removeprefix(":").partition(":")
    is_shaped = bool(name and key) if colon else token.startswith(MINTED_START)
    if len(token) > TOKEN_MAX or not is_shaped:
        raise Unauthenticated("auth.malformed", "Bearer token required", hint=_HINT)
    return token


def _by_minted_key(houses: Houses, key: str, name: str | None) -> _Seen | None:
    """The account that a key was minted for; None if it was not minted."""
    digest = key_digest(key)
    token = houses.workspace_named(houses.default).credentials.token(digest)
    if token is None:
        return None
    try:
        workspace = houses.workspace_named(token.workspace)
        standing = workspace.standing()
    except NotFound:  # it has just been deleted
        return None
    # Again, now that we know how the workspace stood: it may have been revoked in between.
    token = workspace.credentials.token(digest)
    if token is None:
        return None
    if token.is_revoked:
        raise refused_key()
    try:
        holder = workspace.get(token.id)
    except NotFound:
        raise refused_token("auth.unknown") from None
    if name is not None and not _is_named(workspace, holder, name):
        raise refused_token("auth.mismatch")
    is_own = token.workspace == houses.default
    admitted = admit(workspace, token.workspace, holder, "api-key", is_own=is_own)
    return _Seen(admitted, workspace, standing, digest)


def _by_chosen_key(houses: Houses, name: str, key: str, *, at_once: bool) -> _Seen:
    workspace = houses.workspace_named(houses.default)
    standing = workspace.standing()
    id, hashed = _account(workspace, name)
    if not houses.verdicts.is_right(name, hashed, key, at_once=at_once):
        raise refused_token("auth.unknown" if id is None else "auth.mismatch")
    assert id is not None and hashed is not None
    account = _still_named(workspace, id, name)
    admitted = admit(workspace, houses.default, account, "service-key", is_own=True)
    return _Seen(admitted, workspace, standing, hashed)


def _account(workspace: Workspace, name: str) -> tuple[int | None, str | None]:
    """Who has this name, and the hash of their key.

    Nobody takes as many statements as somebody: on a database that is away, each one shows.
    """
    credentials = workspace.credentials
    try:
        spellings = (service_name(name), parse_keyword(name))
        ids = [credentials.holder_of(SERVICE_NAME, spelled) for spelled in spellings]
        id = next((one for one in ids if one is not None), None)
        return id, credentials.hash_of(id or 0, API_KEY)
    except (NotFound, Incorrect):
        return None, None  # no access was ever installed here, or this is no name


def _still_named(workspace: Workspace, id: int, name: str) -> Entity:
    """The account of that name; whatever else has such a slot is none."""
    try:
        account = workspace.get(id)
    except NotFound:
        raise refused_token("auth.unknown") from None
    is_named = account.get(SERVICE_NAME) in (service_name(name), parse_keyword(name))
    if not is_named or not is_kind(workspace, account, SERVICE_ACCOUNT):
        raise refused_token("auth.unknown")
    return account


def _is_named(workspace: Workspace, holder: Entity, name: str) -> bool:
    """Whether the name before the key is the key's own, or that of whoever it belongs to."""
    try:
        spelled = {SERVICE_NAME: (name, service_name(name)), USER_NAME: (name, user_name(name))}
        owner = workspace.get(holder[OWNER]) if OWNER in holder.slots else holder
    except (Incorrect, NotFound):
        return False
    is_owners = any(owner.get(slot) in names for slot, names in spelled.items())
    return is_owners or holder.get(KEY_NAME) == name
