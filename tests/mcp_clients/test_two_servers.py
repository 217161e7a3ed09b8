"""Two servers on one PostgreSQL database: who is connected to one hears what the other has done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from sandbar.database import prepare_postgres
from tests.live_server import LiveServer
from tests.mcp_clients.drivers import Driver, PythonSdk
from tests.mcp_clients.scene import (
    begin_to_listen,
    check_delays,
    delays_of_a_change,
    delays_of_a_class,
    lists_calls_and_reads,
    over_http,
)
from tests.postgres_server import PostgresServer

pytestmark = [
    pytest.mark.xdist_group("two-servers"),
    # The SDK dislikes resources/subscribe; we mean it.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def servers(postgres_server: PostgresServer) -> Iterator[tuple[LiveServer, LiveServer]]:
    """Two servers on one database, which know the same accounts."""
    owned = postgres_server.create_database()
    url = prepare_postgres(owned, role="sandbar_app")
    with LiveServer(url, packs=["zorp"]) as near:
        far = LiveServer(url)
        far.token = near.token
        with far:
            yield near, far
    postgres_server.drop_database(owned)


@pytest.fixture(scope="module")
def crowd(servers: tuple[LiveServer, LiveServer]) -> Iterator[dict[str, Driver]]:
    """A client of each revision, connected to the first server."""
    near, far = servers
    with ExitStack() as closing:
        clients: dict[str, Driver] = {
            mode: closing.enter_context(PythonSdk(near, mode)) for mode in ("legacy", "2026-07-28")
        }
        begin_to_listen(clients, over_http(far))
        yield clients


def test_both_serve_the_same_database(servers: tuple[LiveServer, LiveServer]) -> None:
    for server in servers:
        with PythonSdk(server, "auto") as client:
            lists_calls_and_reads(client)


def test_news_travels_from_one_server_to_the_clients_of_the_other(
    crowd: dict[str, Driver], servers: tuple[LiveServer, LiveServer], record_property: Record
) -> None:
    _, far = servers
    record_property("figure", check_delays(delays_of_a_class(crowd, over_http(far))))
    record_property("figure", check_delays(delays_of_a_change(crowd, over_http(far))))


def test_news_travels_from_the_command_line(
    crowd: dict[str, Driver], servers: tuple[LiveServer, LiveServer], record_property: Record
) -> None:
    near, _ = servers
    record_property("figure", check_delays(delays_of_a_change(crowd, near.call)))
