"""What `sandbar.mcp.sdk` uses of the SDK although it has no public name: each use, by name.

Whoever updates the SDK learns here what has changed, and mends `sdk.py`, which alone uses it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import runner
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http import GET_STREAM_KEY, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

import sandbar.mcp
from sandbar.mcp import sdk

ROOM = Path(sandbar.mcp.__file__).parent


def transport() -> StreamableHTTPServerTransport:
    """One of a session."""
    return StreamableHTTPServerTransport(mcp_session_id="one", idle_timeout=1.0)


def test_a_session_knows_its_connection() -> None:
    class Channel:
        can_send_request = False

    connection = Connection.from_envelope("2025-11-25", None, None)
    session = ServerSession(Channel(), connection)  # type: ignore[arg-type]
    assert session._connection is connection


def test_a_connection_has_a_state_and_an_end() -> None:
    async def look() -> None:
        connection = Connection.from_envelope("2025-11-25", None, None)
        assert connection.state == {}
        assert connection.session_id is None
        assert not connection.has_standalone_channel
        ended: list[str] = []
        connection.exit_stack.callback(ended.append, "over")
        await connection.exit_stack.aclose()
        assert ended == ["over"]

    anyio.run(look)


def test_a_manager_knows_its_sessions() -> None:
    manager = StreamableHTTPSessionManager(Server("one"), session_idle_timeout=1.0)
    assert manager._server_instances == {}


def test_a_transport_knows_its_streams_and_how_long_it_may_be_idle() -> None:
    one = transport()
    assert GET_STREAM_KEY not in one._request_streams
    assert one._idle_timeout == 1.0
    assert not one.is_terminated
    assert "_idle_timeout" in inspect.getsource(StreamableHTTPServerTransport), "it is looked at"


def test_a_server_is_asked_for_its_stamp_and_capabilities() -> None:
    assert "server_info_stamp" in inspect.getsource(runner)
    asked = inspect.signature(Server.get_capabilities).parameters
    assert "protocol_version" in asked


NAMED_HERE = frozenset({"_connection", "_server_instances", "_request_streams", "_idle_timeout"})


def private_uses(path: Path) -> Iterator[str]:
    """The private members that a file uses of objects other than itself and its own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
            continue
        is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        if not is_own and not node.attr.startswith("__"):
            yield node.attr


def test_every_private_use_is_named_here() -> None:
    assert set(private_uses(Path(sdk.__file__))) == NAMED_HERE


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_no_other_file_looks_into_the_sdk(path: Path) -> None:
    if path.name != "sdk.py":
        assert not set(private_uses(path)) & NAMED_HERE


def test_control_a_private_use_is_found(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text("def peep(ctx):\n    return ctx.session._connection, ctx._other\n")
    assert set(private_uses(planted)) == {"_connection", "_other"}


def test_control_a_renamed_member_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(self: Any, *args: Any, **kwargs: Any) -> None:
        self._sessions = {}

    monkeypatch.setattr(StreamableHTTPSessionManager, "__init__", renamed)
    with pytest.raises(AttributeError, match="_server_instances"):
        test_a_manager_knows_its_sessions()
