"""Random requests over HTTP, by every road and method, and streams that listen to a neighbour."""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import product
from random import Random
from typing import Any

import pytest

from sandbar.access import add_account
from sandbar.audit import sealing
from sandbar.errors import Problem
from sandbar.mcp.methods import Methods
from sandbar.mcp.service import Service
from sandbar.serving import Serving
from tests.conftest import Say
from tests.mcp.listening import Ear, open_sse, streaming
from tests.mcp.served import MODERN, Served, running
from tests.postgres_server import PostgresServer
from tests.tenancy.attacker import Attacker
from tests.tenancy.canaries import Canaries
from tests.tenancy.conftest import Models
from tests.tenancy.fingerprint import fingerprint
from tests.tenancy.planting import Databases, Model
from tests.tenancy.requests import _META, PATHS, ROADS, Clients, Requests, Sent
from tests.tenancy.victim import Loot
from tests.tenancy.world import LIMIT_SLOT, OURS, PLAYERS, World

pytestmark = pytest.mark.xdist_group("tenancy-planted")  # they copy one victim

REQUESTS = 200
REQUESTS_LONG = 5_000
NAMED = 5  # of each method
TRIES_MAX = 200  # of requests for anything at random, a third or so of which shows a canary
_LOOK_EVERY_S, _QUIET_LOOKS = 0.3, 4
_SEAL_EVERY_S = 0.1  # not every second, so that it is quiet sooner
_TOLD_S_MAX = 20.0
_GRACE_S = 0.3  # for what others are told, once those are told whom it concerns
_OWN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\"id\": ?[0-9]+|[0-9:]{8} GMT")
# Whether something would be noticed does not depend on the store.
ON_SQLITE = pytest.mark.parametrize("scene", ["sqlite"], indirect=True)
# Their answers are streams: `test_no_stream_tells_of_another_tenant` opens them.
_STREAMS = {"subscriptions/listen"}


class Scene:
    """A running server with a victim on it, and clients of its neighbour."""

    def __init__(
        self, world: World, served: Served, canaries: Canaries, loot: Loot, admin: str
    ) -> None:
        self.world, self.served = world, served
        self.canaries, self.loot = canaries, loot
        self._admin = admin

    def tokens(self, workspace: str) -> dict[str, str]:
        """The keys of a workspace's accounts."""
        return {role: self.world.tokens[workspace, role] for role in PLAYERS}

    def rows(self) -> dict[str, tuple[int, str]]:
        """What the database holds of the victim's."""
        return fingerprint(self._admin, self.world.victim.workspace_name)

    def settled_rows(self) -> dict[str, tuple[int, str]]:
        """The same once the victim's own background work is done: sealed every second, e.g."""
        looks, end = [self.rows()], time.monotonic() + 60
        while looks[-_QUIET_LOOKS:] != [looks[-1]] * _QUIET_LOOKS:
            assert time.monotonic() < end, "the victim's own work never ends"
            time.sleep(_LOOK_EVERY_S)
            looks.append(self.rows())
        return looks[-1]


@contextmanager
def serving(model: Model, databases: Databases) -> Iterator[Scene]:
    """Serve a world."""
    with (
        model.world.opened(databases, server=True) as (address, world),
        running(world.db) as served,
    ):
        served._tokens.update({(r, ws): t for (ws, r), t in world.tokens.items()})
        yield Scene(world, served, *model.found(), address.admin)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def scene(
    request: pytest.FixtureRequest,
    models: Models,
    postgres_server: PostgresServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Scene]:
    """A served world; what its tests change of it does not disturb the others."""
    folder = tmp_path_factory.mktemp("scene")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "SEAL_EVERY_S", _SEAL_EVERY_S)
        with (
            closing(Databases(request.param, folder, postgres_server)) as databases,
            serving(models(request.param), databases) as scene,
        ):
            yield scene


def findings(scene: Scene, sent: Sent) -> list[str]:
    """What is wrong with an answer."""
    scene.canaries.say(sent.request)
    where = sent.request[:300]
    found = [f"{where}: LEAK of {leak}" for leak in scene.canaries.leaks(sent.text)]
    if sent.status >= 500 or "-32603" in sent.text:
        found.append(f"{where}: {sent.status} {sent.text[:300]}")
    return found


