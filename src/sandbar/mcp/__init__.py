"""MCP: the metamodel as tools, resources and prompts, in both revisions of the protocol."""

from sandbar.mcp.endpoint import Endpoint

__all__ = ["Endpoint"]
