"""One measured line: figures, the bar it has to reach, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Literal

import msgspec

from bench.timing import Contest

Verdict = Literal["met", "missed", ""]


class Bar(msgspec.Struct, frozen=True):
    """What a figure must at least, or may at most, be."""

    way: Literal["at least", "at most"]
    limit: float

    def __str__(self) -> str:
        return f"{'≥' if self.way == 'at least' else '≤'} {self.limit:g}"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the report. `figure` is what the bar judges; rates are operations per second."""

    store: str
    size: int
    key: str  # the same in every run, for programs that read the JSON
    what: str
    ours: float | None = None
    against: str = ""
    other: float | None = None
    figure: float | None = None
    unit: str = "×"
    low: float | None = None
    high: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    by_cpu: float | None = None  # the figure if it were taken from the processor time per call
    cpu_us: float | None = None  # what one call costs the server, whatever else the machine does
    bar: Bar | None = None
    verdict: Verdict = ""


def verdict(figure: float, bar: Bar | None) -> Verdict:
    """Whether a figure satisfies its bar."""
    if bar is None:
        return ""
    is_met = figure >= bar.limit if bar.way == "at least" else figure <= bar.limit
    return "met" if is_met else "missed"


def speed(
    contest: Contest,
    *,
    store: str,
    size: int,
    key: str,
    what: str,
    against: str = "bare",
    bar: Bar | None = None,
) -> Result:
    """Our rate as a multiple of the other's: more is better."""
    return _result(contest, contest.ratios(), store, size, key, what, against, bar)


def slowdown(
    contest: Contest, *, store: str, size: int, key: str, what: str, against: str, bar: Bar
) -> Result:
    """Our cost as a multiple of the other's: less is better."""
    costs = [1 / ratio for ratio in contest.ratios()]
    return _result(contest, costs, store, size, key, what, against, bar)


def rate(
    rates: Sequence[float],
    latencies: Sequence[float],
    *,
    store: str,
    size: int,
    key: str,
    what: str,
    cpu_us: float,
) -> Result:
    """How often somebody does something, ours or not."""
    cuts = quantiles(latencies, n=100)
    return Result(
        store=store,
        size=size,
        key=key,
        what=what,
        ours=median(rates),
        low=min(rates),
        high=max(rates),
        p50_ms=cuts[49] * 1_000,
        p99_ms=cuts[98] * 1_000,
        cpu_us=cpu_us,
    )


def figure(
    figures: Sequence[float],
    *,
    store: str,
    key: str,
    what: str,
    unit: str,
    at_most: float | None = None,
) -> Result:
    """Something that was weighed or counted, once or more often."""
    bar = None if at_most is None else Bar("at most", at_most)
    middle = median(figures)
    return Result(
        store=store,
        size=1,
        key=key,
        what=what,
        figure=middle,
        unit=unit,
        low=min(figures),
        high=max(figures),
        bar=bar,
        verdict=verdict(middle, bar),
    )


def _result(
    contest: Contest,
    figures: list[float],
    store: str,
    size: int,
    key: str,
    what: str,
    against: str,
    bar: Bar | None,
) -> Result:
    figure = median(figures)
    return Result(
        store=store,
        size=size,
        key=key,
        what=what,
        ours=contest.rate,
        against=against,
        other=contest.other_rate,
        figure=figure,
        low=min(figures),
        high=max(figures),
        bar=bar,
        verdict=verdict(figure, bar),
    )
