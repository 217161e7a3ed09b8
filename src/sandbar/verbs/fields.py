"""The arguments that many verbs have in common."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from sandbar.verbs.arguments import Arguments

LIMIT_MAX = 1000

ClassName: TypeAlias = Annotated[str, Meta(description="e.g. zorp/Boot")]
PropertyName: TypeAlias = Annotated[str, Meta(description="e.g. footwear/name")]
EntityName: TypeAlias = Annotated[
    int | str | dict[str, Any], Meta(description="id, ident or {unique slot: value}")
]
Slots: TypeAlias = Annotated[dict[str, Any], Meta(description="values by slot")]

AsOf: TypeAlias = Annotated[int | str | None, Meta(description="past t or instant")]
Limit: TypeAlias = Annotated[
    int,
    Meta(ge=1, le=LIMIT_MAX, description=f"per page, 1 to {LIMIT_MAX}"),
]
Cursor: TypeAlias = Annotated[str | None, Meta(description="of the last page")]
Reason: TypeAlias = Annotated[str | None, Meta(description="why, for history")]
IdempotencyKey: TypeAlias = Annotated[str | None, Meta(description="for safe retries")]

ENTITY_ALIASES = {"id": "entity", "ident": "entity", "entity-id": "entity"}
SLOT_ALIASES = {"slots": "attributes"}


class Paged(Arguments, frozen=True, kw_only=True):
    """What every list takes."""

    limit: Limit | None = None
    cursor: Cursor = None


class PagedAsOf(Paged, frozen=True, kw_only=True):
    """What every list of things that have a past takes."""

    as_of: AsOf = None


class Writing(Arguments, frozen=True, kw_only=True):
    """What every write takes."""

    reason: Reason = None
    idempotency_key: IdempotencyKey = None


def moment(as_of: int | str | None) -> int | str | None:
    """A moment as the model takes it: digits are a transaction number, however they came."""
    if isinstance(as_of, str) and as_of.isascii() and as_of.isdigit() and len(as_of) < 17:
        return int(as_of)
    return as_of
