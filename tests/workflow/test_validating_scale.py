"""Validation of many instances: progress every second, cancelled within one, in flat memory.

The long form looks at 100,000 and is part of `make test-long`; the short one at 10,000, or at 2,500
on PostgreSQL, where they take longest to make.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sandbar
from sandbar import clock
from sandbar.workflow import VALIDATION, ProcessView, jobs, validating
from tests.model.conftest import Place
from tests.workflow.parts import PART, allow_up_to, found_by, is_idle, make_parts, until

GAP_S_MAX = 1.0
STOP_S_MAX = 1.0
GROWTH_MB_MAX = 24.0  # of 100,000 over 10,000
HEAVY = 150
SHORT = {"sqlite": 10_000, "postgres": 2_500}
SILENT = 900  # enough to outlast the beginning on a busy machine


Say = Callable[[str], None]


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Say:
    """Print a figure, and keep it in the report of the run."""

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        record_property("figure", text)

    return say


class Watch:
    """What was seen of a validation from outside."""

    def __init__(self) -> None:
        self.gap_s = 0.0
        self.updates = 0
        self.peak_mb = 0.0
        self.took_s = 0.0

    def __str__(self) -> str:
        return (
            f"{self.updates} updates in {self.took_s:.1f} s, longest gap {self.gap_s:.2f} s, "
            f"peak {self.peak_mb:.0f} MB"
        )


def rss_mb() -> float:
    """How much memory this process has in use."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


@contextmanager
def memory_watched(watch: Watch) -> Iterator[None]:
    """Note the largest memory of the block."""
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.02):
            watch.peak_mb = max(watch.peak_mb, rss_mb())

    gc.collect()
    watch.peak_mb = rss_mb()
    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def followed(db: sandbar.Database, within_s: float) -> tuple[ProcessView, Watch]:
    """A validation from its start to its end, and what was seen of it."""
    watch = Watch()
    with memory_watched(watch):
        began_s = last_s = clock.monotonic_s()
        id = db.workflows.start(VALIDATION, PART, principal="tester").process_id
        seen = ""
        while not (view := db.workflows.view(id)).is_complete:
            now_s = clock.monotonic_s()
            assert now_s - began_s < within_s
            if view.updated_at != seen:
                seen, last_s = view.updated_at, now_s
                watch.updates += 1
            watch.gap_s = max(watch.gap_s, now_s - last_s)
            clock.pause_s(0.01)
        watch.took_s = clock.monotonic_s() - began_s
    return view, watch


def stopping_s(db: sandbar.Database, after: int) -> float:
    """How long the activity goes on after somebody has cancelled it midway."""
    id = db.workflows.start(VALIDATION, PART, principal="tester").process_id
    until(lambda: (db.workflows.view(id).progress or {}).get("done", 0) >= after)
    began_s = clock.monotonic_s()
    db.workflows.cancel(id, principal="tester", reason="enough")
    until(lambda: is_idle(db))
    took_s = clock.monotonic_s() - began_s
    partial = found_by(db, id)
    assert partial.checked == partial.valid + partial.invalid < partial.total
    return took_s


def check_counts(view: ProcessView, count: int) -> None:
    """All were looked at, and the heavy ones found."""
    assert view.state == "validation/failed"
    counts = [view.result[name] for name in ("total", "checked", "valid", "invalid")]
    assert counts == [count, count, count - HEAVY, HEAVY]
    assert 0 < len(view.result["errors"]) <= 100


def test_thousands(place: Place, say: Say) -> None:
    count = SHORT[place.dialect]
    db = place.workspace_of_tests()
    make_parts(db, count, heavy=HEAVY)
    allow_up_to(db, 100)
    db.start_worker()
    view, watch = followed(db, 60)
    check_counts(view, count)
    assert watch.updates >= 2
    assert watch.gap_s <= GAP_S_MAX, watch
    stopped_s = stopping_s(db, 1)
    say(f"{place.dialect}, {count:,}: {watch}; stopped {stopped_s:.2f} s after the cancel")
    assert stopped_s <= STOP_S_MAX


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_hundred_thousand(place: Place, say: Say) -> None:
    db = place.open()
    make_parts(db, 10_000, heavy=HEAVY)
    allow_up_to(db, 100)
    db.start_worker()
    followed(db, 60)  # whatever is loaded once is loaded now
    small, few = followed(db, 60)
    check_counts(small, 10_000)
    more = place.open(db.workspace_name + "-more")
    make_parts(more, 100_000, heavy=HEAVY)
    allow_up_to(more, 100)
    gc.collect()
    before_mb = rss_mb()
    more.start_worker()
    large, many = followed(more, 600)
    check_counts(large, 100_000)
    stopped_s = [stopping_s(more, after) for after in (1, 20_000, 60_000)]
    say(f"{place.dialect}, 10,000: {few}")
    say(f"{place.dialect}, 100,000: {many}, {before_mb:.0f} MB before it began")
    say(f"{place.dialect}: stopped after {', '.join(f'{each:.2f} s' for each in stopped_s)}")
    assert many.gap_s <= GAP_S_MAX
    assert max(stopped_s) <= STOP_S_MAX
    assert many.peak_mb - max(few.peak_mb, before_mb) <= GROWTH_MB_MAX


def test_memory_is_really_measured() -> None:
    """Negative control: what is held is seen."""
    watch = Watch()
    before_mb = rss_mb()
    with memory_watched(watch):
        held = bytearray(60_000_000)
        held[::1000] = b"x" * len(held[::1000])
        clock.pause_s(0.2)
    assert watch.peak_mb - before_mb > GROWTH_MB_MAX


def test_silence_is_noticed(lite: sandbar.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a validation that tells nothing is one long gap."""
    for name, value in {"_PAGE_FIRST": 1, "_PAGE_MAX": 1, "_SAVE_EVERY_S": 0.0}.items():
        monkeypatch.setattr(validating, name, value)
    monkeypatch.setattr(jobs, "_PROGRESS_EVERY_S", 1000.0)
    make_parts(lite, SILENT)
    lite.start_worker()
    _, watch = followed(lite, 60)
    assert watch.gap_s > watch.took_s / 2, watch
