"""Refusals: the one table of their statuses, and the answer in the words of the surface."""

from __future__ import annotations

from sandbar.edge.asgi import Headers, Scope, Send
from sandbar.edge.state import state_of
from sandbar.edge.surfaces import Id, Refusal
from sandbar.errors import (
    Conflict,
    Fault,
    Forbidden,
    Incorrect,
    Interrupted,
    NotFound,
    Problem,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unsupported,
    category_of,
)
from sandbar.faults import log_fault

STATUSES: dict[type[Problem], int] = {
    Incorrect: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    Unsupported: 422,
    TooMany: 429,
    Unavailable: 503,
    Interrupted: 503,
    Fault: 500,
}
# HTTP has more exact words for what is wrong with a request as such.
_EXACT = {
    "gate.body-too-large": 413,
    "gate.head-too-slow": 408,
    "gate.headers-too-large": 431,
    "gate.headers-too-many": 431,
    "gate.host": 421,
    "gate.target-too-long": 414,
}
# The rest of these is not read, so nothing else can come over their connections.
_CLOSING = frozenset({"gate.body-too-large", "gate.headers-too-large"})

_CLOSE: Headers = [(b"connection", b"close")]
_RETRY_SOON: Headers = [(b"retry-after", b"5")]  # with every 503: what ails may take a while


def status_of(problem: Problem) -> int:
    """The HTTP status of a problem."""
    exact = _EXACT.get(problem.code)
    if exact is not None:
        return exact
    return STATUSES[category_of(problem)]


def defect(what: str, error: BaseException) -> Fault:
    """What is said of a defect: the number under which the log has it."""
    fault_id = log_fault(what, error)
    return Fault(
        "server.fault",
        "Internal error",
        hint="retry; if it happens again, report the id",
        data={"id": fault_id},
    )


async def refuse(
    scope: Scope,
    send: Send,
    problem: Problem,
    *,
    status: int | None = None,
    headers: Headers | None = None,
    id: Id = None,
) -> None:
    """Answer with a problem, as the surface of the request says it."""
    state = state_of(scope)
    status = status_of(problem) if status is None else status
    refusal = Refusal(status, scope["headers"], id, state.request_id)
    body, kind = state.surface.say(problem, refusal)
    more = list(headers or ())
    if problem.code in _CLOSING:
        more += _CLOSE
    if status == 503:
        more += _RETRY_SOON
    fixed = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fixed + more})
    await send({"type": "http.response.body", "body": body, "more_body": False})
