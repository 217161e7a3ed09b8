"""The same server over standard input and output, for desktop clients that start it themselves."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from sandbar.database import Database
from sandbar.mcp.exchange import Listing
from sandbar.mcp.server import McpServer
from sandbar.mcp.service import Service


def serve_stdio(database: Database, listing: Listing = "default") -> None:
    """Serve one client until it hangs up; whoever can open the file may do everything in it."""
    database.workflows.install()
    database.start_worker()
    anyio.run(_serve, McpServer(Service(database, listing)))


async def _serve(server: McpServer) -> None:
    async with anyio.create_task_group() as tasks, stdio_server() as (incoming, outgoing):
        server.subscriptions.serve_in(tasks)
        await server.sdk.run(incoming, outgoing, server.sdk.create_initialization_options())
        server.service.streams.close_all()
        tasks.cancel_scope.cancel()
