"""A short contest for real, and planted contestants that do not do their work: none is measured.

Speeds are not asserted: on a busy machine they would say nothing. That there are any is.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from bench.results import Result
from bench.settings import QUICK
from bench.workflow.entrants import OURS, Contestant, ContestantError, Entrant, Field, line_up
from bench.workflow.messages import STEPS, Counted
from bench.workflow.outcome import THREADS, Outcome, Round, Traffic
from bench.workflow.run import check
from bench.workflow.traffic import counted
from tests.bench.running import run_apart, run_here
from tests.postgres_server import PostgresServer, new_directory

ON_POSTGRES = {"sandbar-postgres", "sandbar-guarded"}
SANDBAR = ON_POSTGRES | {"sandbar-sqlite"}
FEW = {"sandbar-postgres", "sandbar-sqlite"}
DBOS = {"dbos-plain", "dbos-tuned"}
has_dbos = find_spec("dbos") is not None  # installed by `make bench` only: there or not


def assert_measured(decoded: list[Result], printed: str, ours: set[str], theirs: set[str]) -> None:
    results = {(one.key, one.size): one for one in decoded}
    assert len(results) == len(decoded)
    assert {one.store for one in decoded} == {"workflow"}
    rates = {place: one for place, one in results.items() if one.p50_ms is not None}
    entrants = ours | theirs
    assert set(rates) == {(key, threads) for key in entrants for threads in THREADS}
    for one in rates.values():
        assert one.ours is not None
        assert one.p50_ms is not None
        assert one.p99_ms is not None
        assert one.cpu_us is not None
        assert one.ours > 1
        assert 0 < one.p50_ms <= one.p99_ms
        # One process at a time: those of a second cannot take longer than a second.
        assert one.size > 1 or one.ours * one.p50_ms < 3_000
        assert 100 < one.cpu_us < 1_000_000
        assert one.what in printed
    figures = {place: one for place, one in results.items() if one.p50_ms is None}
    wired = entrants - {"sandbar-sqlite"}
    ratios = {f"{key}-against-dbos" for key in ours} if theirs else set()
    assert {key for key, _ in figures} == ratios | {
        f"{kind}-{key}" for kind in ("trips", "statements") for key in wired
    }
    for key in wired:
        # A durable step asks at least once, and nobody makes a round trip for nothing.
        trips, statements = figures[f"trips-{key}", 1], figures[f"statements-{key}", 1]
        assert 1 <= (trips.figure or 0) < 50
        assert 1 <= (statements.figure or 0) < 50
    judged = {place for place, one in results.items() if one.bar is not None}
    assert judged == {(key, n) for key in ratios & {f"{OURS}-against-dbos"} for n in THREADS}
    assert ("DBOS is not installed" in printed) != has_dbos


def without_guarded(server: PostgresServer, folder: Path) -> Field:
    field = line_up(server, folder)
    return field._replace(entrants=[each for each in field.entrants if each.key in FEW])


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """One that nobody else uses: how much it computes is measured."""
    directory = new_directory(Path(os.environ["PYTEST_DEBUG_TEMPROOT"]))
    with PostgresServer(directory) as server:
        yield server
    shutil.rmtree(directory, ignore_errors=True)


def test_a_tiny_run_measures_us(
    tmp_path: Path,
    own_server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("bench.workflow.run.PostgresServer", lambda: nullcontext(own_server))
    monkeypatch.setattr("bench.workflow.run.line_up", without_guarded)
    file = tmp_path / "results.json"
    results, printed = run_here(file, capsys, monkeypatch, "--only", "workflow")
    assert_measured(results, printed, FEW, set())


@pytest.mark.long
@pytest.mark.timeout(300)  # up to nine programs start, on whatever the machine has left
def test_a_quick_run_measures_everybody(tmp_path: Path) -> None:
    results, printed = run_apart(tmp_path / "results.json", "--only", "workflow")
    assert_measured(results, printed, SANDBAR, DBOS if has_dbos else set())


# --- traffic ---------------------------------------------------------------------------------


def test_round_trips_and_statements_are_counted(fresh_postgres: str) -> None:
    with counted(fresh_postgres) as (url, counter):
        assert url != fresh_postgres
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            trips, statements = counter.trips, counter.statements
            for number in range(5):
                connection.execute("SELECT %s", [number])
            assert (counter.trips - trips, counter.statements - statements) == (5, 5)
            connection.execute("SELECT 1")  # a simple query is one message, and one trip
            assert (counter.trips - trips, counter.statements - statements) == (6, 6)
            with connection.transaction():
                connection.execute("SELECT 1")
            assert (counter.trips - trips, counter.statements - statements) == (9, 9)
            with connection.pipeline():
                for number in range(20):
                    connection.execute("SELECT %s", [number])
            assert counter.statements - statements == 29
            assert counter.trips - trips <= 12


# --- negative controls -----------------------------------------------------------------------


def python(source: str) -> list[str]:
    return [sys.executable, "-c", source]


READY = 'print(\'{"finished":0,"steps":0}\', flush=True)\ninput()\n'


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "planted answered b''"),
        ("print('ready')", "planted answered b'ready"),
        ("raise SystemExit(1)", "planted answered b''"),
    ],
)
def test_a_program_that_does_not_start_is_refused(source: str, said: str) -> None:
    with pytest.raises(ContestantError, match=said):
        Contestant("planted", python(source))


@pytest.mark.parametrize("reply", ["", "print('[]')", "print('{\"seconds\": 1}')"])
def test_a_program_that_breaks_off_is_refused(reply: str) -> None:
    contestant = Contestant("planted", python(READY + reply))
    try:
        with pytest.raises(ContestantError, match="planted answered"):
            contestant.drive(1, 0.01)
    finally:
        contestant.end()


def test_a_process_that_is_not_recorded_is_noticed() -> None:
    entrant = Entrant("x", "planted", "", "")
    check(entrant, Counted(10, 10 * STEPS), 10)
    for found in (Counted(9, 10 * STEPS), Counted(10, 10 * STEPS - 1), Counted(11, 11 * STEPS)):
        with pytest.raises(ContestantError, match="planted: "):
            check(entrant, found, 10)


def judged(rate: int, other: int) -> dict[tuple[str, int], Result]:
    """The ratios of an invented contest."""
    keys = (*sorted(SANDBAR), *sorted(DBOS))
    entrants = [Entrant(key, key, "", "") for key in keys]
    outcome = Outcome(Field(entrants, []))
    for each in entrants:
        speed = {"dbos-plain": other // 2, "dbos-tuned": other}.get(each.key, rate)
        for threads in THREADS:
            for _ in range(QUICK.workflow_rounds):
                one = Round(1.0, [0.001] * speed, cpu_seconds=0.9)
                outcome.note(each, threads, one, counts=True)
        outcome.traffic[each.key] = Traffic(2.0, 3.0)
    assert outcome.run_by[OURS] == rate * QUICK.workflow_rounds * len(THREADS)
    ratios = {(one.key, one.size): one for one in outcome.results() if one.against}
    assert {one.against for one in ratios.values()} == {"dbos-tuned"}  # the faster way
    for ratio in ratios.values():
        assert ratio.figure == pytest.approx(rate / other)
        assert ratio.by_cpu == pytest.approx(rate / other)
    return ratios


def test_verdicts() -> None:
    good, bad = judged(1_000, 1_000), judged(990, 1_000)
    for ratios, verdict in ((good, "met"), (bad, "missed")):
        verdicts = {place: one.verdict for place, one in ratios.items() if one.verdict}
        assert verdicts == {(f"{OURS}-against-dbos", threads): verdict for threads in THREADS}
