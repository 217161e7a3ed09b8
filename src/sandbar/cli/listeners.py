"""Who listens on a port: whether it is a Sandbar, and which process."""

from __future__ import annotations

import http.client
import os
from pathlib import Path

from sandbar.cli.ports import reached

_KNOCK_S = 3.0
_LISTEN = "0A"  # the state, as /proc/net/tcp writes it


def is_sandbar(host: str, port: int) -> bool:
    """Whether it is a Sandbar that listens there: its health says so, be it well or ailing."""
    knock = http.client.HTTPConnection(reached(host), port, timeout=_KNOCK_S)
    try:
        knock.request("GET", "/health", headers={"Host": "localhost"})
        return knock.getresponse().getheader("Server") == "sandbar"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        knock.close()


def is_listening(pid: int, port: int) -> bool:
    """Whether this process listens on the port, as far as the system tells."""
    try:
        ours = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
        lines = [
            line.split()
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
        ]
    except OSError:
        return False
    return any(
        state == _LISTEN and int(local.rpartition(":")[2], 16) == port
        for _, local, _, state, *_, inode in (line[:10] for line in lines)
        if f"socket:[{inode}]" in ours
    )
