"""Every contestant is driven alike: threads that start a process when the one before has ended."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol

import msgspec

from bench.workflow.messages import Ask, Count, Counted, Drive, Driven


class Workload(Protocol):
    """The work of a contestant."""

    def run_one(self) -> None:
        """Start a process and take it through its steps to its end."""

    def count(self) -> Counted:
        """What the database holds."""


def serve(workload: Workload) -> None:
    """Answer until nobody asks any more; the first line says that the contestant is ready."""
    _say(workload.count())
    with ExitStack() as stack:
        pools: dict[int, ThreadPoolExecutor] = {}
        for line in sys.stdin.buffer:
            match msgspec.json.decode(line, type=Ask):
                case Drive(threads, seconds):
                    if threads not in pools:
                        pools[threads] = stack.enter_context(ThreadPoolExecutor(threads))
                    _say(_drive(workload.run_one, pools[threads], threads, seconds))
                case Count():
                    _say(workload.count())


def _drive(
    run_one: Callable[[], None], pool: ThreadPoolExecutor, threads: int, seconds: float
) -> Driven:
    gc.collect()
    worked, start = time.process_time(), time.perf_counter()
    end = start + seconds

    def run_all(_: int) -> list[float]:
        latencies, begun = [], time.perf_counter()
        while begun < end:
            run_one()
            done = time.perf_counter()
            latencies.append(done - begun)
            begun = done
        return latencies

    latencies = [one for share in pool.map(run_all, range(threads)) for one in share]
    took = time.perf_counter() - start
    return Driven(took, latencies, time.process_time() - worked)


def _say(answer: Driven | Counted) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