def assert_kept_apart(scene: Scene, seed: str, requests: int, say: Say) -> None:
    """Send, and judge what came back and what was left behind."""
    random = Random(seed)
    attacker = Attacker(random, scene.world.ours, scene.loot)
    chooser = Requests(random, attacker, scene.loot)
    clients = Clients(scene.served.url, scene.tokens(OURS))
    theirs = Clients(scene.served.url, scene.tokens(scene.world.victim.workspace_name))
    stolen = [theirs.session(role) for role in PLAYERS]
    theirs.close()
    before = scene.settled_rows()
    statuses: Counter[int] = Counter()
    wrong: list[str] = []
    begun = time.perf_counter()
    for _ in range(requests):
        method, params = chooser.choose()
        road = random.choice(ROADS)
        session = random.choice(stolen) if road == "session" and random.random() < 0.1 else ""
        role = random.choice(PLAYERS)
        sent = clients.send(role, road, random.choice(PATHS), method, params, session)
        statuses[sent.status] += 1
        wrong += findings(scene, sent)
    rate = requests / (time.perf_counter() - begun)
    say(f"{requests:,} requests, {rate:,.0f}/s, {dict(sorted(statuses.items()))}")
    clients.close()
    assert not wrong, "\n".join(wrong[:20])
    assert scene.settled_rows() == before, "the victim's rows have changed"
    assert statuses[200] > requests / 3


@pytest.mark.parametrize("road", ["bare", "session", "modern"])
def test_what_is_anothers_is_answered_as_what_is_nobodys(scene: Scene, road: str) -> None:
    """Byte for byte, apart from what every request has of its own, and what it was about.

    Before the random requests: they may give what is ours the names that are the victim's.
    """
    mark = scene.canaries.mark
    named = {
        "resources/read": [{"uri": uri} for uri in scene.loot.uris() if mark in uri],
        "resources/subscribe": [{"uri": uri} for uri in scene.loot.uris() if mark in uri],
        "prompts/get": [{"name": name} for name in scene.loot.prompts if mark in name],
    }
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        named[method] = [{"taskId": handle} for handle in scene.loot.handles]
    clients = Clients(scene.served.url, scene.tokens(OURS))
    for method, many in named.items():
        for params in many[:: max(len(many) // NAMED, 1)][:NAMED]:
            ((key, theirs),) = params.items()
            nobodys = theirs.replace(mark, mark[::-1])
            if key == "taskId":
                nobodys = theirs[:-1] + ("0" if theirs[-1] != "0" else "1")
            one = clients.send("admin", road, "/mcp", method, params)
            other = clients.send("admin", road, "/mcp", method, {key: nobodys})
            assert one.status == other.status
            assert _plain(one) == _plain(other).replace(nobodys, theirs)
    clients.close()


def test_no_request_reaches_another_tenant(scene: Scene, seed: str, say: Say) -> None:
    assert_kept_apart(scene, seed, REQUESTS, say)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_no_request_of_very_many_reaches_another_tenant(scene: Scene, seed: str, say: Say) -> None:
    assert_kept_apart(scene, seed, REQUESTS_LONG, say)


@ON_SQLITE
def test_every_method_of_the_server_is_tried(scene: Scene) -> None:
    registered = Methods(Service(scene.world.db, Serving())).table
    chooser = Requests(Random(), Attacker(Random(), scene.world.ours, scene.loot), scene.loot)
    assert registered.keys() - _STREAMS == chooser.makers.keys()


@ON_SQLITE
def test_a_key_of_the_victim_sees_canaries_by_every_road(scene: Scene, seed: str) -> None:
    """The same requests would show them, if they came from the right tenant."""
    random = Random(seed)
    chooser = Requests(random, Attacker(random, scene.world.ours, scene.loot), scene.loot)
    clients = Clients(scene.served.url, scene.tokens(scene.world.victim.workspace_name))
    methods = ("tools/list", "resources/list", "resources/read", "prompts/list", "tasks/get")
    blind = []
    for road, method in product(("bare", "session", "modern"), methods):
        for _ in range(TRIES_MAX):
            params = chooser.makers[method]()
            params.pop("cursor", None)
            sent = clients.send("admin", road, "/mcp?tools=all", method, params)
            # Also such as the random requests have said: only others may not be told of them.
            if scene.canaries.mark in sent.text:
                break
        else:
            blind.append((road, method))
    clients.close()
    assert not blind


def _plain(sent: Sent) -> str:
    return _OWN.sub("-", sent.text)


# --- streams -----------------------------------------------------------------------------------


@contextmanager
def listening(scene: Scene, workspace: str) -> Iterator[dict[str, Ear]]:
    """Every kind of stream, all of them subscribed to what the victim has."""
    served = scene.served
    home = scene.world.db.in_workspace(workspace)
    made = add_account(home.workspace, f"ear-{secrets.token_hex(4)}", role="admin")
    home.update(made.account.entity_id, {LIMIT_SLOT: 0})
    served._tokens["admin", workspace] = made.token
    uris = scene.loot.uris()[:15]
    wanted = {
        "toolsListChanged": True,
        "resourcesListChanged": True,
        "promptsListChanged": True,
        "resourceSubscriptions": uris,
        "taskIds": scene.loot.handles,
    }
    body = {
        "jsonrpc": "2.0",
        "id": "listen-1",
        "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": _META},
    }
    modern = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "subscriptions/listen",
    }
    clients = Clients(served.url, dict.fromkeys(PLAYERS, made.token))
    session = {"Mcp-Session-Id": clients.session("admin")}
    with ExitStack() as stack:
        ears = {
            "sse": stack.enter_context(open_sse(served, workspace)),
            "session": stack.enter_context(
                streaming(served, "GET", "/mcp", workspace=workspace, headers=session)
            ),
            "listen": stack.enter_context(
                streaming(served, "POST", "/mcp", workspace=workspace, body=body, headers=modern)
            ),
        }
        for road in ("bare", "session"):
            for uri in uris:
                clients.send("admin", road, "/mcp", "resources/subscribe", {"uri": uri})
        time.sleep(0.2)
        for ear in ears.values():
            ear.all_for(0)
        yield ears
    clients.close()


