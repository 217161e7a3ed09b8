"""What a key is narrowed to, as it is asked for: a role, verbs, classes, a time, a rate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import msgspec

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
from sandbar.access.wishes import Wishes
from sandbar.errors import Incorrect, NotFound
from sandbar.model import Workspace
from sandbar.suggestions import did_you_mean

PER_MINUTE_MAX = 1_000_000
GLOB_MAX = 100  # characters
NARROWING = (KEY_ROLES, VERBS, CLASSES, READ_ONLY, EXPIRES_AT, RATE_LIMIT, BURST)


class Narrowing(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, in the words of whoever asks."""

    role: str | None
    verbs: tuple[str, ...]
    classes: tuple[str, ...]
    read_only: bool
    expires: str | None
    rate_limit: int | None
    burst: int | None


def narrowing_slots(
    workspace: Workspace, wishes: Wishes, asked: Narrowing, known_verbs: Collection[str] | None
) -> dict[str, Any]:
    """The slots that narrow a key; what is wrong with them is left with the wishes."""
    role, expires = asked.role, asked.expires
    roles = () if role is None else (role,)
    return {
        KEY_ROLES: _each(wishes, "role", roles, partial(known_role, workspace)),
        VERBS: _each(wishes, "verbs", asked.verbs, partial(_pattern, known=known_verbs)),
        CLASSES: _each(wishes, "classes", asked.classes, workspace.schema().ident),
        READ_ONLY: asked.read_only or None,
        EXPIRES_AT: None
        if expires is None
        else wishes.look("expires", partial(expiry_text, expires)),
        RATE_LIMIT: wishes.look("rate-limit", lambda: _number(asked.rate_limit, 0)),
        BURST: wishes.look("burst", lambda: _number(asked.burst, 1)),
    }


def pace_slots(rate_limit: int | None, burst: int | None) -> dict[str, int | None]:
    """How often the keys of somebody may ask, unless a key says otherwise."""
    return {RATE_LIMIT: _number(rate_limit, 0), BURST: _number(burst, 1)}


def _each(
    wishes: Wishes, argument: str, given: Sequence[str], check: Callable[[str], str]
) -> list[str | None] | None:
    return [wishes.look(argument, partial(check, one)) for one in dict.fromkeys(given)] or None


def _pattern(given: str, known: Collection[str] | None) -> str:
    """A verb, a group of verbs, or a pattern such as `entity.*`; it must mean something."""
    pattern = given.strip().removeprefix("sandbar.")
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


def _number(given: int | None, least: int) -> int | None:
    if given is not None and not least <= given <= PER_MINUTE_MAX:
        raise Incorrect(
            "key.rate",
            f"{given} is no number of requests a minute",
            hint=f"from {least} to {PER_MINUTE_MAX}",
        )
    return given
