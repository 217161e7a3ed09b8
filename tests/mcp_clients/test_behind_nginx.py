"""The same behind nginx with TLS, streams included."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import pytest

from tests.live_server import LiveServer
from tests.mcp_clients.drivers import Driver, PythonSdk
from tests.mcp_clients.nginx import SILENCE_S, Nginx, free_port
from tests.mcp_clients.scene import (
    HEARD_FROM_ANOTHER_PROCESS_WITHIN_S,
    begin_to_listen,
    check_delays,
    delays_of_a_change,
    delays_of_a_class,
    lists_calls_and_reads,
    over_http,
)

pytestmark = [
    pytest.mark.xdist_group("behind-nginx"),
    # The SDK dislikes resources/subscribe; we mean it.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

Record = Callable[[str, object], None]


@dataclass(frozen=True)
class Published:
    """A server, the nginx in front of it, and its address there."""

    server: LiveServer
    nginx: Nginx

    @property
    def url(self) -> str:
        """The endpoint behind TLS."""
        return self.nginx.url

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.server.token


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    """A server that the world reaches through nginx."""
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    options = ["--public-url", f"https://localhost:{port}", "--allowed-host", "localhost"]
    with (
        LiveServer(folder / "live.db", packs=["zorp"], options=options) as server,
        Nginx(folder, port, server.port) as nginx,
    ):
        yield Published(server, nginx)


@pytest.fixture(scope="module")
def crowd(published: Published) -> Iterator[dict[str, Driver]]:
    """A client of each revision, listening."""
    with ExitStack() as closing:
        clients: dict[str, Driver] = {
            mode: closing.enter_context(PythonSdk(published, mode, published.nginx.trust()))
            for mode in ("legacy", "2026-07-28")
        }
        begin_to_listen(clients, over_http(published.server))
        yield clients


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_it_lists_calls_and_reads(mode: str, published: Published) -> None:
    with PythonSdk(published, mode, published.nginx.trust()) as client:
        lists_calls_and_reads(client)


def test_streams_are_not_held_back(
    crowd: dict[str, Driver], published: Published, record_property: Record
) -> None:
    record_property("figure", check_delays(delays_of_a_class(crowd, over_http(published.server))))
    record_property(
        "figure",
        check_delays(
            delays_of_a_change(crowd, published.server.call), HEARD_FROM_ANOTHER_PROCESS_WITHIN_S
        ),
    )


@pytest.mark.long
def test_streams_survive_silence(crowd: dict[str, Driver], published: Published) -> None:
    time.sleep(2 * SILENCE_S + 5)  # the silence is what is tested
    check_delays(delays_of_a_class(crowd, over_http(published.server)))


def test_a_foreign_host_is_refused_behind_it_too(published: Published) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {**published.server.headers, "Host": "evil.example"}
    answer = httpx.post(
        published.url, headers=headers, json=body, verify=published.nginx.trust(), timeout=30
    )
    assert (answer.status_code, answer.json()["error"]["data"]["code"]) == (421, "gate.host")


def test_a_key_is_asked_for_and_the_challenge_names_the_public_address(
    published: Published,
) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx.post(published.url, json=body, verify=published.nginx.trust(), timeout=30)
    assert answer.status_code == 401
    assert 'Bearer realm="sandbar-mcp"' in answer.headers["www-authenticate"]
    assert "127.0.0.1" not in answer.headers["www-authenticate"]
