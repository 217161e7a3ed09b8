"""Servers on one database, and keys for those who ask them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

from sandbar.access import mint
from sandbar.database import Database, open_database
from tests.live_server import LiveServer


class Fleet:
    """Servers, and an administrator's hand on their database."""

    def __init__(self, servers: list[LiveServer], db: Database) -> None:
        self.servers = servers
        self.ports = [server.port for server in servers]
        self.db = db

    def mint(self, name: str, **how: Any) -> str:
        """The token of a new key of the workspace's owner."""
        return mint(self.db.workspace, name, **how).token

    def sandbar(self, *words: str) -> str:
        """A command, run to its end in a process of its own."""
        return self.servers[0].sandbar(*words)


def on_each(fleets: Sequence[Fleet], *stories: Callable[[Fleet], None]) -> None:
    """The same with several fleets at the same time; the first that fails is told."""
    with ThreadPoolExecutor(len(fleets) * len(stories)) as pool:
        told = [pool.submit(story, fleet) for fleet in fleets for story in stories]
        for one in told:
            one.result()


@contextmanager
def fleet_on(
    address: str, size: int, program: Sequence[str] | None = None, token: str = ""
) -> Iterator[Fleet]:
    """So many servers on one database; `token` is an administrator's, if there is one already."""
    with ExitStack() as stack:
        servers = [LiveServer(address) for _ in range(size)]
        servers[0].token = token
        for server in servers:
            server.program = list(program or server.program)
            stack.callback(server.stop, is_lenient=True)
        servers[0].start()  # and with it the account of all
        for server in servers[1:]:
            server.token = servers[0].token
        with ThreadPoolExecutor() as pool:
            list(pool.map(LiveServer.start, servers[1:]))
        db = stack.enter_context(open_database(address, "main"))
        yield Fleet(servers, db)
        with ThreadPoolExecutor() as pool:
            list(pool.map(LiveServer.stop, servers))  # and look at their logs
