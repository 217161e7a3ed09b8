"""The server's life, its routes, and the pages that belong to no surface."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbar.app import make_app
from sandbar.database import open_database
from sandbar.edge.asgi import Message
from sandbar.edge.lifespan import live
from sandbar.errors import Conflict
from sandbar.packs import PackEndpoint, known_endpoints
from sandbar.serving import Serving
from tests.mcp.served import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("life") / "life.db", ("care",)) as served:
        yield served


def ask(served: Served, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
    """A request of a stranger; all headers but those of the moment."""
    port = int(served.url.rpartition(":")[2].partition("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        kept = {name: named[name] for name in named.keys() - {"date", "x-request-id", "server"}}
        assert named["x-request-id"]
        return answer.status, kept, answer.read()
    finally:
        connection.close()


TEXT = {"content-type": "text/plain; charset=utf-8"}


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/", "/MCP", "/mcpx", "/mcp/sse/x", "//mcp", "/mcp%0A", "/mcp%3F", "/api", "/x/"]
)
def test_paths_are_exact(served: Served, method: str, path: str) -> None:
    assert ask(served, method, path) == (404, TEXT | {"content-length": "9"}, b"Not Found")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/health/", "/health"),
        ("/mcp/sse/", "/mcp/sse"),
        ("/mcp///", "/mcp"),
        ("/api/mcp//?a=%C3%A9&b", "/api/mcp?a=%C3%A9&b"),
    ],
)
def test_slashes_too_many_are_told_where_to_go(served: Served, path: str, meant: str) -> None:
    url = served.url.removesuffix("/mcp") + meant
    assert ask(served, "POST", path) == (307, {"content-length": "0", "location": url}, b"")


def test_the_health_page_is_read_only(served: Served) -> None:
    refused = TEXT | {"content-length": "18", "allow": "GET, HEAD"}
    assert ask(served, "POST", "/health") == (405, refused, b"Method Not Allowed")
    kind = {"content-type": "application/json", "content-length": "15"}
    assert ask(served, "GET", "/health") == (200, kind, b'{"status":"ok"}')
    assert ask(served, "HEAD", "/health") == (200, kind, b"")


def _cuckoo(path: str) -> PackEndpoint:
    return PackEndpoint(path=path, name="cuckoo", title="Cuckoo", version="1", tools=("lay",))


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/sse", "/health", "/api/mcp"])
def test_a_pack_that_wants_a_path_of_ours_stops_the_start(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = known_endpoints()
    cuckoo = _cuckoo(path)
    monkeypatch.setattr("sandbar.app.known_endpoints", lambda: [*known, ("cuckoo", cuckoo)])
    with open_database(tmp_path / "clash.db") as database, pytest.raises(Conflict) as caught:
        make_app(database, Serving())
    assert caught.value.code == "route.taken"
    assert "the pack cuckoo" in caught.value.message
    assert path in caught.value.message


def test_a_pack_with_a_path_of_its_own_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control."""
    known = known_endpoints()
    fine = _cuckoo("/nest/mcp")
    monkeypatch.setattr("sandbar.app.known_endpoints", lambda: [*known, ("cuckoo", fine)])
    with open_database(tmp_path / "fine.db") as database:
        make_app(database, Serving())


# --- lifespan --------------------------------------------------------------------------------


def lived(*, fails: bool = False) -> tuple[list[str], dict[str, Any]]:
    """What happened, in order, and what the server was given to keep."""
    happened: list[str] = []
    scope: dict[str, Any] = {"type": "lifespan", "state": {}}

    @asynccontextmanager
    async def running() -> AsyncIterator[dict[str, Any]]:
        happened.append("begun")
        if fails:
            raise OSError("no")
        yield {"kept": 1}
        happened.append("ended")

    async def receive() -> Message:
        return {"type": "whatever is next"}

    async def send(message: Message) -> None:
        happened.append(message["type"])

    try:
        asyncio.run(live(running, scope, receive, send))
    except OSError:
        happened.append("failed")
    return happened, scope["state"]


def test_what_runs_runs_from_the_start_to_the_end() -> None:
    assert lived() == (
        ["begun", "lifespan.startup.complete", "ended", "lifespan.shutdown.complete"],
        {"kept": 1},
    )


def test_a_start_that_fails_is_not_told_as_a_start() -> None:
    assert lived(fails=True) == (["begun", "failed"], {})
