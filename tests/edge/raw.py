"""Connections by hand, and a server whose patience is short."""

from __future__ import annotations

import socket
from contextlib import suppress

from tests.edge.live import Speaking

HEAD_S = 0.5
UNREAD_S = 0.3
START = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
WHOLE = START + b"Content-Length: 2\r\n\r\n{}"


class Hasty(Speaking):
    """The same, with less patience."""

    head_s_max = HEAD_S
    unread_s_max = UNREAD_S


def opened(port: int, timeout: float = 10) -> socket.socket:
    """A connection."""
    return socket.create_connection(("127.0.0.1", port), timeout)


def said(connection: socket.socket) -> bytes:
    """Everything until the server hangs up, politely or not."""
    heard = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(65536):
            heard += more
    return heard


def told(port: int, request: bytes) -> bytes:
    """What the server says to this, until it hangs up."""
    with opened(port) as connection:
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(request)
        return said(connection)
