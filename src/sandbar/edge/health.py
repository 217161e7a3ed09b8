"""`/health`: whether all is well, for anybody who asks."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec

from sandbar import clock
from sandbar.database import Database
from sandbar.edge.asgi import Headers, Receive, Scope, Send
from sandbar.edge.pages import no_method, send_page

_HEALTH_S = 1.0  # for which a look at the database is good
_LOOK_S_MAX = 2.0  # for which anybody waits for one
_SAYS_WHO: Headers = [(b"server", b"sandbar")]  # so that `sandbar doctor` knows who has the port


class Health:
    """Tells anybody whether all is well, and which part ails if not.

    The look may take its time, and everybody else's threads may be taken: it has one of its own,
    and is made no more than once a second.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked_s = float("-inf")
        self._found: dict[str, str | None] = {}
        self._look: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say what is found, or was less than a second ago."""
        del receive
        if scope["method"] not in ("GET", "HEAD"):
            await no_method(send, b"GET, HEAD")
            return
        found = await self._look_now()
        said: dict[str, Any] = {"status": "ok"}
        if any(found.values()):
            checks = {part: ailment or "ok" for part, ailment in found.items()}
            said = {"status": "ailing", "checks": checks}
        status, body = 503 if "checks" in said else 200, msgspec.json.encode(said)
        await send_page(send, status, body, b"application/json", _SAYS_WHO)

    async def _look_now(self) -> dict[str, str | None]:
        now_s = clock.monotonic_s()
        if self._look is None and now_s - self._asked_s >= _HEALTH_S:
            self._asked_s = now_s
            self._begin_look()
        look = self._look
        if look is not None:
            await asyncio.wait({look}, timeout=_LOOK_S_MAX)
        is_silent = look is not None and not look.done()
        return {"database": "silent"} if is_silent else self._found

    def _begin_look(self) -> None:
        loop = asyncio.get_running_loop()
        look = self._look = loop.create_future()

        def done(found: dict[str, str | None]) -> None:
            self._found, self._look = found, None
            look.set_result(None)

        def work() -> None:
            found: dict[str, str | None] = {"server": "failed"}  # unless it gets to the end
            try:
                found = self._database.ailments()
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(done, found)

        threading.Thread(target=work, name="sandbar-health", daemon=True).start()
