"""Servers on one database, clients that hold on to them, and the command line beside them."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from sandbar.access import mint
from sandbar.database import Database, open_database
from tests.credentials.knocking import (
    Answer,
    Door,
    Knock,
    Lane,
    bearer,
    knock,
    open_session,
    read_answer,
    request_bytes,
)
from tests.live_server import LiveServer

SANDBAR_TOKEN = re.compile(r"sk-sand-[0-9a-f]{64}")
STREAMS = ("sse", "session", "listen")
_LISTEN = {
    "jsonrpc": "2.0",
    "id": "listen-1",
    "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True}},
}


class Fleet:
    """Servers, and an administrator's hand on the same database."""

    def __init__(self, servers: list[LiveServer], db: Database) -> None:
        self.servers = servers
        self.db = db

    def mint(self, name: str, **how: Any) -> str:
        """A key of the workspace's owner, without a limit of its pace."""
        return mint(self.db.workspace, name, rate_limit=0, **how).token

    def sandbar(self, *words: str) -> str:
        """A command, run to its end in a process of its own."""
        return self.servers[0].sandbar(*words)

    def set(self, entity: Any, **slots: Any) -> None:
        """Change slots of an entity, from a process that is none of the servers."""
        changed = {name.replace("_", "-"): value for name, value in slots.items()}
        given = {f"auth/{name}": value for name, value in changed.items()}
        operation = {"op": "update", "entity": entity, "set": given}
        self.db.workspace.transact([operation], principal="tests")

    def delete(self, entity: Any) -> None:
        """Delete an entity, likewise."""
        self.db.workspace.transact([{"op": "delete", "entity": entity}], principal="tests")


@contextmanager
def fleet_on(address: str, size: int) -> Iterator[Fleet]:
    """So many servers on one database."""
    with ExitStack() as stack:
        servers = [LiveServer(address) for _ in range(size)]
        for server in servers:
            server.token = servers[0].token  # one account is enough for all
            stack.enter_context(server)
        db = stack.enter_context(open_database(address, "main"))
        yield Fleet(servers, db)


class Guest:
    """A client of one server: a connection that stays open, a session, and open streams."""

    def __init__(self, server: LiveServer, token: str) -> None:
        self.token = token
        self.streams: dict[str, OpenStream] = {}
        self.door = open_session(Door(server.port), token)
        self._kept = socket.create_connection(("127.0.0.1", server.port), 10)

    def listen(self) -> None:
        """Open a stream of each kind."""
        sse = Knock(
            (bearer(self.token),), path=b"/mcp/sse", verb=b"GET", accept=b"text/event-stream"
        )
        own = Knock((bearer(self.token),), verb=b"GET")
        listening = Knock((bearer(self.token),), message=_LISTEN)
        self.streams["sse"] = OpenStream(self.door, "bare", sse)
        self.streams["session"] = OpenStream(self.door, "session", own)
        self.streams["listen"] = OpenStream(self.door, "envelope", listening)

    def ask(self, message: dict[str, Any] | None = None) -> Answer:
        """Over the connection that is open already."""
        one = Knock((bearer(self.token),), message=message)
        self._kept.sendall(request_bytes(self.door, "bare", one))
        return read_answer(self._kept)

    def ask_anew(self, lane: Lane) -> Answer:
        """Over a connection of its own."""
        return knock(self.door, lane, Knock((bearer(self.token),)))

    def close(self) -> None:
        """Hang up."""
        for stream in self.streams.values():
            stream.close()
        self._kept.close()


class OpenStream:
    """A stream that is read on a thread of its own until it ends."""

    def __init__(self, door: Door, lane: Lane, one: Knock) -> None:
        self._socket = socket.create_connection(("127.0.0.1", door.port), 10)
        self._socket.sendall(request_bytes(door, lane, one))
        self._response = http.client.HTTPResponse(self._socket, method=one.verb.decode())
        self._response.begin()
        if self._response.status != 200:
            said = self._response.read()
            self._response.close()
            self._socket.close()
            raise AssertionError(said)
        self._socket.settimeout(60)
        self.ended = threading.Event()
        self.ended_s = 0.0
        self.heard = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError, http.client.HTTPException):
            while piece := self._response.read1(65536):
                self.heard += piece
        self.ended_s = time.monotonic()
        self.ended.set()

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._response.close()
        self._socket.close()


class Hammer:
    """Asks again and again on connections that stay open, and keeps what it was told and when."""

    def __init__(self, ports: list[int], token: str, threads: int) -> None:
        self._token = token
        self._stop = threading.Event()
        self.told: list[tuple[float, int, int]] = []  # when it was asked, which server, the status
        self.broken: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._ask, args=(ports[number % len(ports)],))
            for number in range(threads)
        ]

    def __enter__(self) -> Hammer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(20)

    def _ask(self, port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                connection.request("POST", "/mcp", body, headers)
                answer = connection.getresponse()
                answer.read()
                self.told.append((began, port, answer.status))
        except (OSError, http.client.HTTPException) as error:
            self.broken.append(error)
        finally:
            connection.close()

    def wait_for(self, number: int, since_s: float = 0.0, status: int | None = None) -> None:
        """Wait until so many have been answered."""
        deadline = time.monotonic() + 30
        while len([1 for at, _, s in self.told if at >= since_s and status in (None, s)]) < number:
            assert time.monotonic() < deadline, "the servers answer too slowly"
            assert not self.broken, self.broken
            time.sleep(0.01)
