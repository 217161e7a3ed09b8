"""The signing proxy hides nothing from the server but the lack of a key."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.conformance.proxy import SigningProxy

_TIMEOUT_S = 10


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The client's end and the server's end of one connection through the proxy."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(_TIMEOUT_S)
        port = listening.getsockname()[1]
        with (
            SigningProxy(port, "me:key") as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), timeout=_TIMEOUT_S) as client,
        ):
            server, _ = listening.accept()
            server.settimeout(_TIMEOUT_S)
            with server:
                yield client, server


Ends = tuple[socket.socket, socket.socket]

_HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nX-Odd:  a  \r\n"
)
_SIGNED = b"Authorization: Bearer me:key\r\n\r\n"


def test_a_header_is_added_to_every_request_and_nothing_else_is_touched(ends: Ends) -> None:
    client, server = ends
    for body in (b'{"one": 1}', b"", b'{"two": "\\r\\n\\r\\n"}'):
        head = _HEAD + b"Content-Length: %d\r\n" % len(body)
        client.sendall(head + b"\r\n" + body)
        assert _received(server, len(head + _SIGNED + body)) == head + _SIGNED + body


def test_what_the_server_says_arrives_at_once(ends: Ends) -> None:
    client, server = ends
    client.sendall(b"GET /mcp HTTP/1.1\r\n\r\n")
    _received(server, len(b"GET /mcp HTTP/1.1\r\n" + _SIGNED))
    for event in (b"data: 1\n\n", b"data: 2\n\n"):
        server.sendall(event)
        assert _received(client, len(event)) == event


def test_the_server_learns_that_the_client_has_hung_up(ends: Ends) -> None:
    client, server = ends
    client.sendall(b"GET /mcp HTTP/1.1\r\n\r\n")
    _received(server, len(b"GET /mcp HTTP/1.1\r\n" + _SIGNED))
    client.close()
    assert server.recv(1) == b""


def test_the_client_learns_that_the_server_has_hung_up(ends: Ends) -> None:
    client, server = ends
    server.close()
    assert client.recv(1) == b""


def test_a_request_that_it_cannot_follow_is_a_fault() -> None:
    with pytest.raises(AssertionError, match="unknown length"):
        _send_chunks()


def _send_chunks() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        SigningProxy(listening.getsockname()[1], "me:key") as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), timeout=_TIMEOUT_S) as client,
    ):
        client.sendall(b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.recv(1) == b""


def _received(source: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        chunk = source.recv(length - len(data))
        assert chunk, f"the connection ended after {data!r}"
        data += chunk
    return data
