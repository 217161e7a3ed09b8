"""What an answer takes does not tell how near a guess was, nor which names there are.

Nothing here is asked twice: a token that was right and a verdict on a chosen key are remembered,
and a second answer from memory would hide what the first one told.
"""

from __future__ import annotations

import http.client
import itertools
import random
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbar.access import Houses, add_account, sign_in, verdicts
from sandbar.edge.asgi import App, Receive, Scope, Send
from sandbar.errors import Unauthenticated
from sandbar.model import Workspace
from sandbar.store.api import Store
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.credentials.welch import Draw, compare, notice, welch_t
from tests.edge.live import behind_the_edge, echo, serving
from tests.live_server import LiveServer
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.xdist_group("timing-of-credentials")

KEY = "super-secret-mcp-key"
PREFIX = "sk-sand-"
NEAR = len(PREFIX) + 40
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
# The first number of each is for every day, the second for whoever has the time.
MINTED_SAMPLES = {"sqlite": (2000, 10_000), "postgres": (400, 4000)}
CHOSEN_SAMPLES = (12, 80)
HTTP_SAMPLES = (400, 3000)
DAILY_AND_LONG = pytest.mark.parametrize("length", [0, pytest.param(1, marks=pytest.mark.long)])

Record = Callable[[str, object], None]


class Guesser:
    """Draws tokens that are all wrong and all different."""

    def __init__(self, minted: str) -> None:
        self._minted = minted
        self._number = itertools.count()

    def near_miss(self) -> str:
        """The right first 40 of 64 digits."""
        drawn = PREFIX + secrets.token_hex(32)
        return self._minted[:NEAR] + drawn[NEAR:]

    def random_key(self) -> str:
        """Nothing right but the prefix; made in the same way."""
        drawn = PREFIX + secrets.token_hex(32)
        return drawn[:NEAR] + drawn[NEAR:]

    def pair(self, name: str) -> str:
        """A name with a key that nobody has guessed before."""
        return f"{name}:wrong-key-{next(self._number):08}"


class Desk:
    """Signing in to a workspace, without HTTP."""

    def __init__(self, store: Store) -> None:
        self.workspace = Workspace.open(store, "main")
        add_account(self.workspace, "claude", KEY)
        self.minted = add_account(self.workspace, "bot").token
        self.guess = Guesser(self.minted)
        self.houses = Houses(lambda name: self.workspace, "main")

    def refuse(self, token: str) -> None:
        """Sign in with a wrong token."""
        try:
            sign_in(self.houses, token)
        except Unauthenticated:
            return
        raise AssertionError("a wrong token was let in")

    @property
    def keys(self) -> tuple[Draw, Draw]:
        """Near misses and random keys."""
        return self.guess.near_miss, self.guess.random_key

    def names(self, first: str, second: str) -> tuple[Draw, Draw]:
        """One name and another, both with wrong keys."""
        return lambda: self.guess.pair(first), lambda: self.guess.pair(second)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return str(request.param)


