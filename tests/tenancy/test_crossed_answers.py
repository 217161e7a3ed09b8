"""Clients of two tenants with the same JSON-RPC ids never get each other's answers.

They share keep-alive connections, as behind a proxy, and some hang up before they are answered.
Every thing that they ask for holds a text which says whose it is, and which.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from sandbar.access import add_account, install_access
from sandbar.database import Database, open_database
from sandbar.store.postgres.install import install
from tests.conftest import Say
from tests.mcp.served import MODERN, Served, running
from tests.postgres_server import PostgresServer
from tests.tenancy.connections import Shared, begin_session, envelope
from tests.tenancy.world import LIMIT_SLOT, open_workspace

pytestmark = pytest.mark.xdist_group("tenancy-crossed")  # its servers start once

CLIENTS = 32
CONNECTIONS = 16
ROUNDS = 5
ROUNDS_LONG = 800
TENANTS = ("alpha", "beta")
THINGS = 8
ROADS = ("bare", "session", "modern")

_MARK = re.compile(r"mark of (alpha|beta) ([0-9]+)\b")
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Tenants:
    """Two workspaces with things of the same names, and a server."""

    def __init__(self, served: Served, tokens: dict[str, str]) -> None:
        self.port = int(served.url.rsplit(":", 1)[1].split("/")[0])
        self.tokens = tokens


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def tenants(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
) -> Iterator[Tenants]:
    """A served database."""
    admin = ""
    if request.param == "sqlite":
        address = str(tmp_path_factory.mktemp("crossed") / "crossed.db")
    else:
        admin = postgres_server.create_database()
        address = install(admin)
    with open_database(address, server=True) as db:
        install_access(db.workspace)
        tokens = {name: _furnished(open_workspace(db, name)) for name in TENANTS}
        with running(db) as served:
            yield Tenants(served, tokens)
    if admin:
        postgres_server.drop_database(admin)


def _furnished(home: Database) -> str:
    install_access(home.workspace)
    home.define(
        properties={"shared/mark": {"dt/range": "db.type/string"}},
        classes={"shared/Thing": {"dt/subclass-of": ["dt/Ref"], "dt/slots": ["shared/mark"]}},
    )
    for number in range(THINGS):
        mark = f"mark of {home.workspace_name} {number}"
        home.create("shared/Thing", {"db/ident": f"thing/n{number}", "shared/mark": mark})
    made = add_account(home.workspace, "client", role="admin")
    home.update(made.account.entity_id, {LIMIT_SLOT: 0})
    return made.token


def question(road: str, number: int, way: int, id: int) -> tuple[str, dict[str, Any]]:
    """A request for a thing; the ways take different paths inside."""
    ident = f"thing/n{number}"
    one = {"class": "shared/Thing", "where": {"db/ident": ident}}
    change = {"entity": ident, "attributes": {"db/doc": f"changed {way}"}}
    asks: list[tuple[str, str, dict[str, Any]]] = [
        ("tools/call", "sandbar_entity_find", {"entity": ident}),
        ("tools/call", "sandbar_entity_query", one),
        ("tools/call", "sandbar_entity_update", change),
        ("tools/call", "sandbar_entity_history", {"entity": ident}),
        ("resources/read", f"mcp://sandbar/shared/Thing/{ident}", {}),
    ]
    method, name, arguments = asks[way % len(asks)]
    params: dict[str, Any] = {"uri": name} if method == "resources/read" else {"name": name}
    params |= {"arguments": arguments} if method == "tools/call" else {}
    params |= {"_meta": _META} if road == "modern" else {}
    return name, {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def crossed(text: str, tenant: str, number: int) -> str | None:
    """Whose answer this is, if it is another's; an update answers without the mark."""
    marks = set(_MARK.findall(text))
    strange = marks - {(tenant, str(number))}
    if strange:
        return f"{tenant} asked for {number} and was told {sorted(strange)}: {text[:300]}"
    if not marks and f"thing/n{number}" not in text:
        return f"{tenant} asked for {number} and was told {text[:300]}"
    return None


