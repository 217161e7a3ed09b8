"""A live server, and a session on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live_server import LiveServer
from tests.malformed.cases import Case, request
from tests.malformed.sending import BOTH, Door, send
from tests.malformed.signing_in import KEY, NAME
from tests.malformed.verdict import faults_logged

GREETING = request(
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "malformed", "version": "1"},
    },
)
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server for the corpus."""
    path = tmp_path_factory.mktemp("malformed") / "malformed.db"
    with LiveServer(path, packs=["zorp"]) as running:
        running.sandbar("account", "add", NAME, "--api-key", KEY)
        yield running
        assert faults_logged(running.log()) == []


@pytest.fixture(scope="package")
def door(server: LiveServer) -> Door:
    """The server's door with a session of the account."""
    return open_session(Door("127.0.0.1", server.port, f"{NAME}:{KEY}"))


def open_session(door: Door) -> Door:
    """The same door after a handshake."""
    hello = Case("handshake", {}, message=GREETING, headers={"Accept": BOTH})
    session = send(hello, "bare", door).headers["mcp-session-id"]
    opened = Door(door.host, door.port, door.token, session)
    ready = Case("ready", {}, message=READY)
    assert send(ready, "session", opened).status == 202
    return opened
