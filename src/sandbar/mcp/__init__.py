"""MCP: the metamodel as tools, resources and prompts, in both revisions of the protocol."""

from sandbar.mcp.endpoint import Endpoint
from sandbar.mcp.plain import PlainEndpoint
from sandbar.mcp.problems import id_in, say

__all__ = ["Endpoint", "PlainEndpoint", "id_in", "say"]