@pytest.fixture(scope="module")
def desk(
    kind: str, postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    """A desk before a database of each kind; no guess is made at it twice."""
    if kind == "sqlite":
        with closing(SqliteStore(tmp_path_factory.mktemp("timing") / "timing.db")) as file:
            yield Desk(file)
        return
    url = postgres_server.create_database()
    with closing(PostgresStore(install(url))) as store:
        yield Desk(store)
    postgres_server.drop_database(url)


@DAILY_AND_LONG
def test_a_near_miss_takes_as_long_as_any_key(
    desk: Desk, kind: str, length: int, record_property: Record
) -> None:
    measured = compare(desk.refuse, *desk.keys, MINTED_SAMPLES[kind][length])
    record_property("figure", f"near miss and random key: {measured}")
    assert not measured.differs, measured


@DAILY_AND_LONG
@pytest.mark.parametrize("name", ["claude", "bot"])
def test_a_known_name_takes_as_long_as_an_unknown_one(
    desk: Desk, name: str, length: int, record_property: Record
) -> None:
    """With a chosen key, and with none at all: a minted key is not looked for by name."""
    measured = compare(desk.refuse, *desk.names(name, "nobody"), CHOSEN_SAMPLES[length])
    record_property("figure", f"{name} and nobody: {measured}")
    assert not measured.differs, measured
    quicker_us = min(measured.first_us, measured.second_us)
    assert quicker_us > 2000, "the dear comparison was not made"


def test_a_chosen_key_is_hashed_as_dearly_as_recommended(desk: Desk) -> None:
    assert _hash_of_chosen(desk).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_nobodys_hash_is_made_like_every_other(desk: Desk) -> None:
    hashed = _hash_of_chosen(desk)
    assert hashed.split("$")[:4] == verdicts.NOBODYS_HASH.split("$")[:4]
    assert len(hashed) == len(verdicts.NOBODYS_HASH)


def _hash_of_chosen(desk: Desk) -> str:
    credentials = desk.workspace.credentials
    account = credentials.holder_of("auth/service-name", "service/claude")
    hashed = credentials.hash_of(account or 0, "auth/api-key-hash")
    assert hashed is not None
    return hashed


@pytest.mark.parametrize("name", ["claude", "bot", "service/claude"])
def test_a_known_name_asks_the_database_as_often_as_an_unknown_one(
    desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the dear comparison hides in noise is counted here: every statement is a round trip."""
    asked: list[str] = []
    counting = _Counting(desk.workspace._store, asked)
    for holder in (desk.workspace, desk.workspace.credentials):
        monkeypatch.setattr(holder, "_store", counting)
    questions = []
    for one in ("nobody", name):
        asked.clear()
        desk.refuse(desk.guess.pair(one))
        questions.append(list(asked))
    assert questions[0] == questions[1]
    assert len(questions[0]) >= 3


class _Counting:
    """A store, and what is asked of it."""

    def __init__(self, store: Store, asked: list[str]) -> None:
        self._store, self._asked = store, asked

    def __getattr__(self, name: str) -> Any:
        self._asked.append(name)
        return getattr(self._store, name)


def test_a_comparison_that_ends_early_is_noticed(tmp_path: Path, record_property: Record) -> None:
    """The negative control: digit by digit, as nobody should compare."""
    with closing(SqliteStore(tmp_path / "timing.db")) as store:
        desk = Desk(store)

        def refuse(token: str) -> None:
            for ours, theirs in zip(desk.minted, token, strict=False):
                if ours != theirs:
                    break
            desk.refuse(token)

        measured = notice(refuse, desk.keys, MINTED_SAMPLES["sqlite"][0])
    record_property("figure", f"ending early: {measured}")
    assert measured.differs, measured


def test_a_name_that_is_not_checked_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    """The negative control: without a hash there is nothing to compare, so why take the time?"""
    slow = verdicts.Verdicts._check

    def hasty(self: verdicts.Verdicts, hashed: str | None, candidate: str) -> bool:
        return hashed is not None and slow(self, hashed, candidate)

    monkeypatch.setattr(verdicts.Verdicts, "_check", hasty)
    with closing(SqliteStore(tmp_path / "timing.db")) as store:
        desk = Desk(store)
        measured = notice(desk.refuse, desk.names("claude", "nobody"), CHOSEN_SAMPLES[0])
    record_property("figure", f"hasty: {measured}")
    assert measured.differs, measured


# --- over HTTP -----------------------------------------------------------------------------------


class Caller:
    """A connection that stays open, and is always refused."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def refuse(self, token: str) -> None:
        """One request with a wrong token."""
        self._connection.request("POST", "/mcp", BODY, {"Authorization": f"Bearer {token}"})
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == 401

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


@DAILY_AND_LONG
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_shows_over_http(
    kind: str, length: int, request: pytest.FixtureRequest, tmp_path: Path, record_property: Record
) -> None:
    if kind == "sqlite":
        address = str(tmp_path / "timing.db")
    else:
        address = install(request.getfixturevalue("fresh_postgres"))
    with LiveServer(address, account="claude") as server:
        said = server.sandbar("account", "add", "bot")
        guess = Guesser(next(word for word in said.split("=") if word.startswith("sk-"))[:72])
        with closing(Caller(server.port)) as caller:
            keys = compare(caller.refuse, guess.near_miss, guess.random_key, HTTP_SAMPLES[length])
            names = compare(
                caller.refuse,
                lambda: guess.pair("claude"),
                lambda: guess.pair("nobody"),
                CHOSEN_SAMPLES[length],
            )
    record_property("figure", f"over HTTP, keys: {keys}; names: {names}")
    assert not keys.differs, keys
    assert not names.differs, names


def test_a_slow_comparison_would_show_over_http(tmp_path: Path, record_property: Record) -> None:
    """The negative control: 3 us a digit are enough to be seen from outside."""
    with closing(SqliteStore(tmp_path / "timing.db")) as store:
        desk = Desk(store)
        door = _leaky(behind_the_edge(echo, houses=desk.houses), desk.minted)
        with serving(door) as port, closing(Caller(port)) as caller:
            measured = notice(caller.refuse, desk.keys, HTTP_SAMPLES[0])
    record_property("figure", f"leaking over HTTP: {measured}")
    assert measured.differs, measured


def _leaky(app: App, minted: str) -> App:
    """A door that compares digit by digit, slowly."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        token = dict(scope["headers"])[b"authorization"].decode().removeprefix("Bearer ")
        for ours, theirs in zip(minted, token, strict=False):
            if ours != theirs:
                break
            until = time.perf_counter_ns() + 3_000
            while time.perf_counter_ns() < until:
                pass
        await app(scope, receive, send)

    return door


# --- the test of the test ------------------------------------------------------------------------


def test_the_statistic_is_welch_s() -> None:
    # Worked by hand: means 20 and 23, variances 2.5 and 10, five samples each.
    first, second = [18, 19, 20, 21, 22], [19, 21, 23, 25, 27]
    assert welch_t(first, second) == pytest.approx(-3 / (2.5 / 5 + 10 / 5) ** 0.5)


def test_what_is_the_same_does_not_differ() -> None:
    """Of 300 comparisons of equals none passes the bound; of unequals all do."""
    draw = random.Random(1)
    noise = [[int(draw.gauss(1000, 50)) for _ in range(200)] for _ in range(600)]
    ts = [welch_t(a, b) for a, b in zip(noise[::2], noise[1::2], strict=True)]
    assert max(map(abs, ts)) < 4.5
    shifted = [
        welch_t([s + 50 for s in a], b) for a, b in zip(noise[::2], noise[1::2], strict=True)
    ]
    assert min(map(abs, shifted)) > 4.5
