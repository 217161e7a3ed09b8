"""What is taken away beside the servers is gone with the next request, on every one of them.

By the command line where there is a command for it, else by a write from another process. Whatever
a client holds on to does not help: connections that stay open, sessions, open streams, requests on
their way. Streams end within `STREAMS_END_S` of the command's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import httpx2
import pytest

from sandbar.access import add_account, add_user, mint
from sandbar.database import open_database
from sandbar.store.postgres.install import install
from tests.credentials.fleet import SANDBAR_TOKEN, STREAMS, Fleet, Guest, Hammer, fleet_on
from tests.credentials.knocking import LANES, Answer
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.xdist_group("ending-credentials")

STREAMS_END_S = 3.0
HAMMERS = 12
BEFORE, AFTER = 100, 150  # answers under load
YESTERDAY = "2020-01-01T00:00:00Z"

Record = Callable[[str, object], None]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    """One server on a file, two on PostgreSQL."""
    if request.param == "sqlite":
        address, size = str(tmp_path_factory.mktemp("ending") / "ending.db"), 1
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        address, size = install(postgres.create_database()), 2
    with fleet_on(address, size) as fleet:
        yield fleet


@dataclass(frozen=True)
class Ending:
    """A way to end something: makes a token, ends it by a command, and what is answered then."""

    begin: Callable[[Fleet, str], str]
    end: Callable[[Fleet, str, str], object]
    status: int
    code: str


def _minted(fleet: Fleet, name: str) -> str:
    return fleet.mint(name)


def _of_user(fleet: Fleet, name: str) -> str:
    add_user(fleet.db.workspace, name, role="writer")
    return fleet.mint(name, user=name)


def _of_account(fleet: Fleet, name: str) -> str:
    token = add_account(fleet.db.workspace, name).token
    _without_pace(fleet, name)
    return token


def _chosen(fleet: Fleet, name: str) -> str:
    return add_account(fleet.db.workspace, name, "super-secret-mcp-key").token


def _elsewhere(fleet: Fleet, name: str) -> str:
    with open_database(fleet.servers[0].database, name) as db:
        return mint(db.workspace, name, rate_limit=0).token


def _without_pace(fleet: Fleet, name: str) -> None:
    workspace = fleet.db.workspace
    change = {"op": "update", "entity": {"auth/key-name": name}, "set": {"auth/rate-limit": 0}}
    workspace.transact([change], principal="tests")


def _key(name: str) -> dict[str, str]:
    return {"auth/key-name": name}


def _user(name: str) -> dict[str, str]:
    return {"auth/user-name": f"user/{name}"}


def _account(name: str) -> dict[str, str]:
    return {"auth/service-name": f"service/{name}"}


ENDINGS = {
    "key revoked": Ending(
        _minted, lambda f, n, t: f.sandbar("key", "revoke", n), 403, "auth.revoked"
    ),
    "key revoked by its secret": Ending(
        _minted, lambda f, n, t: f.sandbar("key", "revoke", t), 403, "auth.revoked"
    ),
    "key rotated": Ending(
        _minted, lambda f, n, t: f.sandbar("key", "rotate", n), 403, "auth.revoked"
    ),
    "key expired": Ending(
        _minted, lambda f, n, t: f.set(_key(n), expires_at=YESTERDAY), 401, "auth.invalid"
    ),
    "key made inactive": Ending(
        _minted, lambda f, n, t: f.set(_key(n), **{"active?": False}), 403, "auth.revoked"
    ),
    "key deleted": Ending(_minted, lambda f, n, t: f.delete(_key(n)), 401, "auth.invalid"),
    "user made inactive": Ending(
        _of_user, lambda f, n, t: f.set(_user(n), **{"active?": False}), 401, "auth.invalid"
    ),
    "user expired": Ending(
        _of_user, lambda f, n, t: f.set(_user(n), expires_at=YESTERDAY), 401, "auth.invalid"
    ),
    "user without a role": Ending(
        _of_user, lambda f, n, t: f.set(_user(n), roles=None), 401, "auth.invalid"
    ),
    "account revoked": Ending(
        _of_account, lambda f, n, t: f.sandbar("account", "revoke", n), 401, "auth.invalid"
    ),
    "key of an account revoked": Ending(
        _of_account, lambda f, n, t: f.sandbar("account", "revoke", t), 403, "auth.revoked"
    ),
    "account with a chosen key revoked": Ending(
        _chosen, lambda f, n, t: f.sandbar("account", "revoke", n), 401, "auth.invalid"
    ),
    "another chosen key": Ending(
        _chosen, lambda f, n, t: f.set(_account(n), api_key_hash="another-key"), 401, "auth.invalid"
    ),
    "account deleted": Ending(_chosen, lambda f, n, t: f.delete(_account(n)), 401, "auth.invalid"),
    "workspace suspended": Ending(
        _elsewhere, lambda f, n, t: f.sandbar("workspace", "suspend", n), 403, "workspace.suspended"
    ),
    "workspace deleted": Ending(
        _elsewhere,
        lambda f, n, t: f.sandbar("workspace", "delete", n, "--yes", n),
        401,
        "auth.invalid",
    ),
}


def _name(way: str) -> str:
    return "x-" + way.replace(" ", "-")


def _is_refused(answer: Answer, how: Ending) -> bool:
    return answer.status == how.status and answer.json()["error"]["data"]["code"] == how.code


@contextmanager
def guests_of(fleet: Fleet, token: str) -> Iterator[list[Guest]]:
    """A client of each server, with everything open that can be open."""
    guests: list[Guest] = []
    try:
        for server in fleet.servers:
            guest = Guest(server, token)
            guests.append(guest)
            guest.listen()
            assert guest.ask().status == 200
        yield guests
    finally:
        for guest in guests:
            guest.close()


@pytest.mark.parametrize("way", ENDINGS)
def test_the_next_request_is_refused_everywhere(
    fleet: Fleet, way: str, record_property: Record
) -> None:
    how, name = ENDINGS[way], _name(way)
    token = how.begin(fleet, name)
    with guests_of(fleet, token) as guests:
        for guest in guests:
            assert [guest.ask_anew(lane).status for lane in LANES] == [200] * 3
            assert not any(stream.ended.is_set() for stream in guest.streams.values())
        how.end(fleet, name, token)
        over_s = time.monotonic()
        answers = [guest.ask() for guest in guests]
        answers += [guest.ask_anew(lane) for guest in guests for lane in LANES]
        accepted = [answer for answer in answers if not _is_refused(answer, how)]
        assert not accepted, [(one.status, one.body) for one in accepted]
        late = {}
        for number, guest in enumerate(guests):
            for kind in STREAMS:
                stream = guest.streams[kind]
                stream.ended.wait(max(over_s + STREAMS_END_S - time.monotonic(), 0.01))
                if not stream.ended.is_set():
                    late[number, kind] = stream.heard
        assert not late, f"streams that are open still: {sorted(late)}"
        ends = [stream.ended_s - over_s for guest in guests for stream in guest.streams.values()]
    record_property(
        "figure", f"{way}: the last stream ended {max(ends):+.3f} s from the command's end"
    )


@pytest.mark.parametrize("way", ["key revoked", "workspace suspended"])
def test_under_load_nobody_comes_in_after_the_command(
    fleet: Fleet, way: str, record_property: Record
) -> None:
    how, name = ENDINGS[way], _name(way) + "-loaded"
    token = how.begin(fleet, name)
    ports = [server.port for server in fleet.servers]
    with Hammer(ports, token, HAMMERS) as hammer:
        hammer.wait_for(BEFORE, status=200)
        how.end(fleet, name, token)
        over_s = time.monotonic()
        hammer.wait_for(AFTER, over_s)
    before = [status for at, _, status in hammer.told if at < over_s]
    after = [(port, status) for at, port, status in hammer.told if at >= over_s]
    accepted = [one for one in after if one[1] == 200]
    record_property(
        "figure",
        f"{way}: {before.count(200)} accepted before, {len(accepted)} of {len(after)} after",
    )
    assert {port for port, _ in after} == set(ports)
    assert not accepted
    assert {status for _, status in after} == {how.status}
    assert before.count(200) >= BEFORE


def test_a_rotated_key_s_successor_is_good_at_once(fleet: Fleet) -> None:
    fleet.mint("successor")
    found = SANDBAR_TOKEN.search(fleet.sandbar("key", "rotate", "successor"))
    assert found is not None
    for server in fleet.servers:
        with closing(Guest(server, found[0])) as guest:
            assert guest.ask().status == 200


def test_a_suspended_workspace_comes_back(fleet: Fleet) -> None:
    token = _elsewhere(fleet, "x-resumed")
    with guests_of(fleet, token) as guests:
        fleet.sandbar("workspace", "suspend", "x-resumed")
        assert [guest.ask().status for guest in guests] == [403] * len(guests)
        fleet.sandbar("workspace", "resume", "x-resumed")
        assert [guest.ask().status for guest in guests] == [200] * len(guests)


_READ = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "sandbar.entity.query", "arguments": {"class": "dt/Class"}},
}


def test_a_weaker_role_counts_at_once(fleet: Fleet) -> None:
    token = _of_user(fleet, "x-demoted")
    define = {"properties": {"x/p": {"dt/range": "db.type/string"}}, "classes": {}}
    call = {"name": "sandbar.schema.define", "arguments": define}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with guests_of(fleet, token) as guests:
        for guest in guests:
            assert not guest.ask(message).json()["result"].get("isError")
        fleet.set(_user("x-demoted"), roles=["reader"])
        for guest in guests:
            told = guest.ask(message).json()["result"]
            assert told["isError"]
            assert "a reader may not call schema.define" in str(told)
            assert guest.ask().status == 200


def test_a_role_that_was_made_weaker_counts_at_once(fleet: Fleet) -> None:
    """Nothing of the key or its owner changes: only the permission of their role."""
    workspace = fleet.db.workspace
    create = [
        {
            "op": "create",
            "class": "auth/Permission",
            "slots": {"auth/group": "*", "auth/access": "read", "db/ident": "auth/x-all"},
        },
        {
            "op": "create",
            "class": "auth/Role",
            "slots": {"auth/role-name": "x-guest", "auth/permissions": ["auth/x-all"]},
        },
    ]
    workspace.transact(create, principal="tests")
    add_user(workspace, "x-guest", role="x-guest")
    token = fleet.mint("x-guest", user="x-guest")
    with guests_of(fleet, token) as guests:
        fleet.set("auth/x-all", group="nothing")
        for guest in guests:
            assert guest.ask(_READ).json()["result"]["isError"]


def test_a_workspace_made_anew_is_another_one(fleet: Fleet) -> None:
    """The name comes back, its old keys do not, and no server is stuck on the old one."""
    old = _elsewhere(fleet, "x-phoenix")
    with guests_of(fleet, old) as guests:
        fleet.sandbar("workspace", "delete", "x-phoenix", "--yes", "x-phoenix")
        fleet.sandbar("workspace", "create", "x-phoenix")
        said = fleet.sandbar("key", "mint", "--name", "x-new", "--workspace", "x-phoenix")
        found = SANDBAR_TOKEN.search(said)
        assert found is not None
        assert [guest.ask().status for guest in guests] == [401] * len(guests)
    with ExitStack() as opened:
        guests = _settled(fleet, found[0], opened)
        assert [guest.ask().status for guest in guests] == [200] * len(guests)
    for server in fleet.servers:
        assert httpx2.get(f"{server.base_url}/health").json() == {"status": "ok"}


def _settled(fleet: Fleet, token: str, opened: ExitStack) -> list[Guest]:
    """Clients in a workspace that was just made anew.

    Late news of that end a session that has already begun in it: whose it is cannot be known. The
    client is told, and begins another.
    """
    for _ in range(4):
        try:
            return opened.enter_context(guests_of(fleet, token))
        except AssertionError as error:
            if "Session" not in str(error):  # not found, or terminated
                raise
    raise AssertionError("its sessions end again and again")


@contextmanager
def short_lived(fleet: Fleet) -> Iterator[tuple[list[Guest], float]]:
    """Clients with a key that ends soon, and when; later if the machine is too busy for that."""
    with ExitStack() as opened:
        for lasts_s in (1.2, 2.5, 5.0, 10.0, 20.0):
            end_s = time.time() + lasts_s
            token = fleet.mint(f"x-short-{lasts_s}", expires=_instant(end_s))
            try:
                guests = opened.enter_context(guests_of(fleet, token))
            except AssertionError:
                if time.time() < end_s:
                    raise
            else:
                if time.time() < end_s - 0.5:
                    break
        yield guests, end_s


def _instant(at_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s)) + f".{int(at_s % 1 * 1000):03}Z"


def test_a_key_ends_on_its_own_in_the_second_that_it_says(fleet: Fleet) -> None:
    with short_lived(fleet) as (guests, end_s):
        accepted = 0
        while time.time() < end_s:
            told = [guest.ask().status for guest in guests]
            if time.time() < end_s:  # else the last were asked after it
                assert told == [200] * len(guests)
                accepted += 1
            time.sleep(0.1)
        assert accepted
        time.sleep(0.01)
        assert [guest.ask().status for guest in guests] == [401] * len(guests)
        for guest in guests:
            for kind in STREAMS:
                assert guest.streams[kind].ended.wait(STREAMS_END_S), kind


def test_a_server_that_forgets_to_look_is_noticed(fleet: Fleet) -> None:
    """The negative control: what nobody has ended is accepted, by the same clients."""
    token = fleet.mint("x-untouched")
    with guests_of(fleet, token) as guests:
        fleet.sandbar("key", "list")
        for guest in guests:
            assert guest.ask().status == 200
            assert [guest.ask_anew(lane).status for lane in LANES] == [200] * 3
            assert not any(stream.ended.is_set() for stream in guest.streams.values())
