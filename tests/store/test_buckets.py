"""Token buckets against a simple oracle: as many tokens as there were, to the last one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from fractions import Fraction

import psycopg
import pytest

from sandbar.store.api import Store
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite import buckets as memory
from sandbar.store.sqlite.buckets import MemoryBuckets
from sandbar.store.trail import Buckets
from tests.store.conftest import Place, new_workspace
from tests.store.noting import at_once

S = 1_000_000
LONG_US = 3600 * S  # nothing comes back while a test runs


class Bucket:
    """A bucket of tokens, as one would explain it."""

    def __init__(self, interval_us: int, burst: int) -> None:
        self.interval_us, self.burst = interval_us, burst
        self.tokens, self.last_us = Fraction(burst), 0

    def take(self, now_us: int) -> int:
        """A token, or how long until there is one."""
        gained = Fraction(now_us - self.last_us, self.interval_us)
        self.tokens = min(self.tokens + gained, Fraction(self.burst))
        self.last_us = now_us
        if self.tokens >= 1:
            self.tokens -= 1
            return 0
        return int((1 - self.tokens) * self.interval_us)


class Clock:
    """A time that passes when the test says so."""

    def __init__(self) -> None:
        self.now_us = 1_000 * S

    def monotonic_s(self) -> float:
        """What the memory's buckets ask; a little more, because it is cut off."""
        return (self.now_us + 0.25) / S


def disagreements(
    take: Callable[[], int], clock: Clock, oracle: Bucket, seed: str, turns: int = 2000
) -> list[str]:
    """Where buckets and oracle differ, over many requests at random moments."""
    chance = random.Random(seed)
    oracle.last_us = clock.now_us
    found = []
    for turn in range(turns):
        pace = chance.choice((0.05, 0.9, 1.0, 1.1, 5.0))
        clock.now_us += int(chance.expovariate(1) * pace * oracle.interval_us)
        want, got = oracle.take(clock.now_us), take()
        if want != got:
            found.append(f"seed {seed}, turn {turn}: {got} instead of {want}")
    return found


@pytest.mark.parametrize(("interval_us", "burst"), [(S, 60), (S, 1), (137, 7), (S // 3, 2)])
def test_the_servers_own_buckets_are_exact(
    monkeypatch: pytest.MonkeyPatch, interval_us: int, burst: int
) -> None:
    clock, buckets, seed = Clock(), MemoryBuckets(), str(random.getrandbits(32))
    monkeypatch.setattr("sandbar.clock.monotonic_s", clock.monotonic_s)
    oracle = Bucket(interval_us, burst)
    take = lambda: buckets.take(1, 1, interval_us, burst)  # noqa: E731 - said once
    assert disagreements(take, clock, oracle, seed) == []


def test_a_bucket_one_token_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    clock, buckets = Clock(), MemoryBuckets()
    monkeypatch.setattr("sandbar.clock.monotonic_s", clock.monotonic_s)
    take = lambda: buckets.take(1, 1, S, 6)  # noqa: E731 - said once
    assert disagreements(take, clock, Bucket(S, 5), "1") != []


@pytest.mark.parametrize(("interval_us", "burst"), [(S, 60), (S, 1), (137, 7)])
def test_the_databases_buckets_are_exact(fresh_postgres: str, interval_us: int, burst: int) -> None:
    """By the database's own clock, which the test replaces."""
    store = PostgresStore(install(fresh_postgres))
    ws, clock, seed = new_workspace(store), Clock(), str(random.getrandbits(32))
    with psycopg.connect(fresh_postgres, autocommit=True) as admin:
        admin.execute("SET synchronous_commit = off")
        admin.execute("CREATE TABLE now (us bigint)")
        admin.execute("GRANT SELECT ON now TO sandbar_app")
        admin.execute("INSERT INTO now VALUES (0)")
        admin.execute(
            "CREATE OR REPLACE FUNCTION sandbar.clock_us() RETURNS bigint LANGUAGE sql VOLATILE "
            "SET search_path = pg_catalog, pg_temp RETURN (SELECT us FROM public.now)"
        )

        def take() -> int:
            admin.execute("UPDATE now SET us = %s", (clock.now_us,))
            return store.buckets.take(ws, 1, interval_us, burst)

        assert disagreements(take, clock, Bucket(interval_us, burst), seed, 400) == []
    store.close()


def test_each_bucket_is_of_one_number_in_one_workspace(store: Store, ws: int) -> None:
    other = new_workspace(store)
    for place in ((ws, 1), (ws, 2), (other, 1)):
        assert [store.buckets.take(*place, LONG_US, 2) == 0 for _ in range(4)] == [
            True, True, False, False
        ]  # fmt: skip


def test_a_smaller_bucket_is_at_most_empty(store: Store, ws: int) -> None:
    for _ in range(60):
        assert store.buckets.take(ws, 1, S, 60) == 0
    assert 55 * S < store.buckets.take(ws, 1, 60 * S, 1) <= 60 * S
    assert 0 < store.buckets.take(ws, 1, S, 5) <= S, "and not in debt for what it once held"


@pytest.mark.parametrize("openings", [1, 2])
def test_threads_get_as_many_tokens_as_there_are(place: Place, openings: int) -> None:
    """On PostgreSQL several servers share them; a file has one server."""
    stores = [place.another() for _ in range(openings if place.dialect == "postgres" else 1)]
    ws = new_workspace(stores[0])
    admitted: list[int] = []

    def work(buckets: Buckets) -> None:
        waits = [buckets.take(ws, 1, LONG_US, 60) for _ in range(40)]
        admitted.extend(wait_us for wait_us in waits if wait_us == 0)

    at_once([lambda store=store: work(store.buckets) for store in stores for _ in range(4)])  # type: ignore[misc]
    assert len(admitted) == 60


def test_hammering_gets_no_more_than_the_rate(place: Place) -> None:
    """Who must wait for the row brings no older time: that would be tokens out of nothing."""
    stores = [place.another() for _ in range(2 if place.dialect == "postgres" else 1)]
    ws, interval_us, burst = new_workspace(stores[0]), 5_000, 20
    admitted: list[float] = []
    end_s = time.monotonic() + 1.5
    began_s = time.monotonic()

    def work(buckets: Buckets) -> None:
        while time.monotonic() < end_s:
            if buckets.take(ws, 1, interval_us, burst) == 0:
                admitted.append(time.monotonic())

    at_once([lambda store=store: work(store.buckets) for store in stores for _ in range(4)])  # type: ignore[misc]
    lasted_us = (max(admitted) - began_s) * S
    most = burst + lasted_us / interval_us
    assert 0.9 * most < len(admitted) <= most + 1


def test_memory_holds_no_more_than_so_many_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BUCKETS_MAX", 100)
    clock, buckets = Clock(), MemoryBuckets()
    monkeypatch.setattr("sandbar.clock.monotonic_s", clock.monotonic_s)
    for id in range(1000):
        clock.now_us += 1
        assert buckets.take(1, id, LONG_US, 2) == 0
        assert len(buckets._full_us) <= 100
    assert buckets.take(1, 999, LONG_US, 2) == 0
    assert buckets.take(1, 999, LONG_US, 2) > 0, "the latest is not forgotten"
    clock.now_us += 3 * LONG_US
    buckets.take(1, 5000, LONG_US, 2)
    for id in range(6000, 6099):
        buckets.take(1, id, LONG_US, 2)
    assert set(buckets._full_us) >= {(1, 5000)}, "those that are full are forgotten first"
