"""Traffic: requests at planned moments, over connections that stay open, spread over servers."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from tests.limits.oracle import Seen

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_TIMEOUT_S = 60
_CONNECTIONS = 8


class Told(NamedTuple):
    """What a client was told."""

    status: int
    headers: dict[str, str]
    body: bytes


class Client:
    """One connection to one server, with one key."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self, body: bytes = PING, headers: dict[str, str] | None = None, path: str = "/mcp"
    ) -> Told:
        """One request."""
        self._connection.request("POST", path, body, self._headers | (headers or {}))
        answer = self._connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Told(answer.status, found, answer.read())

    def seen(self) -> Seen:
        """One request as the oracle wants it; whatever is no admission and no refusal raises."""
        sent_s = time.monotonic()
        told = self.ask()
        answered_s = time.monotonic()
        if told.status == 429:
            return Seen(sent_s, answered_s, False, int(told.headers["retry-after"]))
        assert told.status == 200, told
        return Seen(sent_s, answered_s, True)


# --- when ------------------------------------------------------------------------------------


def steady(per_second: float, seconds: float) -> list[float]:
    """Evenly, so many a second."""
    return [number / per_second for number in range(int(per_second * seconds))]


def bursts(size: int, every_s: float, seconds: float) -> list[float]:
    """So many at once, again and again."""
    return [start * every_s for start in range(int(seconds / every_s)) for _ in range(size)]


class Stream:
    """The requests of one key, sent by several connections to the servers in turn."""

    def __init__(self, ports: Sequence[int], token: str, plan: Sequence[float]) -> None:
        self._plan = sorted(plan)
        self._next = count()
        self._begin_s = 0.0
        self._lock = threading.Lock()
        self.seen: list[Seen] = []
        self.broken: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._send, args=(ports[number % len(ports)], token))
            for number in range(_CONNECTIONS)
        ]

    def begin(self, begin_s: float) -> None:
        """Send the first at that moment."""
        self._begin_s = begin_s
        for thread in self._threads:
            thread.start()

    def end(self) -> list[Seen]:
        """Wait for the last one; what was seen."""
        for thread in self._threads:
            thread.join(_TIMEOUT_S + self._plan[-1])
            assert not thread.is_alive(), "the servers are too slow"
        assert not self.broken, self.broken
        assert len(self.seen) == len(self._plan)
        return self.seen

    def _send(self, port: int, token: str) -> None:
        try:
            with Client(port, token) as client:
                for at_s in self._mine():
                    time.sleep(max(0.0, self._begin_s + at_s - time.monotonic()))
                    self.seen.append(client.seen())
        except (OSError, AssertionError, http.client.HTTPException) as error:
            self.broken.append(error)

    def _mine(self) -> Iterator[float]:
        while True:
            with self._lock:
                number = next(self._next)
            if number >= len(self._plan):
                return
            yield self._plan[number]


def run(streams: Sequence[Stream]) -> list[list[Seen]]:
    """All of them at the same time."""
    begin_s = time.monotonic() + 0.05
    for stream in streams:
        stream.begin(begin_s)
    return [stream.end() for stream in streams]
