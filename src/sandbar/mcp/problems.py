"""How MCP says what was refused before a method was called: JSON-RPC errors over HTTP."""

from __future__ import annotations

import msgspec

from sandbar.edge import Refusal
from sandbar.edge.asgi import Headers
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
from sandbar.mcp.wire import INTERNAL_ERROR, INVALID_REQUEST, failed, json_encode, protocol_error

_UNAUTHORIZED = -32001
_TOO_MANY = -32029

# Category of a problem → code before 2026-07-28, and since (which reserves the range of the old).
REFUSED_CODES: dict[type[Problem], tuple[int, int]] = {
    Incorrect: (INVALID_REQUEST, INVALID_REQUEST),
    Unauthenticated: (_UNAUTHORIZED, 401),
    Forbidden: (_UNAUTHORIZED, 403),
    NotFound: (INVALID_REQUEST, INVALID_REQUEST),
    Conflict: (INVALID_REQUEST, INVALID_REQUEST),
    Unsupported: (INVALID_REQUEST, INVALID_REQUEST),
    TooMany: (_TOO_MANY, 429),
    Unavailable: (INTERNAL_ERROR, INTERNAL_ERROR),
    Interrupted: (INTERNAL_ERROR, INTERNAL_ERROR),
    Fault: (INTERNAL_ERROR, INTERNAL_ERROR),
}
# Refused by their heads, before anybody was asked for a key: no code that speaks of keys fits.
_HEADS = frozenset({"gate.origin", "gate.pipelined"})

_JSON = b"application/json"
_MODERN = (b"mcp-protocol-version", b"2026-07-28")


class _Numbered(msgspec.Struct):
    id: int | str | None = None


def say(problem: Problem, refusal: Refusal) -> tuple[bytes, bytes]:
    """A JSON-RPC error; its data says under which id the log knows the request."""
    error = protocol_error(problem, "", refusal.request_id, code=_code_of(problem, refusal))
    return json_encode(failed(refusal.id, error)), _JSON


def id_in(body: bytes) -> int | str | None:
    """The id of a request, in a body that may be anything."""
    try:
        return msgspec.json.decode(body, type=_Numbered).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _code_of(problem: Problem, refusal: Refusal) -> int:
    if refusal.status >= 500:
        return INTERNAL_ERROR
    if problem.code in _HEADS:
        return INVALID_REQUEST
    old, new = REFUSED_CODES[category_of(problem)]
    return new if is_modern(refusal.headers) else old


def is_modern(headers: Headers) -> bool:
    """Whether the request is of the revision that reserves the range of our old codes."""
    return any(key == _MODERN[0] and value.strip() == _MODERN[1] for key, value in headers)
