"""A server that keeps the protocol but has none of the suites' fixtures: the negative control."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import mcp_types
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

_START_TIMEOUT_S = 10
_STOP_TIMEOUT_S = 10


class MinimalServer:
    """One tool, with properties of its own choice, on a free port of loopback, in a thread."""

    def __init__(self, properties: dict[str, Any] | None = None) -> None:
        schema = {"type": "object", "properties": properties or {}}
        tool = mcp_types.Tool(name="nothing", description="Does nothing.", input_schema=schema)

        async def list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
            return mcp_types.ListToolsResult(tools=[tool])

        server: Server[Any] = Server("minimal", on_list_tools=list_tools, on_call_tool=_call_tool)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._server = uvicorn.Server(
            uvicorn.Config(server.streamable_http_app(), log_level="critical", lifespan="on")
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> MinimalServer:
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started:
            assert self._thread.is_alive(), "the minimal server did not start"
            assert time.monotonic() < deadline, "the minimal server did not start"
            time.sleep(0.01)
        return self

    def __exit__(self, *failure: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(_STOP_TIMEOUT_S)
        self._socket.close()


async def _call_tool(
    _context: Any, params: mcp_types.CallToolRequestParams
) -> mcp_types.CallToolResult:
    if params.name != "nothing":
        raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="nothing")])
