"""Answers that belong to no surface: no such page, no such method, and where it is instead."""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import quote

from sandbar.edge.asgi import Headers, Scope, Send, header

_TEXT = b"text/plain; charset=utf-8"
_IN_A_URL = ":/%#?=@[]!$&'()*+,;"


async def send_page(
    send: Send, status: int, body: bytes, kind: bytes, headers: Headers | None = None
) -> None:
    """A whole page."""
    length = (b"content-length", str(len(body)).encode())
    named = [*(headers or ()), length, (b"content-type", kind)]
    await send({"type": "http.response.start", "status": status, "headers": named})
    await send({"type": "http.response.body", "body": body})


async def no_method(send: Send, allowed: bytes) -> None:
    """405."""
    await send_page(send, 405, b"Method Not Allowed", _TEXT, [(b"allow", allowed)])


async def no_page(scope: Scope, send: Send, paths: Container[str]) -> None:
    """404, unless the path is one of these but for slashes at its end."""
    path: str = scope["path"]
    meant = path.rstrip("/") if path.endswith("/") else f"{path}/"
    if meant not in paths:
        await send_page(send, 404, b"Not Found", _TEXT)
        return
    host = (header(scope["headers"], b"host") or b"").decode("latin-1")
    query: bytes = scope["query_string"]
    url = f"{scope['scheme']}://{host}{meant}" + (f"?{query.decode('latin-1')}" if query else "")
    found = (b"location", quote(url, safe=_IN_A_URL).encode())
    length = (b"content-length", b"0")
    await send({"type": "http.response.start", "status": 307, "headers": [length, found]})
    await send({"type": "http.response.body", "body": b""})
