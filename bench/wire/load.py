"""The load: connections that stay open, each with one call under way, in a process of its own."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from typing import NamedTuple, cast

from bench.wire.answers import Answer, WrongAnswerError, check, take_answer
from bench.wire.requests import SESSION_ID, Call, greeted, greeting

_SESSION = re.compile(rb"\r\nmcp-session-id:\s*(\S+)", re.IGNORECASE)
_PATIENCE_S = 20.0


class Round(NamedTuple):
    """What one round has shown. `busy` is the share of the time in which the load itself worked."""

    calls: int
    seconds: float
    latencies: list[float]
    busy: float
    server_cpu_seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self.calls / self.seconds


class _Connection(asyncio.Protocol):
    """Sends a call as soon as the one before is answered, until the time is over."""

    def __init__(self, calls: Iterator[Call]) -> None:
        self._calls = calls
        self._received = b""
        self._call = Call(b"", b"")
        self._sent = self._end = 0.0
        self._transport: asyncio.Transport | None = None
        self.latencies: list[float] = []
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop has a class of its own

    def begin(self, end: float) -> None:
        """Send the first call; the last one is sent before `end`."""
        self._end = end
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._call = next(self._calls)
        self._sent = time.perf_counter()
        self._transport.write(self._call.request)

    def data_received(self, data: bytes) -> None:
        """A part of an answer, mostly all of it."""
        self._received += data
        try:
            answer = take_answer(self._received)
            if answer is None:
                return
            now = time.perf_counter()
            self.latencies.append(now - self._sent)
            self._received = self._received[answer.end :]
            check(answer, self._call.expected)
        except (WrongAnswerError, ValueError) as error:
            self._fail(error)
            return
        if now < self._end:
            self._send()
        elif not self.over.done():
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever hangs up in mid-call has not answered."""
        self._fail(exc or WrongAnswerError(f"hung up after {len(self.latencies)} answers"))

    def _fail(self, error: Exception) -> None:
        if not self.over.done():
            self.over.set_exception(error)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def run_round(
    port: int,
    calls: Sequence[Call],
    connections: int,
    seconds: float,
    sessions: Sequence[bytes] = (),
) -> Round:
    """Call for a while; connecting does not count, nor does it with whom a session was opened."""
    loop = asyncio.get_running_loop()
    opened: list[_Connection] = []
    try:
        for number in range(connections):
            session = sessions[number] if sessions else b""
            mine = _share(calls, number, connections, session)
            _, connection = await loop.create_connection(
                partial(_Connection, mine), "127.0.0.1", port
            )
            opened.append(connection)
        gc.collect()
        start, worked = time.perf_counter(), time.process_time()
        for connection in opened:
            connection.begin(start + seconds)
        async with asyncio.timeout(seconds + _PATIENCE_S):
            await asyncio.gather(*(connection.over for connection in opened))
        took = time.perf_counter() - start
        busy = (time.process_time() - worked) / took
    finally:
        for connection in opened:
            connection.over.cancel()
            connection.close()
    latencies = [one for connection in opened for one in connection.latencies]
    return Round(len(latencies), took, latencies, busy)


def _share(calls: Sequence[Call], number: int, connections: int, session: bytes) -> Iterator[Call]:
    """The calls of one connection, over and over; each connection begins at another place."""
    first = number * len(calls) // connections
    for call in islice(cycle(calls), first, None):
        yield call._replace(request=call.request.replace(SESSION_ID, session)) if session else call


async def ask(port: int, request: bytes) -> Answer:
    """One request on a connection of its own."""
    async with asyncio.timeout(_PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request)
            received = b""
            while (answer := take_answer(received)) is None:
                data = await reader.read(65_536)
                if not data:
                    raise WrongAnswerError(f"hung up after {received!r}")
                received += data
            return answer
        finally:
            writer.close()


async def open_session(port: int, token: str | None = None) -> bytes:
    """The handshake of 2025-11-25; the id of the session, empty where there are none."""
    answer = await ask(port, greeting(token))
    check(answer, b'"protocolVersion":"2025-11-25"')
    found = _SESSION.search(answer.head)
    if found is None:
        return b""
    accepted = await ask(port, greeted(found[1], token))
    if b" 202 " not in accepted.head[:20]:
        raise WrongAnswerError(f"the handshake was not accepted: {accepted!r}")
    return found[1]
