"""What the contest has shown, as lines of the report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

import msgspec

from bench.results import Bar, Result, figure, rate, speed
from bench.settings import (
    HELP_AT_MOST_S,
    RESIDENT_AT_MOST_MB,
    START_AT_MOST_S,
    TIMES_FASTMCP_AT_LEAST,
    TIMES_UNRECORDED_AT_LEAST,
)
from bench.timing import Contest
from bench.wire.entrants import READS, READS_BESIDE, WRITES, WRITES_BESIDE, Entrant, Field
from bench.wire.load import Round

CONNECTIONS = (1, 8, 64)
STORE = "wire"  # in the report's lines; their size is the number of connections

_JUDGED_AT = 8
_OURS = (READS, WRITES)
# Which of ours is compared with whom, and at how many connections.
_RATIOS = (
    *(("sandbar-find-modern", other) for other in ("fastmcp", "sdk", "toolbox", "asgi")),
    ("sandbar-find-session", "fastmcp"),
    ("sandbar-find-bare", "fastmcp"),
    ("sandbar-create-modern", "fastmcp"),
    ("sandbar-create-session", "fastmcp"),
    ("sandbar-find-bare", READS_BESIDE),
    ("sandbar-create-bare", WRITES_BESIDE),
)
_MANY_TIMES = Bar("at least", TIMES_FASTMCP_AT_LEAST)
_HARDLY_LESS = Bar("at least", TIMES_UNRECORDED_AT_LEAST)
_BARS = {
    ("sandbar-find-modern", "fastmcp", _JUDGED_AT): _MANY_TIMES,
    ("sandbar-find-session", "fastmcp", _JUDGED_AT): _MANY_TIMES,
    **{("sandbar-find-bare", READS_BESIDE, many): _HARDLY_LESS for many in CONNECTIONS[1:]},
    **{("sandbar-create-bare", WRITES_BESIDE, many): _HARDLY_LESS for many in CONNECTIONS[1:]},
}


class Outcome:
    """Rounds by entrant and connections, and what is known of the servers."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.rounds: dict[tuple[str, int], list[Round]] = defaultdict(list)
        self.starts: dict[str, list[float]] = {}
        self.resident_mb: dict[str, float] = {}
        self.help_seconds: list[float] = []
        self.answered: Counter[str] = Counter()  # calls by server
        self.busiest = 0.0  # the largest share of a counted round in which the load itself worked

    def note(self, entrant: Entrant, connections: int, one: Round, *, counts: bool) -> None:
        """Keep a round. What it has done is in the file, whether it counts or not."""
        self.answered[entrant.server.key] += one.calls
        if counts:
            self.rounds[entrant.key, connections].append(one)
            self.busiest = max(self.busiest, one.busy)

    def remarks(self) -> list[str]:
        """What a reader of the figures should know."""
        return [
            *self.field.remarks,
            f"the load generator worked {self.busiest:.0%} of a round at most",
        ]

    # --- lines -------------------------------------------------------------------------------

    def results(self) -> Iterator[Result]:
        """All lines: rates, then servers, then ratios."""
        for entrant in self.field.entrants:
            for connections in CONNECTIONS:
                yield self._rate(entrant, connections)
        for server in self.field.servers:
            is_ours = server.key in _OURS
            yield figure(
                self.starts[server.key],
                store=STORE,
                key=f"start-{server.key}",
                what=f"{server.what}: start to first answer",
                unit=" s",
                at_most=START_AT_MOST_S if is_ours else None,
            )
            yield figure(
                [self.resident_mb[server.key]],
                store=STORE,
                key=f"resident-{server.key}",
                what=f"{server.what}: resident memory",
                unit=" MB",
                at_most=RESIDENT_AT_MOST_MB if is_ours else None,
            )
        yield figure(
            self.help_seconds,
            store=STORE,
            key="help",
            what="sandbar --help",
            unit=" s",
            at_most=HELP_AT_MOST_S,
        )
        for ours, server_key in _RATIOS:
            for connections in (_JUDGED_AT, CONNECTIONS[-1]):
                yield from self._ratio(ours, server_key, connections)

    def _rate(self, entrant: Entrant, connections: int) -> Result:
        rounds = self.rounds[entrant.key, connections]
        return rate(
            [one.rate for one in rounds],
            [one for each in rounds for one in each.latencies],
            store=STORE,
            size=connections,
            key=entrant.key,
            what=entrant.what,
            cpu_us=self._cpu_us(entrant.key, connections),
        )

    def _ratio(self, ours: str, server_key: str, connections: int) -> Iterator[Result]:
        """Ours against that server, called in the way in which it is fastest."""
        others = [each for each in self.field.entrants if each.server.key == server_key]
        if not others:
            return
        fastest = max(others, key=lambda each: median(self._rates(each.key, connections)))
        what = next(each.what for each in self.field.entrants if each.key == ours)
        line = speed(
            Contest(self._rates(ours, connections), self._rates(fastest.key, connections)),
            store=STORE,
            size=connections,
            key=f"{ours}-against-{server_key}",
            what=what,
            against=fastest.what,
            bar=_BARS.get((ours, server_key, connections)),
        )
        by_cpu = self._cpu_us(fastest.key, connections) / self._cpu_us(ours, connections)
        yield msgspec.structs.replace(line, by_cpu=by_cpu)

    def _cpu_us(self, key: str, connections: int) -> float:
        """The processor time of one call: a busy machine disturbs it far less than rates."""
        rounds = self.rounds[key, connections]
        used = sum(one.server_cpu_seconds for one in rounds)
        return used / sum(one.calls for one in rounds) * 1e6

    def _rates(self, key: str, connections: int) -> list[float]:
        return [one.rate for one in self.rounds[key, connections]]
