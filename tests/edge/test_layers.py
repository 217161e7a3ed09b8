"""Host, Origin, bodies and request ids, over real HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sandbar.edge import Hosts
from sandbar.edge.asgi import Receive, Scope, Send
from tests.edge.live import ask, behind_the_edge, echo, serving

LIMIT = 1000


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """An app that anybody may ask."""
    hosts = Hosts(
        allowed_hosts=["db.example.org", "only.example.org:9000"],
        allowed_origins=["https://app.example.com", "vscode-webview://one"],
        public_url="https://public.example.net/sandbar/",
    )
    app = behind_the_edge(echo, hosts=hosts, body_bytes_max=LIMIT)
    with serving(app) as port:
        yield port


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8080",
        "LOCALHOST.",
        "127.0.0.1:1",
        "[::1]:8080",
        "db.example.org",
        "db.example.org:443",
        "DB.example.org",
        "only.example.org:9000",
        "public.example.net",
    ],
)
def test_hosts_that_are_served(port: int, host: str) -> None:
    assert ask(port, "{}", {"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com",
        "localhost.evil.com",
        "evil.com:80@localhost",
        "localhost@evil.com",
        "evil.example.org/localhost",
        "127.0.0.1.nip.io",
        "only.example.org",
        "only.example.org:9001",
        "localhost:port",
        "[::1",
        "0.0.0.0",
        "",
    ],
)
def test_hosts_that_are_not(port: int, host: str) -> None:
    answer = ask(port, "{}", {"Host": host})
    assert answer.status in (421, 400)
    if answer.status == 421:
        assert answer.json()["error"]["data"]["code"] == "gate.host"
        assert answer.json()["error"]["code"] == -32600
        assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:99", 200),
        ("https://app.example.com", 200),
        ("vscode-webview://one", 200),
        ("https://public.example.net", 200),
        ("https://db.example.org", 200),
        ("http://only.example.org:9000", 200),
        ("http://only.example.org", 403),
        ("https://evil.example.com", 403),
        ("http://app.example.com", 403),
        ("https://app.example.com.evil.com", 403),
        ("vscode-webview://other", 403),
        ("http://localhost.evil.com", 403),
        ("http://evil.com/localhost", 403),
        ("http://localhost:99999", 403),
        ("http://[", 403),
        ("file://localhost", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_origins(port: int, origin: str, status: int) -> None:
    answer = ask(port, "{}", {"Host": "localhost", "Origin": origin})
    assert answer.status == status
    if status == 403:
        assert answer.json()["error"]["data"]["code"] == "gate.origin"


def test_a_request_without_a_host_is_not_for_us(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /mcp HTTP/1.0\r\n\r\n")
        assert connection.recv(100).split()[1] in (b"421", b"400")


def test_without_the_check_a_foreign_host_is_served() -> None:
    with serving(echo) as port:
        assert ask(port, "{}", {"Host": "evil.example.com"}).status == 200


@pytest.mark.parametrize("size", [0, 1, LIMIT - 1, LIMIT])
def test_bodies_up_to_the_limit_arrive_whole(port: int, size: int) -> None:
    body = b"x" * size
    assert ask(port, body).json()["received"] == size
    assert ask(port, iter([body[: size // 2], body[size // 2 :]])).json()["received"] == size


@pytest.mark.parametrize("size", [LIMIT + 1, 100_000, 5_000_000])
def test_a_body_that_says_it_is_too_large(port: int, size: int) -> None:
    answer = ask(port, None, {"Content-Length": str(size)})
    assert answer.status == 413
    assert answer.json()["error"]["code"] == -32600
    assert answer.json()["error"]["data"]["code"] == "gate.body-too-large"
    assert answer.json()["id"] is None


def test_a_body_in_chunks_is_counted_while_it_comes(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        # Never the last chunk: the answer comes all the same. At once, before it hangs up.
        connection.sendall((b"190\r\n" + b"x" * 400 + b"\r\n") * 3)
        answer = connection.recv(4096)
    assert answer.split()[1] == b"413"
    assert b"gate.body-too-large" in answer
    assert b"connection: close" in answer.lower()


def test_no_more_than_the_limit_reaches_the_application() -> None:
    seen: list[int] = []
    done = threading.Event()

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "http.request":
            seen.append(len(message.get("body", b"")))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        done.set()

    with serving(behind_the_edge(counting, body_bytes_max=LIMIT)) as port:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(
                b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            # The server hangs up when it has heard enough, maybe before the last chunk.
            with suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(5):
                    connection.sendall(b"190\r\n" + b"x" * 400 + b"\r\n")
            assert connection.recv(4096).split()[1] == b"413"
        assert done.wait(10)
    assert sum(seen) <= LIMIT


def test_request_ids_are_echoed_or_made(port: int) -> None:
    given = ask(port, "{}", {"X-Request-Id": "abc-1.2:3"})
    assert given.headers["x-request-id"] == "abc-1.2:3" == given.json()["request-id"]
    for bad in ("", "two words", "x" * 129, 'quote"', "ü"):
        made = ask(port, "{}", {"X-Request-Id": bad})
        assert made.headers["x-request-id"] == made.json()["request-id"] != bad
    first, second = ask(port, "{}"), ask(port, "{}")
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


def test_headers_have_a_limit() -> None:
    with serving(behind_the_edge(echo, header_bytes_max=2000)) as port:
        assert ask(port, "{}", {"X-Long": "a" * 1000}).status == 200
        refused = ask(port, "{}", {"X-Long": "a" * 3000})
        assert refused.status == 431
        assert refused.json()["error"]["data"]["code"] == "gate.headers-too-large"
        assert ask(port, "{}", {}).status == 200
