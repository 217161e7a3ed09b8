"""What the contest has shown, as lines of the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import msgspec

from bench.results import Bar, Result, figure, rate, speed
from bench.settings import TIMES_DBOS_AT_LEAST
from bench.timing import Contest
from bench.workflow.entrants import OURS, Entrant, Field

THREADS = (1, 8)
STORE = "workflow"  # in the report's lines; their size is the number of threads

_OTHERS = "dbos-"


class Round(NamedTuple):
    """What one round of one contestant has shown."""

    seconds: float
    latencies: list[float]  # one for every process
    cpu_seconds: float  # of the contestant and of PostgreSQL

    @property
    def rate(self) -> float:
        """Processes per second."""
        return len(self.latencies) / self.seconds


class Traffic(NamedTuple):
    """What a step costs on the wire, with its share of the start and the end."""

    trips: float
    statements: float


class Outcome:
    """Rounds by entrant and threads, and what went over the wire."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.rounds: dict[tuple[str, int], list[Round]] = defaultdict(list)
        self.traffic: dict[str, Traffic] = {}
        self.run_by: dict[str, int] = defaultdict(int)  # processes, whether they count or not

    def note(self, entrant: Entrant, threads: int, one: Round, *, counts: bool) -> None:
        """Keep a round."""
        self.run_by[entrant.key] += len(one.latencies)
        if counts:
            self.rounds[entrant.key, threads].append(one)

    def results(self) -> Iterator[Result]:
        """All lines: rates, then traffic, then ratios."""
        for entrant in self.field.entrants:
            for threads in THREADS:
                yield self._rate(entrant, threads)
        for entrant in self.field.entrants:
            yield from self._traffic(entrant)
        for entrant in self.field.entrants:
            if not entrant.key.startswith(_OTHERS):
                for threads in THREADS:
                    yield from self._ratio(entrant, threads)

    def _rate(self, entrant: Entrant, threads: int) -> Result:
        rounds = self.rounds[entrant.key, threads]
        return rate(
            self._rates(entrant.key, threads),
            [one for each in rounds for one in each.latencies],
            store=STORE,
            size=threads,
            key=entrant.key,
            what=entrant.what,
            cpu_us=self._cpu_us(entrant.key, threads),
        )

    def _traffic(self, entrant: Entrant) -> Iterator[Result]:
        found = self.traffic.get(entrant.key)
        if found is None:
            return
        for key, what, count in (
            ("trips", "round trips", found.trips),
            ("statements", "statements", found.statements),
        ):
            yield figure(
                [count],
                store=STORE,
                key=f"{key}-{entrant.key}",
                what=f"{entrant.what}: {what} per step",
                unit="",
            )

    def _ratio(self, ours: Entrant, threads: int) -> Iterator[Result]:
        """Ours against DBOS, set up in the way in which it is fastest."""
        others = [each for each in self.field.entrants if each.key.startswith(_OTHERS)]
        if not others:
            return
        fastest = max(others, key=lambda each: median(self._rates(each.key, threads)))
        line = speed(
            Contest(self._rates(ours.key, threads), self._rates(fastest.key, threads)),
            store=STORE,
            size=threads,
            key=f"{ours.key}-against-dbos",
            what=ours.what,
            against=fastest.what,
            bar=Bar("at least", TIMES_DBOS_AT_LEAST) if ours.key == OURS else None,
        )
        by_cpu = self._cpu_us(fastest.key, threads) / self._cpu_us(ours.key, threads)
        yield msgspec.structs.replace(line, by_cpu=by_cpu)

    def _cpu_us(self, key: str, threads: int) -> float:
        """The processor time of one process: a busy machine disturbs it far less than rates."""
        rounds = self.rounds[key, threads]
        used = sum(one.cpu_seconds for one in rounds)
        return used / sum(len(one.latencies) for one in rounds) * 1e6

    def _rates(self, key: str, threads: int) -> list[float]:
        return [one.rate for one in self.rounds[key, threads]]