class Crowd:
    """Clients of both tenants, two for each connection."""

    def __init__(self, tenants: Tenants, random: Random) -> None:
        self._tenants, self._random = tenants, random
        self.connections = [Shared(tenants.port) for _ in range(CONNECTIONS)]
        self.sessions: list[str] = []
        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()

    async def run(self, rounds: int) -> None:
        """Let all of them ask at once, each in a session of its own."""
        for number in range(CLIENTS):
            token = self._tenants.tokens[TENANTS[number % 2]]
            self.sessions.append(await begin_session(self.connections[0], token))
        await asyncio.gather(*(self._client(number, rounds) for number in range(CLIENTS)))
        for connection in self.connections:
            connection.hang_up()
        await asyncio.sleep(0.1)

    async def _client(self, number: int, rounds: int) -> None:
        """Ask under the ids 2, 3, 4, …, as everybody else does at the same time."""
        for turn in range(rounds):
            connection = self._random.choice(self.connections)
            async with connection.lock:
                await self._ask(connection, number, turn + 2)

    async def _ask(self, connection: Shared, client: int, id: int) -> None:
        pick, tenant = self._random, TENANTS[client % 2]
        road, thing = pick.choice(ROADS), pick.randrange(THINGS)
        name, body = question(road, thing, id + client, id)
        is_stolen = road == "session" and pick.random() < 0.1
        session = self.sessions[(client + 1) % CLIENTS if is_stolen else client]
        headers = envelope(road, self._tenants.tokens[tenant], body["method"], name, session)
        if pick.random() < 0.1:
            await connection.send(headers, body)
            await asyncio.sleep(pick.random() * 0.01)
            connection.hang_up()
            self.counts["hung up"] += 1
            return
        reply = await connection.ask(headers, body)
        if is_stolen:
            self.counts["refused"] += 1
            if reply.status != 404 or _MARK.search(reply.body.decode()):
                self.wrong.append(f"a session of the other tenant let {tenant} in: {reply}")
            return
        message = reply.message()
        wrong = crossed(reply.body.decode(), tenant, thing)
        if wrong is None and message.get("id") != id:
            wrong = f"another id: {message}"
        self.counts["answered"] += 1
        self.wrong += [] if wrong is None else [wrong]


def assert_nothing_crosses(tenants: Tenants, seed: str, rounds: int, say: Say) -> None:
    """Let the crowd ask, and judge."""
    crowd = Crowd(tenants, Random(seed))
    asyncio.run(crowd.run(rounds))
    say(f"{dict(crowd.counts)}, crossed {len(crowd.wrong)}")
    assert not crowd.wrong, "\n".join(crowd.wrong[:10])
    assert crowd.counts["answered"] > CLIENTS * rounds * 0.7
    assert crowd.counts["hung up"] > 0


def test_no_answer_crosses(tenants: Tenants, seed: str, say: Say) -> None:
    assert_nothing_crosses(tenants, seed, ROUNDS, say)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_answer_of_very_many_crosses(tenants: Tenants, seed: str, say: Say) -> None:
    assert_nothing_crosses(tenants, seed, ROUNDS_LONG, say)


@pytest.mark.parametrize("tenants", ["sqlite"], indirect=True)
def test_an_answer_that_crosses_is_noticed(
    tenants: Tenants, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that now and then gives the answer before the last."""
    reply = Shared.reply
    kept: list[Any] = []

    async def late(self: Shared) -> Any:
        kept.append(await reply(self))
        return kept[-1] if len(kept) % 20 else kept[-2]

    monkeypatch.setattr(Shared, "reply", late)
    crowd = Crowd(tenants, Random(seed))
    asyncio.run(crowd.run(ROUNDS))
    assert any("was told" in one for one in crowd.wrong)
