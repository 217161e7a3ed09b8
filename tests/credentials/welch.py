"""Whether two kinds of request differ in the time that they take: Welch's t test, interleaved.

Both kinds are asked in turns, in an order drawn anew for each pair, so that whatever else the
machine does meets both alike. What took longest of both together is cut off: it is the machine's
and not ours. |t| above 4.5 is a difference (the bound of TVLA and dudect), which chance feigns in
one of 150 000 comparisons of equals. A busy machine can do so more often; therefore a finding must
show twice again, each time with more samples and in the same direction.
"""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

BOUND = 4.5
_KEPT = 0.85  # of the samples, the quickest ones
_LOOKS = 3
_LOOKS_OF_CONTROL = 5  # a busy machine hides half a microsecond for long
_AGAIN = 2  # times as many samples at each further look
_WARM_UP = 10
_WARM_UP_SHARE = 5  # of few samples, each of which is dear, a fifth

Draw = Callable[[], str]  # what to ask with; drawing it is not measured
Ask = Callable[[str], object]


@dataclass(frozen=True)
class Measured:
    """Two kinds of request, how long each took, and how sure it is that they differ."""

    t: float
    samples: int
    first_us: float
    second_us: float
    seed: int

    @property
    def differs(self) -> bool:
        """Whether somebody who measures could tell them apart."""
        return abs(self.t) >= BOUND

    def __str__(self) -> str:
        return (
            f"t = {self.t:+.2f} with 2 x {self.samples} samples, means {self.first_us:.1f} and"
            f" {self.second_us:.1f} us, seed {self.seed}"
        )


def compare(ask: Ask, first: Draw, second: Draw, samples: int) -> Measured:
    """Measure, and while there seems to be a difference, again with more samples."""
    seed = random.SystemRandom().getrandbits(32)
    found = [measure(ask, (first, second), samples, seed)]
    while found[-1].differs and len(found) < _LOOKS:
        more = found[-1].samples * _AGAIN
        again = measure(ask, (first, second), more, seed + len(found))
        if again.t * found[0].t < 0:
            again = replace(again, t=0.0)  # now the other one is slower: it was the machine
        found.append(again)
    return found[-1]


def notice(ask: Ask, draws: tuple[Draw, Draw], samples: int) -> Measured:
    """Measure what does differ, for a control: again with more samples if noise has hidden it."""
    for look in range(_LOOKS_OF_CONTROL):
        measured = measure(ask, draws, samples * _AGAIN**look, seed=1 + look)
        if measured.differs:
            break
    return measured


def measure(ask: Ask, draws: tuple[Draw, Draw], samples: int, seed: int) -> Measured:
    """Measure once."""
    coin = random.Random(seed)
    for draw in draws * min(_WARM_UP, samples // _WARM_UP_SHARE):
        ask(draw())
    took: tuple[list[int], list[int]] = ([], [])
    gc.collect()
    gc.disable()
    try:
        for _ in range(samples):
            turn = coin.getrandbits(1)
            for which in (turn, 1 - turn):
                drawn = draws[which]()
                began = time.perf_counter_ns()
                ask(drawn)
                took[which].append(time.perf_counter_ns() - began)
    finally:
        gc.enable()
    kept = [_quickest(one, took) for one in took]
    means = [statistics.fmean(one) / 1000 for one in kept]
    return Measured(welch_t(*kept), samples, means[0], means[1], seed)


def _quickest(one: list[int], both: tuple[list[int], list[int]]) -> list[int]:
    """Cut both kinds at the same time, so that a slower kind cannot hide behind the cut."""
    pooled = sorted(both[0] + both[1])
    most = pooled[int(len(pooled) * _KEPT)]
    kept = [took for took in one if took <= most]
    return kept if len(kept) >= 2 else one


def welch_t(first: list[int], second: list[int]) -> float:
    """The difference of two means in units of its own standard error."""
    error = math.sqrt(
        statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    )
    difference = statistics.fmean(first) - statistics.fmean(second)
    return difference / error if error else 0.0
