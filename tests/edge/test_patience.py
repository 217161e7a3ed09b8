"""Patience over real sockets: with slow heads, bodies and readers, and with idle connections.

All of this is waiting, so it happens at the same time, from the first test on. Most limits have a
control: uvicorn's own protocol, which does not have it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest

from sandbar.edge.asgi import Receive, Scope, Send
from tests.edge.live import Speaking, behind_the_edge, deaf, echo, serving
from tests.edge.raw import HEAD_S, START, UNREAD_S, WHOLE, Hasty, opened, said

UNSENT = START + b"Content-Length: 1000\r\n\r\n"


def with_limits(story: Callable[[int], None]) -> None:
    """Before a server with all of this room's limits."""
    with serving(behind_the_edge(echo), Hasty, keep_alive_s=2) as port:
        story(port)


def without(story: Callable[[int], None]) -> None:
    """Before uvicorn as it is."""
    with serving(echo, "httptools", keep_alive_s=2) as port:
        story(port)


def drip(connection: socket.socket, words: bytes) -> None:
    """One byte after the other until the server has had enough."""
    with suppress(OSError):
        for at in range(len(words)):
            connection.sendall(words[at : at + 1])
            time.sleep(0.05)


SLOW: dict[str, Callable[[socket.socket], None]] = {
    "nothing": lambda _: None,
    "half a line": lambda one: one.sendall(b"POST /mcp HT"),
    "half a head": lambda one: one.sendall(START),
    "a byte now and then": lambda one: drip(one, START * 10),
    "blank lines": lambda one: drip(one, b"\r\n" * 100),
    "half a head after a request": lambda one: one.sendall(WHOLE + START),
}


def a_head_comes_in_time(port: int, kind: str) -> None:
    start = time.monotonic()
    with opened(port) as connection:
        SLOW[kind](connection)
        heard = said(connection)
    # Behind a request the time of an idle connection counts (2 s), as long as nothing more comes.
    assert HEAD_S * 0.9 <= time.monotonic() - start < 4
    if kind in ("half a line", "half a head"):
        assert heard.split()[1] == b"408"
        assert b"gate.head-too-slow" in heard
    if kind == "nothing":
        assert heard == b""


def half_a_head_stays(unlimited: int) -> None:
    with opened(unlimited, 2.5) as connection:
        connection.sendall(START)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def an_idle_connection_may_be_used_again(port: int) -> None:
    with opened(port) as connection:
        for pause_s in (HEAD_S * 2, HEAD_S * 2, 0):
            connection.sendall(WHOLE)
            assert connection.recv(4096).split()[1] == b"200"
            time.sleep(pause_s)


def a_body_after_its_answer_comes_in_time() -> None:
    with serving(deaf, Hasty, keep_alive_s=2) as port:
        with opened(port) as connection:
            start = time.monotonic()
            connection.sendall(UNSENT)
            assert connection.recv(4096).split()[1] == b"200"
            drip(connection, b"x" * 1_000)
            assert time.monotonic() - start < 4
        with opened(port) as connection:  # but one that is whole leaves an idle connection
            connection.sendall(UNSENT)
            assert connection.recv(4096).split()[1] == b"200"
            connection.sendall(b"x" * 500)
            time.sleep(HEAD_S / 2)
            connection.sendall(b"x" * 500)
            time.sleep(HEAD_S * 1.5)
            connection.sendall(UNSENT)
            assert connection.recv(4096).split()[1] == b"200"


def a_body_after_its_answer_is_waited_for() -> None:
    """The control: uvicorn waits for ever."""
    with serving(deaf, "httptools", keep_alive_s=1) as port, opened(port, 2.5) as connection:
        connection.sendall(UNSENT)
        assert connection.recv(4096).split()[1] == b"200"
        connection.sendall(b"x")
        with pytest.raises(TimeoutError):
            connection.recv(1)


def a_stream_behind_such_a_body_is_not_idle() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await deaf(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(2)
        await send({"type": "http.response.body", "body": b"the end"})

    with serving(slow, keep_alive_s=1) as port, opened(port) as connection:
        connection.sendall(START + b"Content-Length: 3\r\n\r\n")
        assert connection.recv(4096).split()[1] == b"200"
        stream = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(b"xxx" + stream)
        assert b"the end" in said(connection)


def a_client_does_not_read(protocol: type[Speaking] | str, is_cut: bool) -> None:
    ended = threading.Event()

    async def flood(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        gone = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
            await asyncio.sleep(0)
        ended.set()

    with serving(flood, protocol) as port:
        with opened(port) as connection:
            connection.sendall(WHOLE)
            assert ended.wait(UNREAD_S * 6) is is_cut
        assert ended.wait(10)


def a_client_that_reads_slowly_is_waited_for() -> None:
    size = 20_000_000

    async def large(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size})

    with serving(large, Hasty) as port, opened(port) as connection:
        connection.sendall(START + b"Connection: close\r\n\r\n")
        heard, start = 0, time.monotonic()
        while more := connection.recv(1_000_000):
            heard += len(more)
            time.sleep(0.05)
    assert heard > size
    assert time.monotonic() - start > UNREAD_S * 2


def who_hangs_up_ends_what_is_served_before_others(
    protocol: type[Speaking] | str, is_told: bool
) -> None:
    begun, ended = threading.Event(), threading.Event()

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        gone = asyncio.ensure_future(_until_gone(receive))
        for _ in range(30):
            await send({"type": "http.response.body", "body": b": ping\n", "more_body": True})
            await asyncio.sleep(0.05)
            if gone.done():
                ended.set()
                return
        gone.cancel()

    with serving(stream, protocol) as port:
        with opened(port) as connection:
            connection.sendall(START + b"\r\n" + WHOLE)
            assert begun.wait(10)
            time.sleep(0.1)
        assert ended.wait(3) is is_told


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


STORIES: dict[str, Callable[[], None]] = {
    **{
        f"a head comes in time: {kind}": partial(
            with_limits, partial(a_head_comes_in_time, kind=kind)
        )
        for kind in SLOW
    },
    "without the limit half a head stays": partial(without, half_a_head_stays),
    "an idle connection may be used again": partial(
        with_limits, an_idle_connection_may_be_used_again
    ),
    "a body after its answer comes in time": a_body_after_its_answer_comes_in_time,
    "without the limit it is waited for": a_body_after_its_answer_is_waited_for,
    "a stream behind such a body is not idle": a_stream_behind_such_a_body_is_not_idle,
    "a client that does not read is cut": partial(a_client_does_not_read, Hasty, True),
    "without the limit it is not": partial(a_client_does_not_read, "httptools", False),
    "a client that reads slowly is waited for": a_client_that_reads_slowly_is_waited_for,
    "who hangs up ends what is served": partial(
        who_hangs_up_ends_what_is_served_before_others, Speaking, True
    ),
    "with uvicorn it is served on": partial(
        who_hangs_up_ends_what_is_served_before_others, "httptools", False
    ),
}


@pytest.fixture(scope="module")
def told() -> Iterator[dict[str, Future[None]]]:
    """The stories, being told."""
    with ThreadPoolExecutor(len(STORIES)) as pool:
        yield {title: pool.submit(story) for title, story in STORIES.items()}


@pytest.mark.parametrize("title", STORIES)
def test_patience(told: dict[str, Future[None]], title: str) -> None:
    told[title].result()
