"""A tiny run on each store measures everything; planted defects are called missed.

Speeds are not asserted: on a busy machine they would say nothing. Memory is.
"""

from __future__ import annotations

import mmap
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

import bench.__main__ as program
from bench.measures.memory import Growth, Watch, result_of
from bench.results import Bar, Result, slowdown, speed, verdict
from bench.settings import GROWTH_AT_MOST_MB
from bench.timing import Contest, alternate
from tests.bench.running import run_apart, run_here
from tests.postgres_server import PostgresServer

SIZES = (100, 300)
_SIZES = ",".join(map(str, SIZES))
# Per transaction of a tiny run. The first is more than the smaller size may grow by, so that its
# copy is made anew for every round; on PostgreSQL, where that is dear, `test_ground` shows it.
BULK = {"sqlite": 150, "postgres": 50}

EVERYWHERE = {
    *("load", "get", "get-ident", "query-equal", "query-range", "memory"),
    *("past-get", "past-query-equal", "past-query-range"),
    *("create", "create-threads", "create-bulk"),
}
IN_THE_LARGER = {"flat-get", "flat-query-equal", "flat-query-range"}
WITHOUT_BAR = {"load", "get-ident", "query-equal", "query-range", "create"}


def assert_everything_is_measured(results: list[Result], printed: str, store: str) -> None:
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


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_tiny_run_measures_everything(
    store: str,
    tmp_path: Path,
    postgres_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(program, "PostgresServer", lambda: nullcontext(postgres_server))
    monkeypatch.setattr("bench.measures.creates.BULK", BULK[store])
    words = ("--only", "stores", "--store", store, "--sizes", _SIZES)
    results, printed = run_here(tmp_path / "results.json", capsys, monkeypatch, *words)
    assert_everything_is_measured(results, printed, store)


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_quick_run_measures_everything(store: str, tmp_path: Path) -> None:
    words = ("--only", "stores", "--store", store, "--sizes", _SIZES)
    results, printed = run_apart(tmp_path / "results.json", *words)
    assert_everything_is_measured(results, printed, store)


# --- negative controls -----------------------------------------------------------------------


def after(seconds: float) -> int:
    time.sleep(seconds)
    return 1


@pytest.fixture(scope="module")
def contest_with_a_slow_one() -> Contest:
    """Ours waits, the other does nothing."""
    return alternate(lambda: after(0.1), lambda: 1, rounds=3)


def test_a_slow_subject_misses_its_bar(contest_with_a_slow_one: Contest) -> None:
    result = speed(
        contest_with_a_slow_one,
        store="planted",
        size=1,
        key="slow",
        what="slow",
        bar=Bar("at least", 0.35),
    )
    assert result.verdict == "missed"


def test_a_subject_that_slows_down_misses_its_bar(contest_with_a_slow_one: Contest) -> None:
    result = slowdown(
        contest_with_a_slow_one,
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
