"""The door over real HTTP: who comes in, and exactly how everybody else is turned away."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.access import Houses, add_account, revoke
from sandbar.edge.asgi import App, Receive, Scope, Send
from sandbar.errors import Unavailable
from sandbar.model import Workspace
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.edge.live import Answer, ask, behind_the_edge, echo, serving
from tests.kept_postgres import kept_store

KEY = "super-secret-mcp-key"
BODY = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
CHALLENGE = 'Bearer realm="sandbar-mcp"'


class Door:
    """A running server, and the workspace behind it."""

    def __init__(self, port: int, workspace: Workspace, houses: Houses) -> None:
        self.port, self.workspace, self.houses = port, workspace, houses

    def knock(self, token: str | None, body: str = BODY, **headers: str) -> Answer:
        """One request with this token."""
        given = {} if token is None else {"Authorization": f"Bearer {token}"}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(self.port, body, given | more)


class Street:
    """A server before a database; the app behind it is another for each test."""

    def __init__(self, store: SqliteStore | PostgresStore) -> None:
        self.port = 0
        self._store = store
        self._app: App = echo

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def door(self) -> Door:
        """A door to a workspace that nobody has been in."""
        workspace = Workspace.open(self._store, f"door-{secrets.token_hex(8)}")
        houses = Houses(lambda name: workspace, "main")
        is_inline = isinstance(self._store, SqliteStore)
        self._app = behind_the_edge(echo, houses=houses, is_inline=is_inline)
        return Door(self.port, workspace, houses)


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def street(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Street]:
    """A server before a database of each kind."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("street") / "door.db"
        store: SqliteStore | PostgresStore = SqliteStore(path)
    else:
        store = kept_store(request.getfixturevalue("shared_postgres"))
    street = Street(store)
    with serving(street) as street.port:
        yield street
    store.close()


@pytest.fixture
def door(street: Street) -> Door:
    """A door of each kind."""
    return street.door()


def test_a_caller_comes_in(door: Door) -> None:
    add_account(door.workspace, "claude", KEY)
    minted = add_account(door.workspace, "bot", role="admin").token
    for _ in range(2):
        answer = door.knock(f"claude:{KEY}")
        assert answer.status == 200
        assert answer.json()["caller"]["principal"] == "service/claude"
        assert answer.json()["received"] == len(BODY)
    for token in (minted, f"bot:{minted}"):
        assert door.knock(token).json()["caller"]["role"] == "admin"


def test_without_a_token(door: Door) -> None:
    answer = door.knock(None, x_request_id="mine-1")
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == CHALLENGE
    assert answer.headers["content-type"] == "application/json"
    said = answer.json()
    assert (said["jsonrpc"], said["id"]) == ("2.0", 7)
    assert said["error"]["code"] == -32001
    assert said["error"]["message"] == "Bearer token required"
    assert said["error"]["data"]["code"] == "auth.missing"
    assert said["error"]["data"]["request-id"] == "mine-1"


@pytest.mark.parametrize(
    ("token", "shown", "logged"),
    [
        ("no-colon", "auth.malformed", "auth.malformed"),
        ("nobody:some-key-1", "auth.invalid", "auth.unknown"),
        ("claude:wrong-key", "auth.invalid", "auth.mismatch"),
        ("idle:" + KEY, "auth.invalid", "auth.inactive"),
        ("sk-sand-" + "0" * 64, "auth.invalid", "auth.unknown"),
    ],
)
def test_a_wrong_token_reads_alike(
    door: Door, token: str, shown: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    add_account(door.workspace, "claude", KEY)
    add_account(door.workspace, "idle", KEY)
    revoke(door.workspace, "idle")
    with caplog.at_level(logging.WARNING, "sandbar.edge"):
        answer = door.knock(token)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith(f'{CHALLENGE}, error="invalid_token"')
    error = answer.json()["error"]
    assert (error["code"], error["data"]["code"]) == (-32001, shown)
    assert f"refused: {logged} " in caplog.text
    assert token not in caplog.text
    assert logged == shown or logged not in answer.body.decode()


def test_a_revoked_key_is_forbidden(door: Door) -> None:
    token = add_account(door.workspace, "bot").token
    assert door.knock(token).status == 200
    revoke(door.workspace, token)
    answer = door.knock(token)
    assert answer.status == 403
    assert answer.json()["error"]["code"] == -32001
    assert answer.json()["error"]["data"]["code"] == "auth.revoked"
    new = door.knock(token, mcp_protocol_version="2026-07-28")
    assert (new.status, new.json()["error"]["code"]) == (403, 403)


def test_the_newest_revision_has_its_own_code(door: Door) -> None:
    answer = door.knock(None, mcp_protocol_version=" 2026-07-28 ")
    assert (answer.status, answer.json()["error"]["code"]) == (401, 401)
    old = door.knock(None, mcp_protocol_version="2025-11-25")
    assert old.json()["error"]["code"] == -32001


@pytest.mark.parametrize(
    ("body", "id"),
    [
        ('{"id":"abc"}', "abc"),
        ('{"id":null}', None),
        ('{"id":1.5}', None),
        ("not json", None),
        ("[1]", None),
        ("[" * 5000, None),
        ("", None),
        ('{"id":3,"x":"' + "y" * 70_000 + '"}', None),
    ],
)
def test_the_id_of_a_refused_request(door: Door, body: str, id: object) -> None:
    answer = door.knock(None, body)
    assert (answer.status, answer.json()["id"]) == (401, id)


def test_two_authorization_headers_are_one_too_many(door: Door) -> None:
    token = add_account(door.workspace, "bot").token
    answer = ask(
        door.port, BODY, {"Authorization": f"Bearer {token}", "authorization": "Bearer x:y"}
    )
    assert answer.status == 401


def test_too_many_checks_are_put_off(door: Door) -> None:
    add_account(door.workspace, "claude", KEY)
    for _ in range(18):
        door.houses.verdicts._waiting.acquire()
    answer = door.knock("claude:guess-guess")
    assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    assert answer.json()["error"]["code"] == -32029
    for _ in range(18):
        door.houses.verdicts._waiting.release()
    assert door.knock("claude:guess-guess").status == 401


def test_a_database_that_is_away_is_no_verdict(tmp_path: Path) -> None:
    def away(name: str) -> Workspace:
        raise Unavailable("store.unreachable", "the database is away")

    with serving(behind_the_edge(echo, houses=Houses(away, "main"))) as port:
        answer = ask(port, BODY, {"Authorization": "Bearer sk-sand-1"})
    assert answer.status == 503
    assert "www-authenticate" not in answer.headers


def test_a_defect_says_nothing(tmp_path: Path) -> None:
    def broken(name: str) -> Workspace:
        raise RuntimeError("the secret plans")

    with serving(behind_the_edge(echo, houses=Houses(broken, "main"))) as port:
        answer = ask(port, BODY, {"Authorization": "Bearer sk-sand-1"})
    assert answer.status == 500
    assert b"plans" not in answer.body
