"""What a key can be narrowed to: each narrowing declared once, in `NARROWINGS`.

From here come the arguments of `key.mint`, what is kept of a key, what its rights are, and how it
is shown and told. A narrowing takes away from what the key's owner may, and never adds to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from sandbar.access.expiry import expiry_text
from sandbar.access.metamodel import (
    BURST,
    CLASSES,
    EXPIRES_AT,
    KEY_ROLES,
    RATE_LIMIT,
    READ_ONLY,
    VERBS,
)
from sandbar.access.principals import known_role
from sandbar.access.rights import Rights
from sandbar.access.wishes import Wishes
from sandbar.errors import Incorrect, NotFound
from sandbar.model import Entity, Workspace
from sandbar.suggestions import did_you_mean

PER_MINUTE_MAX = 1_000_000
GLOB_MAX = 100  # characters

KeyState = Literal["active", "revoked", "expired", "owner-inactive"]


class Narrowing(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for when a key is minted, in the words of whoever asks."""

    role: Annotated[str | None, Meta(description="only what this role may, too")] = None
    verbs: Annotated[list[str], Meta(description="only these verbs, e.g. entity.*")] = (
        msgspec.field(default_factory=list)
    )
    classes: Annotated[list[str], Meta(description="only these classes and those below")] = (
        msgspec.field(default_factory=list)
    )
    read_only: Annotated[bool, Meta(description="only reads")] = False
    expires: Annotated[
        str | None, Meta(description="30d, 12h, a date or an instant; default never")
    ] = None
    rate_limit: Annotated[int | None, Meta(description="requests a minute; 0: no limit")] = None
    burst: Annotated[int | None, Meta(description="requests at once")] = None


class Key(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True):
    """A key as admins see it: everything but the secret."""

    name: str
    prefix: str | None  # how it begins
    owner: str
    state: KeyState
    entity_id: int
    created_at: str | None = None
    last_used_at: str | None = None
    # From here on what it is narrowed to.
    expires_at: str | None = None
    roles: list[str] = msgspec.field(default_factory=list)
    verbs: list[str] = msgspec.field(default_factory=list)
    classes: list[str] = msgspec.field(default_factory=list)
    read_only: bool = False
    rate_limit: int | None = None
    burst: int | None = None


class _Asking(NamedTuple):
    """What there is to compare a wish with."""

    workspace: Workspace
    known_verbs: Collection[str] | None


class _Way(NamedTuple):
    """One way to narrow a key."""

    asked: str  # the field of Narrowing
    slot: str
    shown: str  # the field of Key
    read: Callable[[_Asking, Any], Any]  # one value as it is kept; raises what is wrong with it
    is_many: bool = False  # several values of the slot may be named
    limit: Callable[[Rights, Any], Rights] = lambda rights, _: rights
    told: Callable[[Any], str] | None = None  # what the key may, as `sandbar key list` says it


def _verb_pattern(asking: _Asking, given: str) -> str:
    """A verb, a group of verbs, or a pattern such as `entity.*`; it must mean something."""
    pattern, known = given.strip().removeprefix("sandbar."), asking.known_verbs
    if not 1 <= len(pattern) <= GLOB_MAX:
        raise Incorrect(
            "key.verbs", f"{given[:40]!r} names no verb", hint="such as entity.find or entity.*"
        )
    if known is not None and not _is_meant(pattern, known):
        raise NotFound(
            "key.verb-unknown",
            f"no verb is called {pattern}",
            hint=did_you_mean(pattern, known) or "such as entity.find, entity.* or search",
        )
    return pattern


def _is_meant(pattern: str, known: Collection[str]) -> bool:
    """Whether it is the name of a group, or matches a verb: `*a` does not mean all of `schema`."""
    verbs = (name for name in known if f"{name}." not in known)
    return pattern in known or any(fnmatchcase(name, pattern) for name in verbs)


def _number(least: int, given: int | None) -> int | None:
    if given is not None and not least <= given <= PER_MINUTE_MAX:
        raise Incorrect(
            "key.rate",
            f"{given} is no number of requests a minute",
            hint=f"from {least} to {PER_MINUTE_MAX}",
        )
    return given


