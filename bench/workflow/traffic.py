"""A way to PostgreSQL that counts: how often a client waits for an answer, and for how much."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

_CHUNK = 65_536
_NOT_YET = (80_877_103, 80_877_104)  # asks for TLS or GSS, and is refused: the greeting follows
_STATEMENTS = b"QE"  # a simple query; the execution of a prepared one


class Counter:
    """What all connections together have sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.trips = 0
        self.statements = 0

    def add(self, trips: int, statements: int) -> None:
        """Count some more."""
        with self._lock:
            self.trips += trips
            self.statements += statements


class _Words:
    """The messages of one client, taken apart as far as their kinds go."""

    def __init__(self) -> None:
        self._pending = b""
        self._is_greeted = False

    def statements_in(self, data: bytes) -> int:
        """How many statements end their message in this piece."""
        self._pending += data
        count = 0
        while (end := self._end()) is not None:
            if self._is_greeted:
                count += self._pending[0] in _STATEMENTS
            else:
                self._is_greeted = int.from_bytes(self._pending[4:8]) not in _NOT_YET
            self._pending = self._pending[end:]
        return count

    def _end(self) -> int | None:
        """Where the first message ends, if all of it is there."""
        kind = 1 if self._is_greeted else 0  # the greeting alone does not begin with its kind
        if len(self._pending) < kind + 4:
            return None
        end = kind + int.from_bytes(self._pending[kind : kind + 4])
        return end if len(self._pending) >= end else None


class _Line:
    """One connection, in both directions."""

    def __init__(self, client: socket.socket, server: socket.socket, counter: Counter) -> None:
        self._client, self._server, self._counter = client, server, counter
        self._is_answered = True  # by the server, so that what the client says next is a new trip
        self._threads = [
            threading.Thread(target=self._pass, args=ends, daemon=True)
            for ends in ((client, server), (server, client))
        ]

    def carry(self) -> None:
        """Begin; a thread in each direction."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Hang up on both sides."""
        for end in (self._client, self._server):
            _hang_up(end)
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        words = _Words() if source is self._client else None
        try:
            while data := source.recv(_CHUNK):
                if words is None:
                    self._is_answered = True
                else:
                    self._counter.add(int(self._is_answered), words.statements_in(data))
                    self._is_answered = False
                target.sendall(data)
        except ConnectionError:
            pass
        finally:
            _hang_up(target)


@contextmanager
def counted(url: str) -> Iterator[tuple[str, Counter]]:
    """The address of a detour to the same database, and what passes there."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    counter, lines = Counter(), list[_Line]()
    there, listening = (parts.hostname, parts.port), socket.create_server(("127.0.0.1", 0))
    netloc = parts.netloc.replace(f":{parts.port}", f":{listening.getsockname()[1]}")

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:  # hung up: nobody will come any more
                return
            server = socket.create_connection(there)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lines.append(_Line(client, server, counter))
            lines[-1].carry()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield urlunsplit(parts._replace(netloc=netloc)), counter
    finally:
        _hang_up(listening)
        accepting.join()
        listening.close()
        for line in lines:
            line.end()


def _hang_up(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:  # the other side was faster
        pass
