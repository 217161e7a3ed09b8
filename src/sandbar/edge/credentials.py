"""Where a request may carry its key: one reader for each place, and one key for all of them."""

from __future__ import annotations

from collections.abc import Callable

from sandbar.edge.asgi import Headers
from sandbar.errors import Incorrect, Unauthenticated

_BLANKS = " \t"  # what HTTP calls white space; others that Python would strip are part of a token
_SCHEME = "bearer"

Reader = Callable[[Headers], str | None]


def key_in(headers: Headers) -> str | None:
    """The key that a request brings, whichever way; None if it brings none."""
    found = {key for read in READERS if (key := read(headers)) is not None}
    if len(found) > 1:
        raise Incorrect(
            "auth.ambiguous",
            "the request brings two different keys",
            hint="send one: as `Authorization: Bearer KEY`, or as `X-API-Key: KEY`",
        )
    return found.pop() if found else None


def bearer(headers: Headers) -> str | None:
    """`Authorization: Bearer KEY`; whatever else stands there is no key of anybody's."""
    value = _only(headers, b"authorization", "Authorization")
    if value is None:
        return None
    scheme, _, token = value.partition(" ")
    return token.strip(_BLANKS) if scheme.lower() == _SCHEME else ""


def api_key(headers: Headers) -> str | None:
    """`X-API-Key: KEY`."""
    return _only(headers, b"x-api-key", "X-API-Key")


READERS: tuple[Reader, ...] = (bearer, api_key)


def _only(headers: Headers, name: bytes, spelled: str) -> str | None:
    """The value of a header that may be there once; None if nothing stands in it."""
    given = [value for key, value in headers if key == name]
    if not given:
        return None
    if len(given) > 1:
        raise Unauthenticated(
            "auth.malformed", "Bearer token required", hint=f"send one {spelled} header"
        )
    try:
        text = bytes(given[0]).decode()
    except UnicodeDecodeError:
        text = bytes(given[0]).decode("latin-1")
    return text.strip(_BLANKS) or None
