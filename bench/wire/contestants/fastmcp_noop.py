"""FastMCP with one tool that does nothing, as its own `http_app()` serves it."""

from __future__ import annotations

import sys

from fastmcp import FastMCP

from bench.wire.contestants.serving import serve

server = FastMCP("noop")


@server.tool
def noop(ident: str) -> str:
    """Return the argument."""
    return ident


if __name__ == "__main__":
    serve(server.http_app(), int(sys.argv[1]))
