"""A real server while thousands of connections ask for nothing: others are served at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.program import Running
from tests.gate.siege import ATTACKS, besieged, minted, quietly_served, served_ms, times_ms

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
        statuses: Counter[bytes] = Counter()
        for one in sent[KEY_MAX:]:
            statuses[one.recv(4096).split()[1]] += 1
    assert statuses == {b"429": 20}


def test_behind_a_trusted_proxy_the_forwarded_address_counts(town: Town) -> None:
    unknown = town.words("bodies of unknown keys")
    told = unknown.replace("Host:", "X-Forwarded-For: 6.6.6.6\r\nHost:")
    with besieged(town.url, told, KEY_MAX + 20, (PROXY,)) as sent:
        answers = [one.recv(4096)[9:12] for one in sent]
    assert Counter(answers) == {b"503": 20, b"401": KEY_MAX}
