"""Real MCP clients against a live server."""
