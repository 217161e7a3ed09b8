"""Every client of the programmers' libraries: it lists, calls and reads, and it hears."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live_server import LiveServer
from tests.mcp_clients.drivers import (
    CLIENTS,
    DEAF,
    RESOURCE_UPDATED,
    Address,
    Driver,
    PythonSdk,
)
from tests.mcp_clients.scene import (
    BOOT,
    BOOT_URI,
    FIND,
    HEARD_FROM_ANOTHER_PROCESS_WITHIN_S,
    LOST_AFTER_S,
    begin_to_listen,
    change_the_boot,
    check_delays,
    delays_of_a_change,
    delays_of_a_class,
    lists_calls_and_reads,
    over_http,
)

pytestmark = [
    pytest.mark.xdist_group("mcp-clients"),
    # The SDK dislikes resources/subscribe; we mean it.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def crowd(live: LiveServer) -> Iterator[dict[str, Driver]]:
    """All clients that can hold a stream, connected at once and listening."""
    with ExitStack() as closing:
        clients = {
            name: closing.enter_context(make(live))
            for name, (make, _) in CLIENTS.items()
            if name not in DEAF
        }
        begin_to_listen(clients, over_http(live))
        yield clients


@pytest.mark.parametrize("name", CLIENTS)
def test_it_lists_calls_and_reads(name: str, live: LiveServer) -> None:
    make, revision = CLIENTS[name]
    with make(live) as client:
        assert client.revision() == revision
        lists_calls_and_reads(client)


def test_all_hear_of_a_class_that_was_made_through_the_server(
    crowd: dict[str, Driver], live: LiveServer, record_property: Record
) -> None:
    record_property("figure", check_delays(delays_of_a_class(crowd, over_http(live))))


def test_all_hear_of_a_class_that_another_process_made(
    crowd: dict[str, Driver], live: LiveServer, record_property: Record
) -> None:
    record_property(
        "figure",
        check_delays(delays_of_a_class(crowd, live.call), HEARD_FROM_ANOTHER_PROCESS_WITHIN_S),
    )


def test_all_hear_of_a_resource_that_changed(
    crowd: dict[str, Driver], live: LiveServer, record_property: Record
) -> None:
    record_property("figure", check_delays(delays_of_a_change(crowd, over_http(live))))


def test_all_hear_of_a_resource_that_another_process_changed(
    crowd: dict[str, Driver], live: LiveServer, record_property: Record
) -> None:
    record_property(
        "figure",
        check_delays(delays_of_a_change(crowd, live.call), HEARD_FROM_ANOTHER_PROCESS_WITHIN_S),
    )


def test_after_the_news_the_clients_still_work(crowd: dict[str, Driver]) -> None:
    for client in crowd.values():
        lists_calls_and_reads(client)


def test_who_does_not_listen_is_not_told(live: LiveServer) -> None:
    with PythonSdk(live, mode="legacy") as deaf, PythonSdk(live, mode="legacy") as hearing:
        begin_to_listen({"hearing": hearing}, over_http(live))
        change_the_boot(over_http(live))
        told = deaf.inbox.wait_for(RESOURCE_UPDATED, BOOT_URI, since=0, timeout_s=0.5)
        assert told is None


def test_a_server_that_stops_ends_its_streams_in_good_order(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "live.db", packs=["zorp"]).start()
    with (
        PythonSdk(server, mode="legacy") as handshaken,
        PythonSdk(server, mode="2026-07-28") as stateless,
    ):
        begin_to_listen({"handshaken": handshaken, "stateless": stateless}, over_http(server))
        server.stop()
        assert stateless.listening is not None
        stateless.listening.result(LOST_AFTER_S)  # raises if the stream was just cut


@pytest.mark.parametrize("name", CLIENTS)
def test_a_wrong_key_opens_nothing(name: str, live: LiveServer) -> None:
    with pytest.raises(Exception) as refused:
        _call(name, Address(live.url, "tests:wrong"))
    assert "invalid token" in repr(refused.value)


def _call(name: str, address: Address) -> None:
    make, _ = CLIENTS[name]
    with make(address) as client:
        client.call(FIND, {"entity": BOOT})
