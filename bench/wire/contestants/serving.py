"""Every Python contestant is served alike: uvicorn as `sandbar serve` configures it."""

from __future__ import annotations

from typing import Any

import uvicorn


def serve(app: Any, port: int) -> None:
    """Serve an ASGI app until a signal comes."""
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
