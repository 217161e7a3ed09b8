"""A wire that can be cut: a proxy in front of PostgreSQL that watches for COMMIT."""

from __future__ import annotations

import socket
import threading
from enum import Enum
from types import TracebackType
from urllib.parse import urlsplit

_COMMIT = b"COMMIT\0"


class Cut(Enum):
    """What happens to the next COMMIT."""

    NEVER = "it passes"
    BEFORE = "the line is cut before the server has heard of it"
    AFTER = "the line is cut after the server has answered, before the answer arrives"


class Proxy:
    """Forwards connections to the server; `address` is the URL that leads through it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = url.replace(f":{parts.port}/", f":{self._listener.getsockname()[1]}/")
        self.cut = Cut.NEVER
        self.is_refusing = False
        self.refuses_after_cut = False
        self.cuts = 0

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_refusing:
                client.close()
                continue
            server = socket.create_connection(self._server)
            for source, target in ((client, server), (server, client)):
                threading.Thread(
                    target=self._forward, args=(source, target, source is client), daemon=True
                ).start()

    def _forward(self, source: socket.socket, target: socket.socket, from_client: bool) -> None:
        try:
            while data := source.recv(65536):
                if from_client and _COMMIT in data and self.cut is not Cut.NEVER:
                    self._sever(source, target, data)
                    return
                target.sendall(data)
        except OSError:
            pass
        finally:
            _hang_up(source, target)

    def _sever(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        cut, self.cut = self.cut, Cut.NEVER
        self.cuts += 1
        self.is_refusing = self.refuses_after_cut
        if cut is Cut.AFTER:
            # First the way back is closed, so that no answer can slip through; the server ends its
            # session after the COMMIT, and only then is the client told that the line is dead.
            client.shutdown(socket.SHUT_WR)
            server.sendall(data)
            server.shutdown(socket.SHUT_WR)


def _hang_up(*sockets: socket.socket) -> None:
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()
