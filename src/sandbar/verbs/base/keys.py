"""`key.*`: minting, listing, rotating and revoking keys. What is minted is shown once."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sandbar.access import KEY_PREFIX, Key, Minted, narrowing_fields
from sandbar.verbs.answers import Answer
from sandbar.verbs.arguments import Arguments
from sandbar.verbs.catalogue import Example, Verb, Verbs
from sandbar.verbs.context import Context
from sandbar.verbs.fields import Paged, Reason, Writing
from sandbar.verbs.paging import page_of_named

_PREFIX = Annotated[str, Meta(description="how the key begins, default sk-sand-")]


class _Mint(Writing, frozen=True, kw_only=True):
    """A name, whose key it is, and what it is narrowed to."""

    name: Annotated[str, Meta(description="name of the key, e.g. laptop")]
    user: Annotated[
        str | None, Meta(description="person or service account; default: the workspace's owner")
    ] = None


MintArguments = msgspec.defstruct(
    "MintArguments",
    [*narrowing_fields(), ("prefix", _PREFIX, KEY_PREFIX)],
    bases=(_Mint,),
    namespace={"__doc__": _Mint.__doc__},
    module=__name__,
    frozen=True,
    kw_only=True,
)


class MintedKey(Answer, frozen=True, kw_only=True):
    """The key, and the token to send as `Authorization: Bearer`: shown now and never again."""

    token: str
    key: Key


class KeyList(Answer, frozen=True, kw_only=True):
    """Keys by name, without their secrets."""

    keys: list[Key]
    cursor: str | None = None


class RotateArguments(Writing, frozen=True, kw_only=True):
    """The key that gets a new secret."""

    name: Annotated[str, Meta(description="name of the key, or how it begins")]
    prefix: _PREFIX = KEY_PREFIX


class RevokeArguments(Arguments, frozen=True, kw_only=True):
    """The key that is to count no more."""

    name: Annotated[str, Meta(description="name of the key, how it begins, or the key itself")]
    reason: Reason = None


class Revoked(Answer, frozen=True, kw_only=True):
    """The key as it is now."""

    key: Key


def mint_one(context: Context, arguments: _Mint) -> MintedKey:
    """Make a key."""
    minted = context.db.keys.mint(
        **msgspec.structs.asdict(arguments), known_verbs=_words(context.services.catalogue)
    )
    return _shown_once(minted)


def list_all(context: Context, arguments: Paged) -> KeyList:
    """The keys of the workspace."""
    keys = context.db.keys.each()
    page, cursor = page_of_named(keys, arguments.limit, arguments.cursor, "key.list")
    return KeyList(keys=page, cursor=cursor)


def rotate_one(context: Context, arguments: RotateArguments) -> MintedKey:
    """Give a key another secret."""
    minted = context.db.keys.rotate(
        arguments.name,
        prefix=arguments.prefix,
        reason=arguments.reason,
        idempotency_key=arguments.idempotency_key,
    )
    return _shown_once(minted)


def revoke_one(context: Context, arguments: RevokeArguments) -> Revoked:
    """End a key."""
    return Revoked(key=context.db.keys.revoke(arguments.name, reason=arguments.reason))


def _words(catalogue: Verbs) -> set[str]:
    """What the verbs of a key can be matched with: names and groups."""
    groups = {verb.group for verb in catalogue}
    return {verb.name for verb in catalogue} | groups | {f"{group}." for group in groups}


def _shown_once(minted: Minted) -> MintedKey:
    return MintedKey(token=minted.token, key=minted.key)


VERBS = (
    Verb(
        name="key.mint",
        title="Mint a key",
        description="Make a key that signs in to this workspace, for a person or a service "
        "account, narrowed to a role, verbs, classes or reading. The token is shown only now.",
        access="admin",
        arguments=MintArguments,
        result=MintedKey,
        run=mint_one,
        aliases={"owner": "user", "expires-at": "expires"},
        is_housekeeping=True,
        examples=(
            Example("For the owner", {"name": "laptop"}),
            Example(
                "For a dashboard that reads shoes for a month",
                {
                    "name": "dashboard",
                    "verbs": ["entity.*", "search.text"],
                    "classes": ["zorp/Footwear"],
                    "read-only": True,
                    "expires": "30d",
                },
            ),
        ),
    ),
    Verb(
        name="key.list",
        title="List keys",
        description="The keys of this workspace by name: how each begins, whose it is, what it is "
        "narrowed to, when it was made, was last used and expires. Never a secret.",
        access="admin",
        arguments=Paged,
        result=KeyList,
        run=list_all,
        is_housekeeping=True,
        examples=(Example("All of them", {}),),
    ),
    Verb(
        name="key.rotate",
        title="Rotate a key",
        description="Give a key a new secret, shown only now; the old one is refused from the next "
        "request on. Name, owner and what it is narrowed to stay.",
        access="admin",
        arguments=RotateArguments,
        result=MintedKey,
        run=rotate_one,
        aliases={"key": "name"},
        is_destructive=True,
        is_housekeeping=True,
        examples=(Example("A key that somebody may have seen", {"name": "<key>"}),),
    ),
    Verb(
        name="key.revoke",
        title="Revoke a key",
        description="Let a key count no more, from the next request on, on every server. To give "
        "it a new secret instead use key.rotate.",
        access="admin",
        arguments=RevokeArguments,
        result=Revoked,
        run=revoke_one,
        aliases={"key": "name"},
        is_destructive=True,
        is_idempotent=True,
        is_housekeeping=True,
        examples=(Example("A lost laptop", {"name": "<key>", "reason": "lost"}),),
    ),
)