def pace_slots(rate_limit: int | None, burst: int | None) -> dict[str, int | None]:
    """How often the keys of somebody may ask, unless a key says otherwise."""
    return {RATE_LIMIT: _number(0, rate_limit), BURST: _number(1, burst)}


# In the order in which they are looked at and told. The role, the end and the pace of a key are
# weighed together with its owner's when it signs in (`admission.py`): they limit no rights here.
NARROWINGS = (
    _Way(
        "role",
        KEY_ROLES,
        "roles",
        lambda asking, name: known_role(asking.workspace, name),
        is_many=True,
        told=lambda names: f"as {', '.join(names)}",
    ),
    _Way(
        "read_only",
        READ_ONLY,
        "read_only",
        lambda _, given: given,
        limit=lambda rights, given: rights.narrowed(is_read_only=given),
        told=lambda _: "only read",
    ),
    _Way(
        "verbs",
        VERBS,
        "verbs",
        _verb_pattern,
        is_many=True,
        limit=lambda rights, patterns: rights.narrowed(verbs=patterns),
        told=", ".join,
    ),
    _Way(
        "classes",
        CLASSES,
        "classes",
        lambda asking, name: asking.workspace.schema().ident(name),
        is_many=True,
        limit=lambda rights, names: rights.narrowed(classes=names),
        told=lambda names: f"of {', '.join(names)}",
    ),
    _Way("expires", EXPIRES_AT, "expires_at", lambda _, given: expiry_text(given)),
    _Way(
        "rate_limit",
        RATE_LIMIT,
        "rate_limit",
        lambda _, given: _number(0, given),
        told=lambda number: f"{number}/min" if number else "no limit",
    ),
    _Way(
        "burst",
        BURST,
        "burst",
        lambda _, given: _number(1, given),
        told=lambda number: f"{number} at once",
    ),
)


def narrowing_fields() -> list[tuple[str, Any, Any]]:
    """Name, type and default of each, for the arguments of a verb."""
    made_anew = {
        one.name: msgspec.field(default_factory=one.default_factory)
        for one in msgspec.structs.fields(Narrowing)
        if one.default_factory is not msgspec.NODEFAULT
    }
    return [
        (one.name, one.type, made_anew.get(one.name, one.default))
        for one in msgspec.structs.fields(Narrowing)
    ]


def narrowing_slots(
    workspace: Workspace, wishes: Wishes, asked: Narrowing, known_verbs: Collection[str] | None
) -> dict[str, Any]:
    """The slots that narrow a key; what is wrong with them is left with the wishes."""
    asking = _Asking(workspace, known_verbs)
    slots: dict[str, Any] = {}
    for way in NARROWINGS:
        argument = way.asked.replace("_", "-")
        values = [
            wishes.look(argument, partial(way.read, asking, one))
            for one in _given(getattr(asked, way.asked))
        ]
        slots[way.slot] = (values if way.is_many else values[0]) if values else None
    return slots


def narrowings_of(key: Entity) -> dict[str, Any]:
    """What a key is narrowed to, by the fields of `Key`."""
    return {way.shown: value for way, value in _kept(key)}


def narrowed_by(key: Entity, rights: Rights) -> Rights:
    """What a key leaves of rights."""
    for way, value in _kept(key):
        rights = way.limit(rights, value)
    return rights


def words_of(key: Key) -> str:
    """What a key may, in a few words."""
    values = ((way.told, getattr(key, way.shown)) for way in NARROWINGS)
    parts = [told(value) for told, value in values if told is not None and _given(value)]
    return "; ".join(parts) or "what its owner may"


def _kept(key: Entity) -> Iterator[tuple[_Way, Any]]:
    for way in NARROWINGS:
        if values := _given(key.get(way.slot)):
            yield way, values if way.is_many else values[0]


def _given(value: Any) -> list[Any]:
    """What is said, each thing once; None, an empty list and no are nothing, zero is something."""
    if value is None or value is False:
        return []
    return list(dict.fromkeys(value)) if isinstance(value, list | tuple) else [value]