def stir(scene: Scene, workspace: str) -> None:
    """Change data, classes and tasks of a workspace."""
    home = scene.world.db.in_workspace(workspace)
    caller = scene.world.caller(workspace, "admin")
    secret = scene.canaries.secret("news")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("entity.update", {"entity": "thing/n1", "attributes": {"dt/label": f"news {secret}"}}),
        ("schema.define", {"classes": {f"news/C{secret}": {"dt/subclass-of": ["dt/Ref"]}}}),
        ("validation.start", {"class": "shared/Thing", "reason": secret}),
        ("entity.create", {"class": "shared/Thing", "attributes": {"db/ident": f"n/{secret}"}}),
    ]
    for verb, arguments in calls:
        try:
            home.call_as(caller, verb, arguments)
        except Problem:  # of ours, random requests may have left anything: the class is news enough
            assert workspace == OURS
            assert verb != "schema.define"


def heard(ears: dict[str, Ear]) -> dict[str, list[dict[str, Any]]]:
    """All that has come through each stream since the last time."""
    return {name: ear.all_for(0) for name, ear in ears.items()}


def wait_until_told(ears: dict[str, Ear]) -> None:
    """Until something has come through every stream: one that is deaf proves nothing."""
    end = time.monotonic() + _TOLD_S_MAX
    while deaf := [name for name, ear in ears.items() if ear.heard.empty()]:
        assert time.monotonic() < end, f"not told: {deaf}"
        time.sleep(0.01)


def test_no_stream_tells_of_another_tenant(scene: Scene) -> None:
    victim = scene.world.victim.workspace_name
    with listening(scene, OURS) as ours, listening(scene, victim) as theirs:
        stir(scene, victim)
        wait_until_told(theirs)
        time.sleep(_GRACE_S)
        told = heard(ours)
        assert not any(told.values()), f"news of another tenant: {told}"
        heard(theirs)
        stir(scene, OURS)
        wait_until_told(ours)
        time.sleep(_GRACE_S)
        told = heard(theirs)
        assert not any(told.values()), f"news of another tenant: {told}"
