"""Connections over real sockets: heads, slowness, lines, targets, and HTTP/1.0.

Most limits have a control: uvicorn's own protocol, which does not have it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from sandbar.edge import HEADER_BYTES_MAX
from sandbar.edge.asgi import Receive, Scope, Send
from sandbar.edge.connections import (
    HEADERS_MAX,
    PIPELINED_MAX,
    TARGET_BYTES_MAX,
)
from tests.edge.live import behind_the_edge, deaf, echo, serving
from tests.edge.raw import START, WHOLE, Hasty, opened, told


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server with all of this room's limits."""
    with serving(behind_the_edge(echo), Hasty, keep_alive_s=2) as port:
        yield port


@pytest.fixture(scope="module")
def unlimited() -> Iterator[int]:
    """uvicorn as it is."""
    with serving(echo, "httptools", keep_alive_s=2) as port:
        yield port


def taken(port: int, start: bytes, piece: bytes, pieces: int) -> int:
    """How many bytes of a head that never ends the server takes before it hangs up."""
    sent = 0
    with opened(port) as connection:
        connection.sendall(start)
        for _ in range(pieces):
            try:
                connection.sendall(piece)
            except (ConnectionResetError, BrokenPipeError):
                break
            sent += len(piece)
            time.sleep(0.001)
    return sent


def is_served(port: int) -> bool:
    """Whether somebody else is served as ever."""
    with opened(port) as connection:
        connection.sendall(WHOLE)
        return connection.recv(12) == b"HTTP/1.1 200"


# --- heads ---------------------------------------------------------------------------------------

ENDLESS = {
    "one value": (START + b"X-A: ", b"a" * 16_000),
    "one name": (START, b"a" * 16_000),
    "many headers": (START, b"X: a\r\n" * 3_000),
    "the target": (b"GET /", b"a" * 16_000),
    "blank lines": (b"", b"\r\n" * 8_000),
    "trailers": (
        START + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n",
        b"X: " + b"a" * 16_000 + b"\r\n",
    ),
    "one trailer": (
        START + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: ",
        b"a" * 16_000,
    ),
    "after a request": (WHOLE + START + b"X-A: ", b"a" * 16_000),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_head_that_never_ends_is_cut(port: int, kind: str) -> None:
    start, piece = ENDLESS[kind]
    # The limit, one piece that the parser has at once, and what was under way meanwhile.
    assert taken(port, start, piece, 500) < 1_000_000
    assert is_served(port)


@pytest.mark.parametrize("kind", ENDLESS)
def test_without_the_limits_it_is_not(unlimited: int, kind: str) -> None:
    start, piece = ENDLESS[kind]
    assert taken(unlimited, start, piece, 100) == 100 * len(piece)


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        (b"X: " + b"a" * (HEADER_BYTES_MAX - 200) + b"\r\n\r\n", b"200", b""),
        (b"X: " + b"a" * (HEADER_BYTES_MAX + 1), b"431", b"gate.headers-too-large"),
        (b"X: a\r\n" * (HEADERS_MAX - 2) + b"\r\n", b"200", b""),
        (b"X: a\r\n" * HEADERS_MAX + b"\r\n", b"431", b"gate.headers-too-many"),
    ],
)
def test_the_limits_of_headers(port: int, more: bytes, status: bytes, code: bytes) -> None:
    answer = told(port, START + b"Connection: close\r\n" + more)
    assert answer.split()[1] == status
    assert code in answer


def test_the_limit_of_the_target(port: int, unlimited: int) -> None:
    def get(size: int) -> bytes:
        rest = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        return b"GET /" + b"a" * (size - 1) + rest

    assert told(port, get(TARGET_BYTES_MAX)).split()[1] == b"200"
    refused = told(port, get(TARGET_BYTES_MAX + 1))
    assert refused.split()[1] == b"414"
    assert b"gate.target-too-long" in refused
    assert told(unlimited, get(TARGET_BYTES_MAX + 1)).split()[1] == b"200"


def test_a_large_body_is_no_head(port: int) -> None:
    body = b"x" * 3_000_000
    head = START + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert b'"received":3000000' in told(port, head + body)
    chunk = b"3e8\r\n" + b"x" * 1_000 + b"\r\n"
    head = START + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b'"received":1000000' in told(port, head + chunk * 1_000 + b"0\r\nX-T: 1\r\n\r\n")


def test_trailers_are_no_headers(port: int, unlimited: int) -> None:
    head = START + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    request = head + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
    answer = told(port, request)
    assert b'"received":1' in answer
    assert b"authorization" not in answer
    assert b"authorization" in told(unlimited, request)


