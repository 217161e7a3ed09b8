"""No row, no answer: whatever its road, a request that cannot be recorded is a 503."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sandbar.errors import Unavailable
from sandbar.store.postgres.install import install
from tests.mcp.served import MODERN, OLD, Served, serving
from tests.mcp.without_tls import WITHOUT_TLS
from tests.postgres_server import PostgresServer

BOTH = "application/json, text/event-stream"
STREAM = "text/event-stream"
READ = {"name": "sandbar_entity_find", "arguments": {"entity": "dt/Class"}}
SEARCH = {"name": "sandbar_search_text", "arguments": {"query": "boot"}}
# One that is kept takes its row along; one that is refused needs a row of its own.
WRITE = {"name": "sandbar_entity_create", "arguments": {"class": "no/such", "slots": {}}}


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    place: Path | str = tmp_path_factory.mktemp("unrecorded") / "a.db"
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = server.create_database()
            stack.callback(server.drop_database, url)
            place = install(url)
        served = stack.enter_context(serving(place, ("zorp", "care")))
        served.token()
        yield served


@pytest.fixture
def full(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on there is no room for a row of the audit."""

    def refuse(*_: object) -> bool:
        raise Unavailable("store.full", "the disk is full", hint="free some space, then retry")

    trail = served.db.journal.trail
    monkeypatch.setattr(trail, "append", refuse)
    monkeypatch.setattr(trail, "append_at_once", refuse)


class Wire:
    """Requests by hand."""

    def __init__(self, served: Served) -> None:
        self._base = served.url.removesuffix("/mcp")
        self._token = served.token()

    def send(
        self,
        how: str,
        path: str,
        message: dict[str, Any] | None = None,
        **headers: str,
    ) -> httpx2.Response:
        """One request, and its answer; a stream is read to its first event."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {self._token}", **named}
        with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
            url = f"{self._base}{path}"
            with client.stream(how, url, headers=sent, json=message) as response:
                if response.status_code != 200 or STREAM not in response.headers["content-type"]:
                    response.read()
                return response

    def session(self) -> dict[str, str]:
        """The headers of a session that has begun."""
        began = self.send("POST", "/mcp", greeting(), Accept=BOTH)
        assert began.status_code == 200
        return {"Mcp-Session-Id": began.headers["mcp-session-id"], "Accept": BOTH}


def message(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "seven", "method": method, "params": params or {}}


def greeting() -> dict[str, Any]:
    info = {"name": "test", "version": "1"}
    return message("initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": info})


def modern(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return message(method, {**params, "_meta": meta}), headers


def assert_refused(response: httpx2.Response, id: str | None = "seven") -> None:
    assert response.status_code == 503, response.text
    assert int(response.headers["retry-after"]) >= 1
    body = json.loads(response.text)
    assert body["id"] == id
    assert body["error"]["data"]["code"] == "audit.unavailable"
    assert body["error"]["data"]["because"] == "store.full"


@pytest.mark.parametrize("params", [READ, SEARCH, WRITE])
@pytest.mark.parametrize("accept", ["*/*", BOTH, STREAM])
@pytest.mark.usefixtures("full")
def test_a_bare_call_is_refused(served: Served, params: dict[str, Any], accept: str) -> None:
    sent = message("tools/call", params)
    assert_refused(Wire(served).send("POST", "/mcp", sent, Accept=accept))


@pytest.mark.parametrize("params", [READ, SEARCH, WRITE])
@pytest.mark.parametrize("accept", ["application/json", BOTH])
@pytest.mark.usefixtures("full")
def test_a_call_of_2026_is_refused(served: Served, params: dict[str, Any], accept: str) -> None:
    sent, headers = modern("tools/call", params)
    assert_refused(Wire(served).send("POST", "/mcp", sent, **headers, Accept=accept))
    sent, headers = modern("tools/list", {})
    assert_refused(Wire(served).send("POST", "/mcp", sent, **headers, Accept=accept))


@pytest.mark.usefixtures("full")
def test_whoever_wants_to_listen_is_refused(served: Served) -> None:
    sent, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert_refused(Wire(served).send("POST", "/mcp", sent, **headers, Accept=BOTH))
    assert_refused(Wire(served).send("GET", "/mcp/sse", Accept=STREAM), None)
    watched = message("resources/subscribe", {"uri": "mcp://sandbar/dt/Class/zorp/Boot"})
    assert_refused(Wire(served).send("POST", "/mcp", watched, Accept=STREAM))


def test_a_session_is_refused(served: Served, request: pytest.FixtureRequest) -> None:
    wire = Wire(served)
    session = wire.session()
    request.getfixturevalue("full")
    for params in (READ, SEARCH, WRITE):
        assert_refused(wire.send("POST", "/mcp", message("tools/call", params), **session))
        alone = {**session, "Accept": "application/json"}
        assert_refused(wire.send("POST", "/mcp", message("tools/call", params), **alone))
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert_refused(wire.send("POST", "/mcp", notice, **session), None)
    assert_refused(wire.send("GET", "/mcp", None, **session), None)
    assert_refused(wire.send("DELETE", "/mcp", None, **session), None)
    assert_refused(wire.send("POST", "/mcp", greeting(), Accept=BOTH))


@pytest.mark.usefixtures("full")
def test_notices_greetings_and_errors_are_refused(served: Served) -> None:
    wire = Wire(served)
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert_refused(wire.send("POST", "/mcp", notice), None)
    assert_refused(wire.send("POST", "/mcp", greeting()))
    assert_refused(wire.send("POST", "/mcp", message("no/such")))
    assert_refused(wire.send("POST", "/mcp", message("tools/call", {"name": "no.such"})))


@pytest.mark.parametrize("method", ["tools/list", "ping", "no/such"])
@pytest.mark.usefixtures("full")
def test_the_endpoint_of_a_pack_refuses(served: Served, method: str) -> None:
    assert_refused(Wire(served).send("POST", "/api/mcp", message(method)))
    sent, headers = modern(method, {})
    assert_refused(Wire(served).send("POST", "/api/mcp", sent, **headers))


def test_a_stream_begins_when_there_is_something_to_tell(served: Served) -> None:
    wire = Wire(served)
    answer = wire.send("POST", "/mcp", message("tools/call", SEARCH), **wire.session())
    assert (answer.status_code, answer.headers["content-type"]) == (200, STREAM)
