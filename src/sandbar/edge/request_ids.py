"""Request ids: taken from the client if it has one, echoed, and written wherever we log."""

from __future__ import annotations

import uuid_utils

from sandbar.audit import nameable_id
from sandbar.edge.asgi import Headers, header

REQUEST_ID = b"x-request-id"


def request_id(headers: Headers) -> str:
    """The client's own id, if it may be shown; else a new one."""
    given = header(headers, REQUEST_ID)
    id = "" if given is None else given.decode("latin-1")
    return id if nameable_id(id) else str(uuid_utils.uuid7())
