"""A token bucket that nobody has to trust: it judges what clients saw, and shares no code with us.

A client knows when it has sent a request and when the answer came; the decision was made somewhere
between. So an admission counts as one too many only if no moments within these spans explain it,
and a refusal counts as wrong only if there was a token at whatever moment it was made.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_ROUNDING = 1e-6


class Seen(NamedTuple):
    """One request as its client saw it."""

    sent_s: float
    answered_s: float
    is_admitted: bool
    retry_after_s: int | None = None


class Bucket(NamedTuple):
    """A token bucket: so many fit in, so many a second come."""

    per_second: float
    burst: int


class Judgement(NamedTuple):
    """How many were admitted, and how many should not have been, or should have been as well."""

    admitted: int
    refused: int
    over: int
    under: int

    @property
    def over_share(self) -> float:
        """Of those that were admitted, one too many each."""
        return self.over / max(self.admitted, 1)

    @property
    def under_share(self) -> float:
        """Of those that were admitted, how many more it should have been."""
        return self.under / max(self.admitted, 1)

    def __str__(self) -> str:
        return (
            f"{self.admitted} admitted, {self.refused} refused, "
            f"{self.over} too many, {self.under} too few"
        )


def judge(bucket: Bucket, seen: Iterable[Seen]) -> Judgement:
    """Compare what clients saw of one bucket, full at first, with what it holds."""
    everything = list(seen)
    admitted = [one for one in everything if one.is_admitted]
    refused = [one for one in everything if not one.is_admitted]
    over, under = _too_many(bucket, admitted), _too_few(bucket, admitted, refused)
    return Judgement(len(admitted), len(refused), over, under)


def total(judgements: Iterable[Judgement]) -> Judgement:
    """Several buckets together."""
    return Judgement(*map(sum, zip(*judgements, strict=True)))


def _too_many(bucket: Bucket, admitted: Sequence[Seen]) -> int:
    """In no span of time more are admitted than fit in, and come while it lasts.

    The one that ends a span with too many is counted, and left out of all later spans.
    """
    over = 0
    starts: list[float] = []  # of those that are accounted for, ascending
    for one in sorted(admitted, key=lambda one: one.answered_s):
        insort(starts, one.sent_s)
        count = len(starts)
        if any(
            count - before > bucket.burst + bucket.per_second * (one.answered_s - start) + _ROUNDING
            for before, start in enumerate(starts)
        ):
            over += 1
            starts.remove(one.sent_s)
    return over


def _too_few(bucket: Bucket, admitted: Sequence[Seen], refused: Sequence[Seen]) -> int:
    """A refusal is wrong if a token was there, even if all others were taken as late as can be.

    Who was refused wrongly has its token from then on: it is missed once only.
    """
    under = 0
    takers = sorted(one.answered_s for one in admitted)
    spans = sorted((one.sent_s, one.answered_s) for one in admitted)
    level, at_s, taken = float(bucket.burst), float("-inf"), 0
    for one in sorted(refused, key=lambda one: one.sent_s):
        while taken < len(takers) and takers[taken] <= one.sent_s:
            level = _filled(bucket, level, takers[taken] - at_s) - 1
            at_s = takers[taken]
            taken += 1
        begun = spans[: bisect_right(spans, (one.answered_s, float("inf")))]
        meanwhile = sum(1 for _, answered_s in begun if answered_s > one.sent_s)
        now = _filled(bucket, level, one.sent_s - at_s)
        if now - meanwhile >= 1 + _ROUNDING:
            under += 1
            level, at_s = now - 1, one.sent_s
    return under


def _filled(bucket: Bucket, level: float, seconds: float) -> float:
    return min(float(bucket.burst), level + bucket.per_second * seconds)
