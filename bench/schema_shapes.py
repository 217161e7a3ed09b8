"""What schemas of awkward shapes cost: `python -m bench.schema_shapes`.

Each shape is defined in a process of its own, in a new SQLite file, by one `define`; a second
thread reads an entity a hundred times a second meanwhile. The table says what the definition took,
the longest pause of the reader, and the most memory that the process had beyond what it began with.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import sandbar
from sandbar.errors import Problem

Classes = dict[str, dict[str, Any]]

PATIENCE_S = 100
_READS_EVERY_S = 0.01


def layers(depth: int, width: int) -> Classes:
    """Layers of classes, each below every class of the layer above it."""
    classes: Classes = {}
    above = ["dt/Ref"]
    for level in range(depth):
        here = [f"shape/L{level}-{n}" for n in range(width)]
        classes |= {name: {"dt/subclass-of": list(above)} for name in here}
        above = here
    return classes


def chain(length: int) -> Classes:
    """Classes, each below the one before it."""
    return layers(length, 1)


def flat(count: int) -> Classes:
    """Classes side by side."""
    return {f"shape/C{n}": {"dt/subclass-of": ["dt/Ref"]} for n in range(count)}


SHAPES: dict[str, Callable[[], Classes]] = {
    "24 layers x 2": lambda: layers(24, 2),
    "20 layers x 5": lambda: layers(20, 5),
    "100 layers x 20": lambda: layers(100, 20),
    "a chain of 60": lambda: chain(60),
    "a chain of 3,000": lambda: chain(3_000),
    "1,000 side by side": lambda: flat(1_000),
    "9,000 side by side": lambda: flat(9_000),
}


def main() -> None:
    """Print the table, for the shapes that are named or for all."""
    chosen = sys.argv[1:] or list(SHAPES)
    print(f"{'shape':<20} {'classes':>7} {'took':>9} {'pause':>9} {'memory':>9}  outcome")
    for name in chosen:
        print(_row(name), flush=True)


def _row(name: str) -> str:
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(name, there))
    child.start()
    there.close()
    number = len(SHAPES[name]())
    if not here.poll(PATIENCE_S):
        child.kill()
        child.join()
        return f"{name:<20} {number:>7} did not end in {PATIENCE_S} s"
    took_s, pause_s, memory_kib, outcome = here.recv()
    child.join()
    figures = f"{took_s * 1e3:>6.0f} ms {pause_s * 1e3:>6.0f} ms {memory_kib >> 10:>5} MiB"
    return f"{name:<20} {number:>7} {figures}  {outcome}"


def _measure(name: str, answer: Connection) -> None:
    classes = SHAPES[name]()
    with tempfile.TemporaryDirectory() as folder, sandbar.open(Path(folder, "x.db")) as db:
        known = db.define(classes={"shape/Known": {"dt/subclass-of": ["dt/Ref"]}}).entity_id
        reader = _Reader(lambda: db.get(known))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        try:
            db.define(classes=classes)
            outcome = "defined"
        except Problem as problem:
            outcome = f"refused: {problem.code}"
        took_s = time.perf_counter() - began
        pause_s = reader.stop()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        answer.send((took_s, pause_s, memory, outcome))


class _Reader:
    """Reads on and on in a thread of its own, and notes the longest time between two reads."""

    def __init__(self, read: Callable[[], object]) -> None:
        self._read = read
        self._is_over = threading.Event()
        self._pause_s = 0.0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> float:
        """The longest pause beyond what it waits by itself."""
        self._is_over.set()
        self._thread.join()
        return self._pause_s

    def _run(self) -> None:
        last = time.perf_counter()
        while not self._is_over.wait(_READS_EVERY_S):
            self._read()
            now = time.perf_counter()
            self._pause_s, last = max(self._pause_s, now - last - _READS_EVERY_S), now


if __name__ == "__main__":
    main()
