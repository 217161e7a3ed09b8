"""Connections: what a stranger may send, and hold, before there is a request to look at.

The parser takes a head of any size at any pace, and a client need not read what it is sent.
uvicorn bounds neither, so its protocol is bounded here. On the way of a request that arrives in
one piece this costs a few comparisons and no timer.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NoReturn

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from sandbar.edge.asgi import App, Message, Receive, Scope, Send
from sandbar.edge.capacity import Capacity, Place
from sandbar.edge.headers import HEADER_BYTES_MAX, headers_too_large
from sandbar.edge.refusing import status_of
from sandbar.edge.surfaces import Refusal, Say
from sandbar.errors import Incorrect, Problem, TooMany, Unavailable

HEADERS_MAX = 200
TARGET_BYTES_MAX = 8 * 1024
PIPELINED_MAX = 100
HEAD_S_MAX = 15.0
UNREAD_S_MAX = 60.0

_PIECE_BYTES = 64 * 1024  # what the parser gets at once, and so how late a limit is noticed
_ABSOLUTE = re.compile(rb"https?://([^/?#]+)", re.IGNORECASE)


class _RefusedError(Exception):
    """Raised into the parser, which then stops; the answer is known already."""


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits. A server makes a class of it, of its own."""

    say: Say  # how to refuse what is no request yet
    capacity: Capacity | None = None  # None: any number of connections
    head_s_max = HEAD_S_MAX
    unread_s_max = UNREAD_S_MAX

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._place: Place | None = None
        self.headers = []  # of the request that is arriving
        self._idle_bytes = 0  # received since the last head or piece of a body was complete
        self._refusal: Problem | None = None
        self._answering: RequestResponseCycle | None = None  # behind it, others may be waiting
        self._head_timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None

    # --- opening and closing ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, if there is room."""
        super().connection_made(transport)
        if self.capacity is not None:
            self._place = Place(self.client[0] if self.client else "", self._make_room)
            self.capacity.enter(self._place)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it, and tell the request that is served: uvicorn tells the last one only."""
        if self.capacity is not None and self._place is not None:
            self.capacity.leave(self._place)
        self._unwatch_head()
        self._unwatch_reading()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Hang up without waiting for a client that does not read its last answers."""
        self.transport.abort()

    # --- what arrives ----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Give the parser pieces, and count those that complete nothing."""
        if len(data) <= _PIECE_BYTES:
            self._parse(data)
        else:
            for start in range(0, len(data), _PIECE_BYTES):
                if self.transport.is_closing():
                    return
                self._parse(data[start : start + _PIECE_BYTES])
        if self.timeout_keep_alive_task is None and not self._is_serving():
            self._watch_head()

    def _parse(self, piece: bytes) -> None:
        self._idle_bytes += len(piece)
        super().data_received(piece)
        # Trailers count as well: they come after the last piece of a body.
        if self._idle_bytes > HEADER_BYTES_MAX or len(self.headers) > HEADERS_MAX:
            self._answer(self._too_much())

    def on_headers_complete(self) -> None:
        """Serve the request, if its head is in order."""
        self._idle_bytes = 0
        self._unwatch_head()
        if len(self.headers) > HEADERS_MAX:
            self._refuse(self._too_much())
        if len(self.url) > TARGET_BYTES_MAX:
            self._refuse(_target_too_long())
        if len(self.pipeline) >= PIPELINED_MAX:
            self._refuse(_too_many_at_once())
        if not self.url.startswith(b"/"):
            self._obey_target()
        self._unset_keepalive_if_required()
        if self._place is not None:
            self.scope["state"]["place"] = self._place
            self.scope["state"]["capacity"] = self.capacity
        super().on_headers_complete()
        self.headers = []  # for trailers, which are no headers of the request

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._idle_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next request, if this one was answered before all of it had arrived."""
        self._idle_bytes = 0
        super().on_message_complete()
        if self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._unwatch_head()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _obey_target(self) -> None:
        """In `POST http://host/mcp` the target says which host is meant, whatever Host says."""
        absolute = _ABSOLUTE.match(self.url)
        if absolute is None:
            self._refuse(_no_target())
        self.headers[:] = [
            (name, absolute[1] if name == b"host" else value) for name, value in self.headers
        ]

    def _too_much(self) -> Problem:
        if len(self.headers) > HEADERS_MAX:
            return _too_many_headers()
        return headers_too_large(HEADER_BYTES_MAX)

    def _is_serving(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    # --- what is answered ------------------------------------------------------------------------

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        if self.capacity is not None and self._place is not None and self._place.is_proxied:
            self.capacity.ask(self._place, cycle.scope["headers"])
        if cycle.scope["http_version"] != "1.1":
            app = _until_closed(cycle, app)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request; read no more of them while some are waiting."""
        if self.capacity is not None and self._place is not None and self._place.is_proxied:
            self.capacity.answered(self._place)
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reading()
        elif self.pipeline:
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or what was refused while it was parsed."""
        if self._refusal is not None:
            self._answer(self._refusal)
        elif self._is_in_an_answer():
            self._hang_up()
        else:
            super().send_400_response(msg)

    def _refuse(self, problem: Problem) -> NoReturn:
        self._refusal = problem
        raise _RefusedError(problem.code)

    def _answer(self, problem: Problem) -> None:
        """Answer without a request, and hang up."""
        if self.transport.is_closing():
            return
        if not self._is_in_an_answer():
            status = status_of(problem)
            body, kind = type(self).say(problem, Refusal(status))
            head = b"content-type: %b\r\ncontent-length: %d\r\n" % (kind, len(body))
            self.transport.write(STATUS_LINE[status] + head + b"connection: close\r\n\r\n" + body)
        self._hang_up()

    def _is_in_an_answer(self) -> bool:
        """Whether anything that is written now would land in or before another answer."""
        one = self._answering
        if one is None or one.response_complete:
            return False
        return one.response_started or bool(self.pipeline)

    def _hang_up(self) -> None:
        self.transport.close()
        self._watch_reading()

    def _make_room(self) -> None:
        """Hang up, since there are too many connections."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()  # it would stay until its client has read
        elif self._idle_bytes or self._answering is None or self._is_serving():
            self._answer(_too_many_connections())
        else:
            self._hang_up()

    # --- time ------------------------------------------------------------------------------------

    def _watch_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self.head_s_max, self._head_is_late)

    def _unwatch_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._idle_bytes:
            self._answer(_head_too_slow(self.head_s_max))
        else:
            self._hang_up()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._unwatch_reading()
        super().resume_writing()

    def _watch_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        if self._unread_timer is None and unread:
            self._unread_timer = self.loop.call_later(
                self.unread_s_max, self._check_reading, unread
            )

    def _unwatch_reading(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
            self._unread_timer = None

    def _check_reading(self, unread_before: int) -> None:
        self._unread_timer = None
        if self.transport.get_write_buffer_size() < unread_before:
            self._watch_reading()
        else:
            self.transport.abort()


def _until_closed(cycle: RequestResponseCycle, app: App) -> App:
    """The application without chunks: HTTP/1.0 has none, the end of a stream is the connection's.

    uvicorn takes what is in the cycle for the length that the headers have promised.
    """
    cycle.keep_alive = False

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        is_endless = False

        async def send_plainly(message: Message) -> None:
            nonlocal is_endless
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", ())}
                is_endless = b"content-length" not in names
                if is_endless:
                    cycle.chunked_encoding = False
            elif is_endless:
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await app(scope, receive, send_plainly)

    return served


def _too_many_connections() -> Problem:
    return Unavailable("gate.connections", "too many connections are open", hint="try again later")


def _too_many_headers() -> Problem:
    return Incorrect(
        "gate.headers-too-many",
        f"a request has at most {HEADERS_MAX} headers",
        hint="send what is large in the body",
    )


def _target_too_long() -> Problem:
    return Incorrect(
        "gate.target-too-long",
        f"the target of a request has at most {TARGET_BYTES_MAX} bytes",
        hint="send what is large in the body",
    )


def _no_target() -> Problem:
    return Incorrect("gate.target", "the target of a request is a path", hint="ask for /mcp")


def _too_many_at_once() -> Problem:
    return TooMany(
        "gate.pipelined",
        f"at most {PIPELINED_MAX} requests wait on one connection",
        hint="wait for answers, or open another connection",
    )


def _head_too_slow(seconds: float) -> Problem:
    return Incorrect(
        "gate.head-too-slow",
        f"the headers of a request come within {seconds:g} s",
        hint="send them at once",
    )
