"""The official MCP conformance suites against a live server."""
