"""Every request that was understood has its row before its answer leaves, whatever its road."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

from sandbar.access import add_account
from sandbar.audit import AuditRow
from sandbar.errors import Unavailable
from sandbar.model import Update
from sandbar.store.postgres.install import install
from tests.mcp.served import MODERN, Served, serving
from tests.mcp.without_tls import WITHOUT_TLS
from tests.postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    place: Path | str = tmp_path_factory.mktemp("recording") / "a.db"
    with contextlib.ExitStack() as stack:
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            url = server.create_database()
            stack.callback(server.drop_database, url)
            place = install(url)
        served = stack.enter_context(serving(place, ("zorp", "everything")))
        served.token("admin")
        served.token("reader")
        yield served


def rows_since(served: Served, row: AuditRow | None) -> list[AuditRow]:
    """The rows after one, oldest first."""
    found = served.db.journal.trail.rows(served.db.workspace.number, limit=1000)
    known = len(found) if row is None else found.index(row)
    return found[:known][::-1]


def last_row(served: Served) -> AuditRow | None:
    found = served.db.journal.trail.rows(served.db.workspace.number, limit=1)
    return found[0] if found else None


def call(name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": name, "arguments": arguments or {}}


def test_a_read_leaves_one_row(served: Served) -> None:
    before = last_row(served)
    served.call("sandbar.entity.find", {"entity": "dt/Class"})
    (row,) = rows_since(served, before)
    assert (row.principal, row.surface, row.method) == ("service/test-admin", "mcp", "tools/call")
    assert (row.verb, row.is_success, row.code) == ("entity.find", True, None)
    assert row.key is not None
    assert row.request_id is not None
    assert 0 <= row.duration_us < 5_000_000


def test_a_write_takes_its_row_along(served: Served) -> None:
    before = last_row(served)
    slots = {"footwear/name": "Rowed", "footwear/price": 10}
    made = served.call("sandbar_entity_create", {"class": "zorp/SpaceBoot", "slots": slots})
    assert made["created"]
    (row,) = rows_since(served, before)
    assert (row.verb, row.is_success) == ("entity.create", True)
    assert "Rowed" not in repr(row)


def test_a_class_tool_is_named(served: Served) -> None:
    before = last_row(served)
    slots = {"footwear/name": "Of a class", "footwear/price": 11}
    served.call("sandbar.class.zorp.SpaceBoot", slots)
    (row,) = rows_since(served, before)
    assert (row.verb, row.is_success) == ("sandbar.class.zorp.SpaceBoot", True)


REFUSED = [
    ("tools/call", call("sandbar.entity.find", {"entity": "no/such"}), "entity.unknown"),
    ("tools/call", call("sandbar.entity.create", {"class": "zorp/SpaceBoot"}), None),
    ("tools/call", call("sandbar.no.such"), "verb.unknown"),
    ("tools/call", {}, "request.params"),
    ("no/such", {}, "method.unknown"),
    ("resources/read", {"uri": "mcp://sandbar/no/such/thing/x"}, None),
    ("prompts/get", {"name": "nothing"}, None),
    ("tasks/get", {"taskId": "1-x"}, None),
    ("tools/list", {"cursor": "nonsense"}, None),
]


@pytest.mark.parametrize(("method", "params", "code"), REFUSED)
@pytest.mark.parametrize("road", ["bare", "modern"])
def test_what_is_refused_has_a_row(
    served: Served, method: str, params: dict[str, Any], code: str | None, road: str
) -> None:
    before = last_row(served)
    if road == "bare":
        served.post(method, params)
    else:
        served.modern(method, params)
    (row,) = rows_since(served, before)
    assert (row.method, row.is_success) == (method, False)
    assert row.code is not None
    if code is not None and road == "bare":
        assert row.code == code


def test_what_the_role_forbids_has_a_row(served: Served) -> None:
    before = last_row(served)
    arguments = {"class": "zorp/SpaceBoot", "slots": {}}
    served.post("tools/call", call("sandbar.entity.create", arguments), role="reader")
    (row,) = rows_since(served, before)
    assert (row.principal, row.verb) == ("service/test-reader", "entity.create")
    assert (row.is_success, row.code) == (False, "verb.forbidden")


def test_a_tool_that_says_so_has_failed(served: Served) -> None:
    before = last_row(served)
    served.post("tools/call", call("test_error_handling"))
    (row,) = rows_since(served, before)
    assert (row.verb, row.is_success) == ("test_error_handling", False)


PLAIN = [
    ("ping", {}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("initialize", {"protocolVersion": "2025-11-25", "clientInfo": {"name": "x", "version": "1"}}),
]


@pytest.mark.parametrize(("method", "params"), PLAIN)
def test_methods_that_are_no_verbs_have_rows(
    served: Served, method: str, params: dict[str, Any]
) -> None:
    before = last_row(served)
    assert "result" in served.post(method, params)
    (row,) = rows_since(served, before)
    assert (row.method, row.verb, row.is_success) == (method, None, True)


def test_a_strange_tool_leaves_no_text(served: Served) -> None:
    before = last_row(served)
    served.post("tools/call", call("my password is hunter2 " * 3))
    served.post("do you know my password hunter2?", {})
    first, second = rows_since(served, before)
    assert "hunter2" not in repr((first, second))
    assert (first.is_success, second.is_success) == (False, False)


def test_notifications_and_streams_have_rows(served: Served) -> None:
    headers = {"Authorization": f"Bearer {served.token()}"}
    before = last_row(served)
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.post(served.url, headers=headers, json=body).status_code == 202
        with client.stream("GET", served.url + "/sse", headers=headers) as stream:
            next(stream.iter_raw())
            rows = rows_since(served, before)
    assert [(row.method, row.is_success) for row in rows] == [
        ("notifications/initialized", True),
        ("GET /mcp/sse", True),
    ]


def test_what_nobody_can_read_has_no_row(served: Served) -> None:
    before = last_row(served)
    headers = {"Authorization": f"Bearer {served.token()}"}
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        assert client.post(served.url, headers=headers, content=b"{").status_code == 400
        assert client.post(served.url, headers=headers, json=[1]).status_code == 400
        assert client.post(served.url, json={}).status_code == 401
    assert rows_since(served, before) == []


def test_a_listening_client_has_its_row_while_it_listens(served: Served) -> None:
    async def go() -> list[AuditRow]:
        async with served.client(MODERN) as client:
            before = await anyio.to_thread.run_sync(last_row, served)
            async with client.listen(tools_list_changed=True):
                rows = await anyio.to_thread.run_sync(rows_since, served, before)
                return [row for row in rows if "listen" in row.method]

    (row,) = anyio.run(go)
    assert (row.method, row.is_success) == ("subscriptions/listen", True)


def test_a_session_has_a_row_for_each_request(served: Served) -> None:
    async def go() -> list[str]:
        before = await anyio.to_thread.run_sync(last_row, served)
        async with served.client("legacy") as client:
            await client.list_tools()
            await client.call_tool("sandbar_entity_find", {"entity": "dt/Class"})
            await client.call_tool("sandbar_search_text", {"query": "boot"})
        rows = await anyio.to_thread.run_sync(rows_since, served, before)
        return [row.method for row in rows]

    methods = anyio.run(go)
    assert methods.count("initialize") == 1
    assert methods.count("tools/list") == 1
    assert methods.count("tools/call") == 2
    assert methods.count("DELETE /mcp") == 1


def test_whoever_hangs_up_has_a_row(served: Served) -> None:
    before = last_row(served)
    headers = {"Authorization": f"Bearer {served.token()}"}
    params = call("test_tool_with_progress")  # takes a tenth of a second
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with (
        httpx2.Client(verify=WITHOUT_TLS, timeout=0.04) as client,
        pytest.raises(httpx2.TimeoutException),
    ):
        client.post(served.url, headers=headers, json=body)
    for _ in range(200):
        if rows := rows_since(served, before):
            break
        threading.Event().wait(0.02)
    assert [row.verb for row in rows] == ["test_tool_with_progress"]
    assert not rows[0].is_success


def test_too_many_are_told_when_to_come_back(served: Served) -> None:
    made = add_account(served.db.workspace, "hasty")
    pace = Update(entity=made.account.entity_id, set={"auth/rate-limit": 6, "auth/burst": 3})
    served.db.workspace.transact([pace], principal="tests")
    headers = {"Authorization": f"Bearer {made.token}"}
    body = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
    before = last_row(served)
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        answers = [client.post(served.url, headers=headers, json=body) for _ in range(5)]
        modern = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "ping"}
        late = client.post(served.url, headers=headers | modern, json=body)
    assert [one.status_code for one in answers] == [200, 200, 200, 429, 429]
    refused = answers[-1]
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    assert refused.json()["id"] == 7
    assert refused.json()["error"]["code"] == -32029
    assert refused.json()["error"]["data"]["code"] == "limit.exceeded"
    assert (late.status_code, late.json()["error"]["code"]) == (429, 429)
    rows = rows_since(served, before)
    assert [row.is_success for row in rows] == [True, True, True, False, False, False]
    assert {row.code for row in rows[3:]} == {"limit.exceeded"}


def test_no_row_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise Unavailable("audit.unavailable", "no room for a row", hint="free some space")

    with serving(tmp_path / "b.db") as served:
        assert "result" in served.post("ping")
        monkeypatch.setattr(served.db.journal, "settle_at_once", broken)
        refused = served.post("ping")
        assert refused["error"]["data"]["code"] == "audit.unavailable"
        listed = served.modern("tools/list")
        assert listed[1]["error"]["data"]["code"] == "audit.unavailable"
        monkeypatch.undo()
        assert "result" in served.post("ping")


def test_the_library_has_rows_too(tmp_path: Path) -> None:
    with serving(tmp_path / "c.db") as served:
        before = last_row(served)
        served.db.call("entity.find", entity="dt/Class")
        (row,) = rows_since(served, before)
        assert (row.surface, row.verb, row.principal) == ("library", "entity.find", "local")


def test_a_receipt_quotes_its_row(served: Served) -> None:
    slots = {"footwear/name": "Quoted", "footwear/price": 12}
    asked = {"class": "zorp/SpaceBoot", "slots": slots, "idempotency-key": "quoted"}
    made = served.call("sandbar.entity.create", asked)
    row = last_row(served)
    assert row is not None
    assert made["receipt"]["audit"] == [row.run, row.n]
    again = served.call("sandbar.entity.create", asked)
    assert again["receipt"] == made["receipt"]
    assert last_row(served) != row


def test_a_subscription_has_its_row_while_it_lasts(served: Served) -> None:
    served.db.create("zorp/Boot", {"db/ident": "row/boot", "footwear/name": "Row"})
    before = last_row(served)
    headers = {"Authorization": f"Bearer {served.token()}", "Accept": "text/event-stream"}
    params = {"uri": "mcp://sandbar/zorp/Boot/row/boot"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": params}
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        with client.stream("POST", served.url, headers=headers, json=body) as stream:
            next(stream.iter_raw())
            (row,) = rows_since(served, before)
        assert (row.method, row.is_success) == ("resources/subscribe", True)
        wrong = {**body, "params": {"uri": "mcp://sandbar/no/such/thing/x"}}
        client.post(served.url, headers=headers, json=wrong)
    rows = [one for one in rows_since(served, row) if one.method == "resources/subscribe"]
    assert [one.is_success for one in rows] == [False]


def test_a_greeting_that_makes_no_sense_has_failed(served: Served) -> None:
    before = last_row(served)
    assert "error" in served.post("initialize", {"protocolVersion": 7})
    (row,) = rows_since(served, before)
    assert (row.method, row.is_success) == ("initialize", False)


def test_a_call_that_wants_no_answer_is_not_made(served: Served) -> None:
    before = last_row(served)
    slots = {"db/ident": "never/made", "footwear/name": "Never"}
    params = call("sandbar.entity.create", {"class": "zorp/Boot", "slots": slots})
    body = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
    headers = {"Authorization": f"Bearer {served.token()}"}
    with httpx2.Client(verify=WITHOUT_TLS, timeout=30) as client:
        assert client.post(served.url, headers=headers, json=body).status_code == 202
    (row,) = rows_since(served, before)
    assert (row.method, row.is_success, row.code) == ("tools/call", False, "request.refused")


def test_work_that_no_verb_does_has_a_row(served: Served) -> None:
    before = last_row(served)
    with served.db.recorded("thing.do", surface="cli"):
        add_account(served.db.workspace, "by-hand")
    with (
        pytest.raises(KeyboardInterrupt),
        served.db.recorded("thing.stop", surface="cli"),
    ):
        raise KeyboardInterrupt
    first, second = rows_since(served, before)
    assert (first.surface, first.verb, first.is_success) == ("cli", "thing.do", True)
    assert (second.verb, second.is_success, second.code) == (
        "thing.stop",
        False,
        "call.interrupted",
    )
