"""One request as the handlers see it: who asks, by which road, in which spelling."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import parse_qs

import msgspec
from mcp.server.context import ServerRequestContext

from sandbar.access import Caller
from sandbar.audit import Note
from sandbar.database import Database
from sandbar.edge import state_of
from sandbar.mcp.recording import OWN, Record

Road = Literal["bare", "session", "modern", "stdio"]
Spelling = Literal["seed", "portable"]
Listing = Literal["default", "core", "full", "classes", "all"]

LISTINGS = frozenset({"default", "core", "full", "classes", "all"})
# What the protocol notes of a request in its scope.
ROAD = "sandbar.mcp.road"
FOLDED = "sandbar.mcp.folded"  # its answer is folded into one JSON object
_SPELLINGS = frozenset({"seed", "portable"})


class Exchange(msgspec.Struct, frozen=True):
    """A request, its caller and the caller's workspace."""

    caller: Caller
    database: Database
    road: Road
    version: str
    spelling: Spelling
    listing: Listing
    request_id: str | None = None
    record: Record | None = None

    @property
    def note(self) -> Note | None:
        """Its row in the audit, if somebody else keeps that."""
        return None if self.record is None else self.record.note


def spelling_of(road: Road, query: dict[str, list[str]]) -> Spelling:
    """Bare requests are the seeds' own; every client with an envelope gets portable names."""
    wish = query.get("names", [""])[0]
    if wish in _SPELLINGS:
        return wish  # type: ignore[return-value]
    return "seed" if road == "bare" else "portable"


def listing_of(query: dict[str, list[str]], usual: Listing) -> Listing:
    """Which tools the endpoint's URL asks for, or the server lists as a rule."""
    wish = query.get("tools", [""])[0]
    return wish if wish in LISTINGS else usual  # type: ignore[return-value]


def what_is_wrong_with(query: dict[str, list[str]]) -> str | None:
    """Why the query of the endpoint's URL cannot be served."""
    for name, allowed in (("tools", LISTINGS), ("names", _SPELLINGS)):
        if any(wish not in allowed for wish in query.get(name, ())):
            return f"?{name}= is one of {', '.join(sorted(allowed))}"
    return None


def query_of(scope: Any) -> dict[str, list[str]]:
    """The query of the endpoint's URL; most have none."""
    given = scope.get("query_string", b"")
    return parse_qs(given.decode("latin-1")) if given else {}


def exchange_of(ctx: ServerRequestContext[Any, Any], service: Any) -> Exchange:
    """What the transport knows about a request."""
    if ctx.request is None:
        return Exchange(
            service.local_caller,
            service.database(service.local_caller),
            "stdio",
            ctx.protocol_version,
            "portable",
            service.listing,
            record=OWN.get(),
        )
    return exchange_in(ctx.request.scope, service, ctx.protocol_version)


def exchange_in(scope: Any, service: Any, version: str) -> Exchange:
    """What the endpoint knows about a request; one that was not given a road is bare."""
    state = state_of(scope)
    caller = state.caller
    assert caller is not None, "whoever calls this has signed in"
    query = query_of(scope)
    road: Road = scope.get(ROAD, "bare")
    return Exchange(
        caller,
        service.database(caller),
        road,
        version,
        spelling_of(road, query),
        listing_of(query, service.listing),
        state.request_id,
        state.record,
    )
