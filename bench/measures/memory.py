"""Whether reading everything, page by page, makes the process grow: measured in one of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

import sandbar
from bench import subject
from bench.results import Bar, Result, verdict
from bench.settings import GROWTH_AT_MOST_MB

_SAMPLE_EVERY_S = 0.01
_PAGE = 500


class Growth(NamedTuple):
    """How many items were read, how fast, and by how much the process grew meanwhile."""

    read: int
    rate: float
    start_mb: float
    growth_mb: float


def resident_mb() -> float:
    """The memory that this process occupies right now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the kernel does not say how large this process is")


class Watch:
    """Samples the process's memory from a thread of its own."""

    def __init__(self) -> None:
        self.start_mb = self.peak_mb = resident_mb()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(_SAMPLE_EVERY_S):
            self.peak_mb = max(self.peak_mb, resident_mb())

    def stop(self) -> float:
        """The growth since the start."""
        self._over.set()
        self._thread.join()
        return max(self.peak_mb, resident_mb()) - self.start_mb


def read_everything(target: str) -> Growth:
    """Page through all items; the first page, which fills the caches of code, is not counted."""
    with sandbar.open(target) as db:
        db.query(subject.CLASS, limit=_PAGE)
        watch = Watch()
        start, count = time.perf_counter(), 0
        for _ in db.each(subject.CLASS, page_size=_PAGE):
            count += 1
        rate = count / (time.perf_counter() - start)
        return Growth(count, rate, watch.start_mb, watch.stop())


def growth_apart(target: str) -> Growth:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "bench.measures.memory", target]
    done = subprocess.run(command, check=True, capture_output=True)
    return msgspec.json.decode(done.stdout, type=Growth)


def result_of(growth: Growth, store: str) -> Result:
    """The line for the report."""
    bar = Bar("at most", GROWTH_AT_MOST_MB)
    return Result(
        store=store,
        size=growth.read,
        key="memory",
        what=f"growth while paging through {growth.read:,} items",
        ours=growth.rate,
        against=f"{growth.start_mb:.0f} MB",
        figure=growth.growth_mb,
        unit=" MB",
        bar=bar,
        verdict=verdict(growth.growth_mb, bar),
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(read_everything(sys.argv[1])))
