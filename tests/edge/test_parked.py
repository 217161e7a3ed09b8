"""Requests that take their time: whoever is let in no more when they are whole is refused."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from sandbar.access import add_account, install_access
from sandbar.access.accounts import revoke
from tests.mcp.served import Served, serving
from tests.mcp.without_tls import WITHOUT_TLS

LONG_S = 0.4


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server; each test has accounts of its own."""
    with serving(tmp_path_factory.mktemp("parked") / "parked.db") as served:
        yield served


@contextmanager
def parked(served: Served, token: str, message: dict[str, Any], **headers: str) -> Iterator[Any]:
    """A request of which all but the end has arrived; call what is given to send the rest."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
    place = urlsplit(served.url)
    lines = {"Host": place.netloc, "Authorization": f"Bearer {token}", **headers}
    lines["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(f"POST {place.path} HTTP/1.1\r\n{head}\r\n".encode() + body[:10])
        time.sleep(LONG_S)

        def finish() -> str:
            connection.sendall(body[10:])
            return connection.recv(65536).decode()

        yield finish


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def test_who_takes_long_and_may_still_is_served(served: Served) -> None:
    token = add_account(served.db.workspace, "slow").token
    find = call("sandbar.entity.find", {"entity": "dt/Class"})
    with parked(served, token, find) as finish:
        answer = finish()
    assert answer.startswith("HTTP/1.1 200")
    assert "dt/Class" in answer


def test_who_is_revoked_meanwhile_is_refused(served: Served) -> None:
    made = add_account(served.db.workspace, "boss", role="admin")
    mint = call("sandbar.key.mint", {"name": "door"})
    with parked(served, made.token, mint) as finish:
        revoke(served.db.workspace, "boss")
        answer = finish()
    assert answer.split()[1] in ("401", "403")
    assert "sk-sand-" not in answer
    keys = served.call("sandbar.key.list", {})
    assert "door" not in json.dumps(keys)


def test_a_namesake_of_a_workspace_is_another(served: Served) -> None:
    other = served.db.neighbours.create("other")
    install_access(other)
    token = add_account(other, "old", role="admin").token
    find = call("sandbar.entity.query", {"class": "secret/Thing"})
    with parked(served, token, find) as finish:
        served.db.neighbours.drop("other")
        again = served.db.neighbours.create("other")
        install_access(again)
        again.define(
            {}, {"secret/Thing": {"dt/subclass-of": "dt/Resource"}}, principal="new", reason=None
        )
        again.transact(
            [{"op": "create", "class": "secret/Thing", "slots": {"db/ident": "secret/canary"}}],
            principal="new",
        )
        answer = finish()
    assert answer.startswith("HTTP/1.1 401")
    assert "canary" not in answer
    rows = served.db.journal.trail.rows(again.number, limit=10)
    assert rows == []
    fresh = add_account(again, "new", role="admin").token
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        headers = {"Authorization": f"Bearer {fresh}"}
        listed = client.post(served.url, headers=headers, json=body).json()
    assert listed["result"]["tools"]


def test_a_stream_that_opens_late_is_closed(served: Served) -> None:
    served.db.create("zorp/Boot", {"db/ident": "late/boot", "footwear/name": "Late"})
    made = add_account(served.db.workspace, "listener")
    uri = {"uri": "mcp://sandbar/zorp/Boot/late/boot"}
    message = {"method": "resources/subscribe", "params": uri}
    with parked(served, made.token, message, Accept="text/event-stream") as finish:
        revoke(served.db.workspace, "listener")
        answer = finish()
    assert answer.split()[1] in ("401", "403")
