"""Sandbar over MCP, beside other servers that do less, on the same machine in the same run."""
