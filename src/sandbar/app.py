"""The HTTP house: its routes, what stands before them, and its life.

Every request passes, in this order: a number of its own, the limit of its headers, the check of
Host and Origin, the limit of its body, signing in, and the audit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from sandbar import clock
from sandbar.access import Houses
from sandbar.database import Database
from sandbar.edge import (
    BodyLimit,
    HeaderLimit,
    HostCheck,
    Recorder,
    Recording,
    RequestId,
    SignIn,
    state_of,
)
from sandbar.faults import log_fault
from sandbar.mcp import Endpoint, PlainEndpoint
from sandbar.packs import known_endpoints
from sandbar.serving import Serving

_MCP_PATHS = ("/mcp", "/mcp/", "/mcp/sse")
_HEALTH_S = 1.0  # for which a look at the database is good
_LOOK_S_MAX = 2.0  # for which anybody waits for one
_SAYS_WHO = {"Server": "sandbar"}  # so that `sandbar doctor` knows who has the port


def make_app(database: Database, serving: Serving, *, is_recorded: bool = True) -> ASGIApp:
    """The whole server as one ASGI app; only a measurement leaves audit and limits out."""
    database.workflows.install()
    endpoint = Endpoint(database, serving)
    houses = Houses(database.workspace_now, database.workspace_name)
    doors: dict[str, Endpoint | PlainEndpoint] = dict.fromkeys(_MCP_PATHS, endpoint)
    for pack, declared in known_endpoints():
        plain = PlainEndpoint(endpoint.service, pack, declared)
        doors |= {declared.path: plain, f"{declared.path}/": plain}
    recorder = Recorder(database)

    def behind_the_gate(door: Endpoint | PlainEndpoint) -> ASGIApp:
        recorded = Recording(door, recorder, "mcp") if is_recorded else door
        return SignIn(recorded, houses, is_inline=database.reads_in_microseconds)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        del app
        database.start_worker()
        async with AsyncExitStack() as running:
            for door in dict.fromkeys(doors.values()):
                await running.enter_async_context(door.running())
            # Called before the server waits for open requests: streams never end by themselves.
            yield {"close_streams": endpoint.close_streams}

    routes = [
        Route("/health", _Health(database).answer),
        *(Route(path, behind_the_gate(door)) for path, door in doors.items()),
    ]
    app: ASGIApp = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Exception: _last_resort}
    )
    app = BodyLimit(app)
    app = HostCheck(app, public_url=serving.public_url, allowed_hosts=serving.allowed_hosts)
    return RequestId(HeaderLimit(app))


class _Health:
    """Tells anybody whether all is well, and which part ails if not.

    The look may take its time, and everybody else's threads may be taken: it has one of its own,
    and is made no more than once a second.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._asked_s = float("-inf")
        self._found: dict[str, str | None] = {}
        self._look: asyncio.Future[None] | None = None

    async def answer(self, request: Request) -> JSONResponse:
        """What is found, or was less than a second ago."""
        del request
        now_s = clock.monotonic_s()
        if self._look is None and now_s - self._asked_s >= _HEALTH_S:
            self._asked_s = now_s
            self._begin_look()
        look = self._look
        if look is not None:
            await asyncio.wait({look}, timeout=_LOOK_S_MAX)
        is_silent = look is not None and not look.done()
        found = {"database": "silent"} if is_silent else self._found
        if not any(found.values()):
            return JSONResponse({"status": "ok"}, headers=_SAYS_WHO)
        checks = {part: ailment or "ok" for part, ailment in found.items()}
        return JSONResponse({"status": "ailing", "checks": checks}, 503, _SAYS_WHO)

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


async def _last_resort(request: Request, error: Exception) -> JSONResponse:
    """Whatever no door has caught leaves as a number."""
    fault_id = log_fault("app.request-failed", error)
    data = {
        "code": "server.fault",
        "id": fault_id,
        "request-id": state_of(request.scope).request_id,
    }
    body = {"code": -32603, "message": "Internal error", "data": data}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": body}, 500)
