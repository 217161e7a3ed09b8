"""The HTTP house: its routes, what stands before them, and its life.

Every request passes, in this order: a number of its own, the limit of its headers, the check of
Host and Origin, the limit of its body, and signing in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from sandbar.access import Houses
from sandbar.database import Database
from sandbar.faults import log_fault
from sandbar.gate import BodyLimit, HeaderLimit, HostCheck, RequestId, SignIn
from sandbar.mcp import Endpoint, Listing


def make_app(
    database: Database,
    *,
    public_url: str | None = None,
    allowed_hosts: tuple[str, ...] = (),
    tools: Listing = "default",
) -> ASGIApp:
    """The whole server as one ASGI app."""
    database.workflows.install()
    endpoint = Endpoint(database, tools)
    houses = Houses(lambda name: database.in_workspace(name).workspace, database.workspace_name)
    signed_in = SignIn(endpoint, houses, is_inline=database.reads_in_microseconds)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        del app
        database.start_worker()
        async with endpoint.running():
            # Called before the server waits for open requests: streams never end by themselves.
            yield {"close_streams": endpoint.close_streams}

    routes = [
        Route("/health", partial(_health, database)),
        *(Route(path, signed_in) for path in ("/mcp", "/mcp/", "/mcp/sse")),
    ]
    app: ASGIApp = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={Exception: _last_resort}
    )
    app = BodyLimit(app)
    app = HostCheck(app, public_url=public_url, allowed_hosts=allowed_hosts)
    return RequestId(HeaderLimit(app))


async def _health(database: Database, request: Request) -> JSONResponse:
    del request
    is_well = database.is_well()
    return JSONResponse({"status": "ok" if is_well else "ailing"}, 200 if is_well else 503)


async def _last_resort(request: Request, error: Exception) -> JSONResponse:
    """Whatever no door has caught leaves as a number."""
    fault_id = log_fault("app.request-failed", error)
    data = {"code": "server.fault", "id": fault_id, "request-id": request.state.request_id}
    body = {"code": -32603, "message": "Internal error", "data": data}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": body}, 500)
