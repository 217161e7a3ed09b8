"""What is known of a request by now, for whatever looks at it next."""

from __future__ import annotations

import msgspec

from sandbar.access import Caller
from sandbar.edge.asgi import Scope
from sandbar.edge.capacity import Capacity, Place
from sandbar.edge.recording import Record

_KEY = "sandbar"


class RequestState(msgspec.Struct):
    """One request on its way in."""

    request_id: str | None = None
    place: Place | None = None  # the connection that it came by, if these are counted
    capacity: Capacity | None = None
    caller: Caller | None = None  # once they have signed in
    record: Record | None = None  # its way into the audit, unless nothing is recorded


def state_of(scope: Scope) -> RequestState:
    """What is known of this request; a surface finds the caller here."""
    state: RequestState | None = scope.get(_KEY)
    if state is None:
        given = scope.get("state", {})  # by `connections`
        state = RequestState(place=given.get("place"), capacity=given.get("capacity"))
        scope[_KEY] = state
    return state
