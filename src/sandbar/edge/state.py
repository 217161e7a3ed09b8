"""What is known of a request by now, for whatever looks at it next."""

from __future__ import annotations

import msgspec

from sandbar.access import Caller
from sandbar.edge.asgi import Scope
from sandbar.edge.capacity import Capacity, Place
from sandbar.edge.recording import Record
from sandbar.edge.surfaces import Surface

KEY = "sandbar"


class RequestState(msgspec.Struct):
    """One request on its way in."""

    surface: Surface  # in whose words it is answered
    request_id: str
    place: Place | None = None  # the connection that it came by, if these are counted
    capacity: Capacity | None = None
    is_counted: bool = False  # among the requests that are being served
    caller: Caller | None = None  # once they have signed in
    record: Record | None = None  # its way into the audit, if it has one


def state_of(scope: Scope) -> RequestState:
    """What is known of this request; a surface finds the caller here."""
    state: RequestState = scope[KEY]
    return state
