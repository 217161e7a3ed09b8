"""The oracle itself: right limiters pass, and limiters with small defects do not."""

from __future__ import annotations

import random

import pytest

from tests.limits.oracle import Bucket, Judgement, Seen, judge

BUCKET = Bucket(30.0, 60)
SECONDS = 40.0
PACE = 45.0


class Limiter:
    """The plainest token bucket, with defects on request."""

    def __init__(self, bucket: Bucket, *, level: float | None = None) -> None:
        self._bucket = bucket
        self._level = float(bucket.burst) if level is None else level
        self._at_s = 0.0

    def admits(self, at_s: float) -> bool:
        """Whether a token is there at this moment; it is taken."""
        come = (at_s - self._at_s) * self._bucket.per_second
        self._level, self._at_s = min(float(self._bucket.burst), self._level + come), at_s
        if self._level < 1:
            return False
        self._level -= 1
        return True


def traffic(limiters: list[Limiter], seed: str, *, latency_s: float = 0.04) -> list[Seen]:
    """Steady requests with pauses, decided at some moment between question and answer."""
    chance = random.Random(seed)
    moments = []
    for number in range(int(SECONDS * PACE)):
        sent_s = number / PACE
        if sent_s % 20 < 15:  # then five seconds of nothing
            moments.append((sent_s, sent_s + chance.uniform(0, latency_s)))
    seen = []
    for sent_s, decided_s in sorted(moments, key=lambda moment: moment[1]):
        is_admitted = chance.choice(limiters).admits(decided_s)
        seen.append(Seen(sent_s, decided_s + chance.uniform(0, latency_s), is_admitted))
    return seen


@pytest.mark.parametrize("latency_s", [0.0, 0.04, 0.4])
def test_an_exact_limiter_is_exact(latency_s: float) -> None:
    judgement = judge(BUCKET, traffic([Limiter(BUCKET)], "exact", latency_s=latency_s))
    assert judgement.admitted > 800
    assert judgement.refused > 200
    assert (judgement.over, judgement.under) == (0, 0)


def judged(*limiters: Limiter) -> Judgement:
    return judge(BUCKET, traffic(list(limiters), "defect"))


def test_one_that_is_too_fast_is_caught() -> None:
    assert judged(Limiter(Bucket(30 * 1.04, 60))).over_share > 0.01


def test_one_that_is_too_slow_is_caught() -> None:
    assert judged(Limiter(Bucket(30 / 1.04, 60))).under_share > 0.01


def test_one_that_holds_too_much_is_caught() -> None:
    judgement = judged(Limiter(Bucket(30.0, 75)))
    assert judgement.over > 20
    assert judgement.under == 0


def test_one_that_holds_too_little_is_caught() -> None:
    judgement = judged(Limiter(Bucket(30.0, 45)))
    assert judgement.under > 20
    assert judgement.over == 0


def test_one_that_begins_empty_is_caught() -> None:
    assert judged(Limiter(BUCKET, level=0.0)).under > 40


def test_servers_that_count_apart_are_caught() -> None:
    assert judged(Limiter(BUCKET), Limiter(BUCKET)).over_share > 0.1


def test_what_cannot_be_told_is_not_held_against_anybody() -> None:
    """Two requests that overlap, of which the later sent one was admitted."""
    bucket = Bucket(1.0, 1)
    seen = [Seen(0.0, 0.5, is_admitted=False), Seen(0.1, 0.4, is_admitted=True)]
    assert judge(bucket, seen) == Judgement(1, 1, 0, 0)
    assert judge(Bucket(1.0, 2), [Seen(0.0, 0.5, is_admitted=False)]).under == 1
    assert judge(Bucket(1.0, 2), seen) == Judgement(1, 1, 0, 0)
    assert judge(Bucket(1.0, 3), seen) == Judgement(1, 1, 0, 1)
    twice = [Seen(0.0, 0.1, is_admitted=True), Seen(0.2, 0.3, is_admitted=True)]
    assert judge(bucket, twice).over == 1
    assert judge(bucket, [twice[0], twice[1]._replace(answered_s=1.0)]).over == 0
