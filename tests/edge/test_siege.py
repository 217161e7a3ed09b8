"""A real server while thousands of connections ask for nothing: others are served at once."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import Running
from tests.edge.siege import ATTACKS, besieged, minted, quietly_served, served_ms, times_ms

SERVED_MS_MAX = 100
EVERY_DAY = ("half-sent heads", "silent connections", "bodies that never come")
PROXY = "127.0.0.77"
KEY_MAX = 250  # an eighth of all connections


class Town(NamedTuple):
    """A server, and two keys for it."""

    server: Running
    attacker: str
    other: str

    @property
    def url(self) -> str:
        """Where it is."""
        return self.server.url

    def words(self, attack: str) -> str:
        """What each of the attackers sends."""
        return ATTACKS[attack].replace("KEY", self.attacker)


def readable(connections: list[socket.socket], within_s: float) -> list[socket.socket]:
    """Those that the server has told something, or hung up on."""
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(within_s)]  # type: ignore[misc]


def whole_answer(connection: socket.socket) -> bytes:
    """Head and body, which may come apart."""
    answer = connection.recv(4096)
    return answer if not answer or answer.endswith(b"}") else answer + connection.recv(4096)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the database is."""
    return tmp_path_factory.mktemp("town")


@pytest.fixture(scope="module")
def keys(folder: Path) -> tuple[str, str]:
    """A reader's key, and another."""
    return minted(folder, "reader", "--role", "reader"), minted(folder, "other")


@pytest.fixture(scope="module")
def town(folder: Path, keys: tuple[str, str]) -> Iterator[Town]:
    """A server in a process of its own."""
    with quietly_served(folder, "--trusted-proxy", PROXY) as server:
        yield Town(server, *keys)


@pytest.mark.parametrize(
    "attack",
    [pytest.param(one, marks=[] if one in EVERY_DAY else pytest.mark.long) for one in ATTACKS],
)
def test_others_are_served_at_once(town: Town, attack: str) -> None:
    with besieged(town.url, town.words(attack)):
        times = [ms for ms in times_ms(town.url, town.other) if ms is not None]
        assert len(times) == 5
        assert min(times) < SERVED_MS_MAX
        same_address = served_ms(town.url, town.other, "127.0.0.66")
    assert same_address is not None


def test_attackers_with_many_addresses_and_no_key_lock_nobody_out(town: Town) -> None:
    many = tuple(f"127.0.1.{at}" for at in range(1, 251))
    assert served_ms(town.url, town.other, "127.0.0.3") is not None
    with besieged(town.url, town.words("half-sent heads"), addresses=many):
        times = [ms for ms in times_ms(town.url, town.other) if ms is not None]
        assert len(times) == 5
        assert min(times) < SERVED_MS_MAX
        assert served_ms(town.url, town.other, "127.0.0.4") is not None  # new to the server


def test_a_key_has_so_many_bodies_on_the_way(town: Town) -> None:
    with besieged(town.url, town.words("bodies that never come"), KEY_MAX + 20) as sent:
        answers: list[bytes] = []
        while len(answers) < 20:
            told = readable(sent, 20)
            assert told, "the server refuses what is too much"
            answers += [whole_answer(one) for one in told]
            sent = [one for one in sent if one not in told]
    assert len(answers) == 20
    for answer in answers:
        assert answer.split()[1] == b"429"
        assert b"gate.requests-open" in answer
        assert b"retry-after" in answer


@pytest.mark.parametrize("address", [PROXY, "127.0.0.78"])
def test_the_connections_of_a_trusted_proxy_are_not_its_own(town: Town, address: str) -> None:
    with besieged(town.url, town.words("half-sent heads"), KEY_MAX + 1, (address,)) as sent:
        assert served_ms(town.url, town.other) is not None  # so all the others have been let in
        assert bool(readable(sent[:1], 0)) == (address != PROXY)
