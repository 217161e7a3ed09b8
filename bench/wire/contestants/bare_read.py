"""A bare ASGI app: the same point read on Sandbar's own rows, JSON in and out, no protocol."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from bench.bare.sqlite import BareSqlite
from bench.population import index_key
from bench.wire.contestants.serving import serve


class BareRead:
    """Answers `{"ident": …}` with the entity's document."""

    def __init__(self, path: str, ident_property: int) -> None:
        self._reader = BareSqlite(path, writes=False)
        self._property = ident_property

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        message = await receive()
        asked = msgspec.json.decode(message["body"])
        key = index_key("keyword", asked["ident"])
        answer = msgspec.json.encode(self._reader.point_by_key(self._property, key))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(answer)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _live(self, receive: Any, send: Any) -> None:
        for _ in range(2):
            event = (await receive())["type"]
            await send({"type": f"{event}.complete"})


if __name__ == "__main__":
    serve(BareRead(sys.argv[2], int(sys.argv[3])), int(sys.argv[1]))
