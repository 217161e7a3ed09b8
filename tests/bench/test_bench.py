"""A tiny run on each store measures everything; planted defects are called missed.

Speeds are not asserted: on a busy machine they would say nothing. Memory is.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from bench.measures.memory import Growth, Watch, result_of
from bench.results import Bar, Result, slowdown, speed, verdict
from bench.settings import GROWTH_AT_MOST_MB
from bench.timing import Contest, alternate

ROOT = Path(__file__).parents[2]
SIZES = (100, 300)

EVERYWHERE = {
    *("load", "get", "get-ident", "query-equal", "query-range", "memory"),
    *("past-get", "past-query-equal", "past-query-range"),
    *("create", "create-threads", "create-bulk"),
}
IN_THE_LARGER = {"flat-get", "flat-query-equal", "flat-query-range"}
WITHOUT_BAR = {"load", "get-ident", "query-equal", "query-range", "create"}


def run_bench(store: str, file: Path) -> str:
    sizes = ",".join(map(str, SIZES))
    command = [sys.executable, "-m", "bench", "--quick", "--only", "stores"]
    command += ["--store", store, "--sizes", sizes]
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [*command, "--json", str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_quick_run_measures_everything(store: str, tmp_path: Path) -> None:
    printed = run_bench(store, tmp_path / "results.json")
    results = msgspec.json.decode((tmp_path / "results.json").read_bytes(), type=list[Result])
    assert {result.store for result in results} == {store}
    keys = [(result.size, result.key) for result in results]
    assert len(keys) == len(set(keys))
    small, large = ({key for at, key in keys if at == size} for size in SIZES)
    assert small == EVERYWHERE
    assert large == EVERYWHERE | IN_THE_LARGER
    for result in results:
        assert result.ours is not None
        assert result.ours > 0
        assert (result.bar is None) == (result.key in WITHOUT_BAR)
        assert (result.verdict == "") == (result.bar is None)
        assert result.what in printed
        if result.key == "memory":
            assert result.verdict == "met"


# --- negative controls -----------------------------------------------------------------------


def after(seconds: float) -> int:
    time.sleep(seconds)
    return 1


def contest_with_a_slow_one() -> Contest:
    return alternate(lambda: after(0.2), lambda: after(0.001), rounds=3)


def test_a_slow_subject_misses_its_bar() -> None:
    result = speed(
        contest_with_a_slow_one(),
        store="planted",
        size=1,
        key="slow",
        what="slow",
        bar=Bar("at least", 0.35),
    )
    assert result.verdict == "missed"


def test_a_subject_that_slows_down_misses_its_bar() -> None:
    result = slowdown(
        contest_with_a_slow_one(),
        store="planted",
        size=1,
        key="slow",
        what="slow",
        against="now",
        bar=Bar("at most", 3.0),
    )
    assert result.verdict == "missed"


def test_a_growing_subject_misses_its_bar() -> None:
    watch = Watch()
    # Pages of its own: the interpreter may still have room from tests before.
    with mmap.mmap(-1, (int(GROWTH_AT_MOST_MB) + 14) << 20) as kept:
        kept.write(bytes(len(kept)))
        growth = watch.stop()
    assert result_of(Growth(1, 1.0, watch.start_mb, growth), "planted").verdict == "missed"


def test_what_was_let_go_again_counts_too() -> None:
    watch = Watch()
    with mmap.mmap(-1, 80 << 20) as kept:
        kept.write(bytes(len(kept)))
        time.sleep(0.2)
    assert watch.stop() > GROWTH_AT_MOST_MB


@pytest.mark.parametrize(
    ("figure", "bar", "expected"),
    [
        (0.35, Bar("at least", 0.35), "met"),
        (0.34, Bar("at least", 0.35), "missed"),
        (1.5, Bar("at most", 1.5), "met"),
        (1.51, Bar("at most", 1.5), "missed"),
        (0.0, None, ""),
    ],
)
def test_verdicts(figure: float, bar: Bar | None, expected: str) -> None:
    assert verdict(figure, bar) == expected