# --- numbers -------------------------------------------------------------------------------------


def test_requests_wait_in_line_up_to_a_number(port: int) -> None:
    line = WHOLE * (PIPELINED_MAX - 1) + WHOLE.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    assert told(port, line).count(b"HTTP/1.1 200") == PIPELINED_MAX
    assert told(port, WHOLE * PIPELINED_MAX * 3).count(b"HTTP/1.1 200") <= PIPELINED_MAX
    assert is_served(port)


def test_a_connection_that_always_has_requests_waiting_is_served(port: int) -> None:
    with opened(port) as connection:
        for _ in range(30):
            connection.sendall(WHOLE * 50)
            heard = b""
            while heard.count(b"HTTP/1.1 200") < 50:
                heard += connection.recv(65536)


# --- whose request it is -------------------------------------------------------------------------

LENGTH = b"Content-Length: 2\r\nConnection: close\r\n"
OURS = b"Host: localhost\r\n"


@pytest.mark.parametrize(
    ("request_line", "headers", "status", "code"),
    [
        (b"POST /mcp", OURS, b"200", b""),
        (b"POST /mcp", OURS + b"Host: evil.com\r\n", b"400", b"gate.repeated"),
        (b"POST /mcp", OURS + OURS, b"400", b"gate.repeated"),
        (b"POST /mcp", OURS + b"Origin: http://localhost\r\n", b"200", b""),
        (
            b"POST /mcp",
            OURS + b"Origin: http://localhost\r\nOrigin: http://evil.com\r\n",
            b"400",
            b"gate.repeated",
        ),
        (b"POST http://localhost/mcp", OURS, b"200", b""),
        (b"POST http://localhost:8080/mcp", OURS, b"200", b""),
        (b"POST HTTP://[::1]:80/mcp?a=b", OURS, b"200", b""),
        (b"POST https://127.0.0.1/mcp", b"Host: evil.com\r\n", b"200", b""),
        (b"POST http://evil.com/mcp", OURS, b"421", b"gate.host"),
        (b"POST http://evil.com:80/mcp", b"Host: evil.com:80\r\n", b"421", b"gate.host"),
        (b"POST http://localhost@evil.com/mcp", OURS, b"421", b"gate.host"),
        (b"POST http://evil.com@localhost/mcp", OURS, b"421", b"gate.host"),
        (b"POST http://localhost.evil.com/mcp", OURS, b"421", b"gate.host"),
        (b"POST http://localhost/mcp", b"", b"421", b"gate.host"),
        (b"POST http://localhost/mcp", OURS + OURS, b"400", b"gate.repeated"),
        (b"POST ftp://localhost/mcp", OURS, b"400", b"gate.target"),
        (b"OPTIONS *", OURS, b"400", b"gate.target"),
        (b"CONNECT localhost:80", OURS, b"400", b"gate.target"),
    ],
)
def test_the_host_that_is_meant(
    port: int, request_line: bytes, headers: bytes, status: bytes, code: bytes
) -> None:
    answer = told(port, request_line + b" HTTP/1.1\r\n" + headers + LENGTH + b"\r\n{}")
    assert answer.split()[1] == status
    assert code in answer


def test_without_the_protocol_a_foreign_target_is_served() -> None:
    with serving(behind_the_edge(echo), "httptools") as port:
        foreign = b"POST http://evil.com/mcp HTTP/1.1\r\n" + OURS + LENGTH + b"\r\n{}"
        assert told(port, foreign).split()[1] == b"200"


# --- HTTP/1.0 ------------------------------------------------------------------------------------


async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
    """Three events, and no length."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number in range(3):
        event = b"data: %d\n\n" % number
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


EVENTS = b"data: 0\n\ndata: 1\n\ndata: 2\n\n"


def test_a_stream_for_http_1_0_ends_with_the_connection() -> None:
    old = b"GET /mcp HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
    with serving(streaming) as port:
        head, _, body = told(port, old).partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in head.lower()
        assert b"connection: close" in head.lower()
        assert body == EVENTS
        new = START + b"Connection: close\r\n\r\n"
        head, _, body = told(port, new).partition(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head.lower()
        assert body.endswith(b"0\r\n\r\n")
    with serving(streaming, "httptools") as port:
        assert b"transfer-encoding: chunked" in told(port, old).lower()


def test_an_answer_with_a_length_for_http_1_0() -> None:
    with serving(deaf) as port:
        head, _, body = told(port, b"GET /mcp HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert b"content-length: 2" in head
    assert body == b"{}"
