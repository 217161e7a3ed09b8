"""How large the headers may be, to the byte; `connections` limits them while they arrive."""

from __future__ import annotations

from sandbar.edge.asgi import Headers
from sandbar.errors import Incorrect

HEADER_BYTES_MAX = 64 * 1024


def check_size(headers: Headers, query: bytes, bytes_max: int = HEADER_BYTES_MAX) -> None:
    """Refuse a request with too much in its headers."""
    if sum(len(name) + len(value) for name, value in headers) + len(query) > bytes_max:
        raise headers_too_large(bytes_max)


def headers_too_large(bytes_max: int) -> Incorrect:
    """What is said of too much in the headers."""
    return Incorrect(
        "gate.headers-too-large",
        f"the headers of a request have at most {bytes_max} bytes",
        hint="send what is large in the body",
    )
