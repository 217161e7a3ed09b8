"""Short alternating rounds: whatever disturbs the machine disturbs both contestants alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from statistics import median
from typing import Any, NamedTuple

Round = Callable[[], int]  # does some work and returns how many operations that was
Prepare = Callable[[], None]  # what a round needs and no clock should count

_BLOCK = 8  # operations between two looks at the clock


class Contest(NamedTuple):
    """Rates of two contestants, round by round."""

    ours: list[float]
    other: list[float]

    @property
    def rate(self) -> float:
        """Our operations per second."""
        return median(self.ours)

    @property
    def other_rate(self) -> float:
        """The other's operations per second."""
        return median(self.other)

    def ratios(self) -> list[float]:
        """Our rate as a multiple of the other's, round by round."""
        return [mine / theirs for mine, theirs in zip(self.ours, self.other, strict=True)]


def _nothing() -> None: ...


def alternate(
    ours: Round,
    other: Round,
    rounds: int,
    *,
    prepare_ours: Prepare = _nothing,
    prepare_other: Prepare = _nothing,
) -> Contest:
    """Let both run in turn, each first in every second round; one round before is not counted."""
    contest = Contest([], [])
    pairs = [(prepare_ours, ours, contest.ours), (prepare_other, other, contest.other)]
    for prepare, contestant, _ in pairs:
        prepare(), contestant()
    for number in range(rounds):
        for prepare, contestant, rates in pairs if number % 2 else reversed(pairs):
            prepare()
            gc.collect()
            start = time.perf_counter()
            count = contestant()
            rates.append(count / (time.perf_counter() - start))
    return contest


def for_a_while(operation: Callable[[Any], object], inputs: Sequence[Any], seconds: float) -> Round:
    """A round that applies an operation to one input after the other until the time is over."""
    endless = cycle(inputs)

    def run() -> int:
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            for one in islice(endless, _BLOCK):
                operation(one)
            count += _BLOCK
        return count

    return run
