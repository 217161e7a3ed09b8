"""The HTTP house: which path leads to which surface, and the server's life.

What every request passes before its surface sees it is `sandbar.edge`'s.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from sandbar.access import Houses
from sandbar.database import Database
from sandbar.edge import (
    Authenticator,
    Edge,
    Health,
    Hosts,
    Recorder,
    Routes,
    Surface,
)
from sandbar.mcp import Endpoint, PlainEndpoint, id_in, say
from sandbar.packs import known_endpoints
from sandbar.serving import Serving


def make_app(database: Database, serving: Serving, *, is_recorded: bool = True) -> Edge:
    """The whole server as one ASGI app; only a measurement leaves audit and limits out."""
    database.workflows.install()
    endpoint = Endpoint(database, serving)
    mcp = Surface("mcp", endpoint, say, id_in)
    doors: list[Endpoint | PlainEndpoint] = [endpoint]
    routes = Routes()
    routes.add(
        Surface("health", Health(database), say, is_open=True), "/health", whose="the server"
    )
    routes.add(mcp, "/mcp", "/mcp/", "/mcp/sse", whose="MCP")
    for pack, declared in known_endpoints():
        plain = PlainEndpoint(endpoint.service, pack, declared)
        doors.append(plain)
        surface = Surface("mcp", plain, say, id_in)
        routes.add(surface, declared.path, f"{declared.path}/", whose=f"the pack {pack}")

    @asynccontextmanager
    async def running() -> AsyncIterator[dict[str, Any]]:
        database.start_worker()
        async with AsyncExitStack() as stack:
            for door in doors:
                await stack.enter_async_context(door.running())
            # Called before the server waits for open requests: streams never end by themselves.
            yield {"close_streams": endpoint.close_streams}

    houses = Houses(database.workspace_now, database.workspace_name)
    return Edge(
        routes,
        mcp,
        hosts=Hosts(public_url=serving.public_url, allowed_hosts=serving.allowed_hosts),
        authenticator=Authenticator(houses, is_inline=database.reads_in_microseconds),
        recorder=Recorder(database) if is_recorded else None,
        running=running,
    )
