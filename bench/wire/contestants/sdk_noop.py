"""The SDK's low-level server with one tool that does nothing, on its own HTTP app.

The hook for the input schema is set: without it the SDK lists all tools before every call.
"""

from __future__ import annotations

import sys
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from bench.wire.contestants.serving import serve

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ident": {"type": "string"}},
    "required": ["ident"],
}
TOOL = types.Tool(name="noop", input_schema=SCHEMA)


async def list_tools(
    ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """The one tool."""
    del ctx, params
    return types.ListToolsResult(tools=[TOOL], ttl_ms=0, cache_scope="private")


async def call_tool(
    ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Return the argument."""
    del ctx
    text = str((params.arguments or {})["ident"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server: Server[Any] = Server("noop", on_list_tools=list_tools, on_call_tool=call_tool)
server.get_tool_input_schema = {"noop": SCHEMA}.get


if __name__ == "__main__":
    serve(server.streamable_http_app(), int(sys.argv[1]))
