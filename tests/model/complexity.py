"""What requests cost as they grow: processor time at several sizes, and the exponent of its growth.

`python -m tests.model.costs [NAME …]` prints the table, with a bar for each size.

A cost may grow like n log n. Everything above that is caught by two exponents: of a line through
all sizes, and of the last step, where what is small at first shows. A machine that is busy with
something else spoils a measurement, never all of them: of each size the best counts, and a verdict
is looked at again before it stands.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import sandbar
from sandbar.database import open_database
from sandbar.model import SchemaBounds

Work = Callable[[], object]

# n log n over the sizes that are measured here has an exponent of at most 1.2.
FITTED_MAX = 1.35
LAST_MAX = 1.5
_ROUNDS = 2
_LOOKS = 4
_BAR = 40
UNBOUNDED = SchemaBounds(*(10**9 for _ in SchemaBounds._fields))


class Ground:
    """Where workspaces come from: a file of SQLite, or an address of PostgreSQL."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opened: list[sandbar.Database] = []

    def workspace(self) -> sandbar.Database:
        """A new one; nothing bounds its metamodel, so that it is seen how the work grows."""
        if not self._opened:
            first = open_database(self._address, f"cost-{uuid4()}", bounds=UNBOUNDED)
            self._opened.append(first)
            return first
        name = f"cost-{uuid4()}"
        self._opened[0]._family.neighbours.create(name)
        return self._opened[0].in_workspace(name)

    def close(self) -> None:
        """Let go of them all."""
        for one in self._opened:
            one.close()


class Measure(NamedTuple):
    """A kind of request: what has to be there for one of a size, and the work itself."""

    name: str
    sizes: tuple[int, ...]
    prepare: Callable[[Ground, int], Work]
    largest: int = 1_000_000  # what a request of this kind may have at most

    def larger(self) -> Measure:
        """The same at four times the sizes, as far as such a request may be made."""
        sizes = tuple(4 * size for size in self.sizes)
        return self if sizes[-1] > self.largest else self._replace(sizes=sizes)


class Growth(NamedTuple):
    """What was measured: for each size the least time that it took."""

    sizes: tuple[int, ...]
    times_s: tuple[float, ...]

    @property
    def fitted(self) -> float:
        """The exponent of the line through all of them, by least squares."""
        xs, ys = map(math.log, self.sizes), map(math.log, self.times_s)
        return _slope(list(xs), list(ys))

    @property
    def last(self) -> float:
        """The exponent from the last size but one to the last."""
        (one, other), (before, after) = self.sizes[-2:], self.times_s[-2:]
        return math.log(after / before) / math.log(other / one)

    @property
    def is_steep(self) -> bool:
        """Whether that is more than linear x log."""
        return self.fitted > FITTED_MAX or self.last > LAST_MAX

    def better(self, other: Growth) -> Growth:
        """The best of both."""
        times = zip(self.times_s, other.times_s, strict=True)
        return Growth(self.sizes, tuple(map(min, times)))


def growth_of(measure: Measure, ground: Ground) -> Growth:
    """How the cost of a kind of request grows; what looks steep is measured again."""
    growth = _look(measure, ground)
    for _ in range(_LOOKS - 1):
        if not growth.is_steep:
            break
        growth = growth.better(_look(measure, ground))
    return growth


def _look(measure: Measure, ground: Ground) -> Growth:
    times = []
    for size in measure.sizes:
        works = [measure.prepare(ground, size) for _ in range(_ROUNDS)]
        times.append(min(map(_seconds, works)))
    return Growth(measure.sizes, tuple(times))


def _seconds(work: Work) -> float:
    """The processor time of all threads; the collector would count what others have left."""
    gc.disable()
    try:
        start = time.process_time()
        work()
        return max(time.process_time() - start, 1e-6)
    finally:
        gc.enable()


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return above / sum((a - x) ** 2 for a in xs)


def shown(name: str, growth: Growth) -> str:
    """The sizes and times of a kind of request, each with a bar, and the exponents."""
    mark = "  <- TOO STEEP" if growth.is_steep else ""
    lines = [f"{name}: n^{growth.fitted:.2f}, at last n^{growth.last:.2f}{mark}"]
    most = max(growth.times_s)
    for size, seconds in zip(growth.sizes, growth.times_s, strict=True):
        bar = "#" * max(1, round(_BAR * seconds / most))
        lines.append(f"  {size:>7,} {seconds * 1e3:>9.2f} ms {bar}")
    return "\n".join(lines)


def on_sqlite(folder: Path) -> Ground:
    """Workspaces of a file of their own."""
    return Ground(str(folder / "cost.db"))
