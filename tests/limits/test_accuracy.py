"""S7: what 1, 2 and 4 servers admit together, against the oracle: at most 1 % over or under.

Three keys are asked with at the same time, each in its own way and with a bucket of its own.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.conftest import Say
from tests.limits.fleet import Fleet, fleet_on, on_each
from tests.limits.oracle import Bucket, Judgement, Seen, judge, total
from tests.limits.traffic import Stream, bursts, run, steady

PER_MINUTE, BURST = 1_800, 60
BUCKET = Bucket(PER_MINUTE / 60, BURST)
SHARE_MAX = 0.01
SHORT_S, WHOLE_S, LONG_S = 3.0, 5.6, 60.0  # the last one only in a long run
APART = [sys.executable, "-m", "tests.limits.apart"]


def plans(seconds: float) -> dict[str, list[float]]:
    """When each key asks: always too often, in bursts, and after pauses that fill the bucket."""
    return {
        "steady": steady(BUCKET.per_second * 1.5, seconds),
        "bursty": bursts(45, 1.0, seconds),
        "idle": bursts(2 * BURST, 2.7, seconds),  # a pause of two seconds is enough for all of it
    }


def measured(fleet: Fleet, ports: Sequence[int], seed: str, seconds: float) -> list[list[Seen]]:
    streams = []
    for name, plan in plans(seconds).items():
        token = fleet.mint(f"{name}-{len(ports)}-{seed}", rate_limit=PER_MINUTE, burst=BURST)
        streams.append(Stream(ports, token, plan))
    return run(streams)


def check(every: list[list[Seen]], say: Say, at_least: int) -> None:
    judgements = [judge(BUCKET, seen) for seen in every]
    for name, judgement in zip(plans(1.0), judgements, strict=True):
        say(f"{name}: {judgement}")
    everything = total(judgements)
    assert everything.refused > everything.admitted / 50, "too little traffic to show anything"
    assert everything.admitted >= at_least
    assert everything.over_share <= SHARE_MAX, everything
    assert everything.under_share <= SHARE_MAX, everything
    # There is always less than a second to wait for the next token, and no less than a second is
    # ever asked for.
    assert {one.retry_after_s for seen in every for one in seen if not one.is_admitted} == {1}


def test_one_server_is_exact(fleets: list[Fleet], seed: str, say: Say) -> None:
    on_each(fleets, lambda fleet: check(measured(fleet, fleet.ports[:1], seed, SHORT_S), say, 270))


def test_two_servers_of_one_postgres_are_exact(four: Fleet, seed: str, say: Say) -> None:
    check(measured(four, four.ports[:2], seed, SHORT_S), say, 270)


def test_four_servers_are_exact(four: Fleet, seed: str, say: Say) -> None:
    check(measured(four, four.ports, seed, WHOLE_S), say, 440)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("servers", [1, 2, 4])
def test_servers_are_exact_in_a_long_run(four: Fleet, servers: int, seed: str, say: Say) -> None:
    check(measured(four, four.ports[:servers], seed, LONG_S), say, 4_500)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_usual_limit_is_exact_in_a_long_run(four: Fleet, seed: str, say: Say) -> None:
    """60 a minute and 60 at once, for two minutes and a half."""
    plan = sorted(steady(1.5, 150) + [0.0] * 90 + [100.0] * 30)
    (seen,) = run([Stream(four.ports, four.mint(f"usual-{seed}"), plan)])
    judgement = judge(Bucket(1.0, 60), seen)
    say(str(judgement))
    assert judgement.admitted > 200
    assert judgement.over_share <= SHARE_MAX
    assert judgement.under_share <= SHARE_MAX


@pytest.fixture(scope="module", autouse=True)
def waiting(one: Fleet, four: Fleet) -> Iterator[dict[str, list[Future[str]]]]:
    """Stories that mostly wait: they are told from the first test on, and asked for at the end."""
    stories = {"usual": ask_more_than_usual, "less": ask_less}
    with ThreadPoolExecutor(2 * len(stories)) as pool:
        yield {
            title: [pool.submit(story, fleet, secrets.token_hex(4)) for fleet in (one, four)]
            for title, story in stories.items()
        }


def test_the_usual_limit_is_sixty(waiting: dict[str, list[Future[str]]], say: Say) -> None:
    for told in waiting["usual"]:
        say(told.result())


def test_whoever_asks_less_is_never_refused(
    waiting: dict[str, list[Future[str]]], say: Say
) -> None:
    for told in waiting["less"]:
        say(told.result())


def ask_more_than_usual(fleet: Fleet, seed: str) -> str:
    """A key of which nothing is said: sixty at once, then one a second."""
    (seen,) = run([Stream(fleet.ports, fleet.mint(f"usual-{seed}"), [0.0] * 100 + [1.5, 3.0])])
    judgement = judge(Bucket(1.0, 60), seen)
    assert 61 <= judgement.admitted < 75
    assert (judgement.over, judgement.under) == (0, 0)
    return str(judgement)


def ask_less(fleet: Fleet, seed: str) -> str:
    """Once more if the machine stood still, so that all of that second was asked for at once."""
    bucket = Bucket(BUCKET.per_second, 30)
    for attempt in range(3):
        token = fleet.mint(f"modest-{attempt}-{seed}", rate_limit=PER_MINUTE, burst=30)
        (seen,) = run([Stream(fleet.ports, token, steady(BUCKET.per_second / 2, 4.0))])
        judgement = judge(bucket, seen)
        assert (judgement.over, judgement.under) == (0, 0)
        if judgement.refused == 0:
            break
    assert judgement == Judgement(60, 0, 0, 0)
    return f"{judgement}, attempt {attempt + 1}"


# --- negative control ------------------------------------------------------------------------


@pytest.fixture
def apart(postgres_address: str, four: Fleet) -> Iterator[Sequence[int]]:
    """Two servers of the same database, one of which counts for itself."""
    with fleet_on(postgres_address, 1, APART, four.servers[0].token) as fleet:
        yield [*fleet.ports, four.ports[0]]


def test_servers_that_count_apart_are_caught(
    four: Fleet, apart: Sequence[int], seed: str, say: Say
) -> None:
    seed = f"apart-{seed}"
    judgement = total(judge(BUCKET, seen) for seen in measured(four, apart, seed, SHORT_S))
    say(f"counted apart: {judgement}")
    assert judgement.over_share > 3 * SHARE_MAX
