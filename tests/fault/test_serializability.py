"""List-append histories from many threads and processes have a serial order that respects time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Say
from tests.fault.checker import Report, check
from tests.fault.lists import final_lists, open_all, prepare, read_histories
from tests.fault.zygote import Zygote

DEADLOCK_S = 60.0
TRANSACTIONS = 60  # of a thread: half of them show what a weakened run does
TRANSACTIONS_MIN = 50  # of a workspace


@dataclass
class Race:
    """Several processes with several threads each, on some workspaces of one database."""

    zygote: Zygote
    target: str
    folder: Path
    seed: str
    processes: int = 1
    threads: int = 8
    workspaces: int = 1
    transactions: int = TRANSACTIONS  # for each thread
    weak: bool = False

    def run(self) -> tuple[list[Report], str]:
        """Race, then judge each workspace by itself; returns a line of figures, too."""
        names = ["main", *(f"ws-{number}" for number in range(1, self.workspaces))]
        dbs = open_all(self.target, names)
        for db in dbs:
            prepare(db, self.transactions)
        outs = [self.folder / f"history-{number}" for number in range(self.processes)]
        children = [
            self.zygote.fork(
                "tests.fault.lists:run_lists",
                target=self.target,
                workspaces=names,
                out=str(out),
                seed=self.seed,
                process=number,
                threads=self.threads,
                transactions=self.transactions,
                weak=self.weak,
            )
            for number, out in enumerate(outs)
        ]
        statuses = [child.wait(DEADLOCK_S * max(1, self.transactions / 250)) for child in children]
        assert statuses == [0] * self.processes
        histories = read_histories(outs)
        reports = [
            check(histories[name], final_lists(db)) for name, db in zip(names, dbs, strict=True)
        ]
        dbs[0].close()
        every = [txn for history in histories.values() for txn in history]
        seconds = (max(t.ended for t in every) - min(t.begun for t in every)) / 1e9
        failed = sum(txn.outcome != "ok" for txn in every)
        return reports, (
            f"{len(every)} transactions ({failed} refused or failed on purpose) "
            f"in {seconds:.1f} s: {len(every) / seconds:.0f}/s; "
            f"anomalies {sum(len(found) for r in reports for found in r.anomalies.values())}"
        )


def assert_clean(race: Race, say: Say) -> None:
    """No anomaly of any kind in any workspace."""
    reports, figures = race.run()
    say(figures)
    for report in reports:
        assert report.transactions > TRANSACTIONS_MIN
        assert not report.anomalies, f"seed {race.seed}: {report.anomalies}"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return str(tmp_path / "lists.db")


def test_eight_threads_on_sqlite(
    zygote: Zygote, file: str, tmp_path: Path, seed: str, say: Say
) -> None:
    """One process, eight threads."""
    assert_clean(Race(zygote, file, tmp_path, seed), say)


def test_two_processes_on_sqlite(
    zygote: Zygote, file: str, tmp_path: Path, seed: str, say: Say
) -> None:
    """Two processes with four threads each on the same file."""
    race = Race(zygote, file, tmp_path, seed, processes=2, threads=4)
    assert_clean(race, say)


def test_three_processes_over_eight_workspaces_on_postgres(
    zygote: Zygote, postgres_app: str, tmp_path: Path, seed: str, say: Say
) -> None:
    """Three servers that all write to the same eight workspaces; none waits for ever."""
    race = Race(zygote, postgres_app, tmp_path, seed, processes=3, threads=4, workspaces=8)
    race.transactions = 80  # each workspace gets its share
    assert_clean(race, say)


def test_eight_threads_in_one_workspace_on_postgres(
    zygote: Zygote, postgres_app: str, tmp_path: Path, seed: str, say: Say
) -> None:
    """Two processes with four threads each that contend for one workspace."""
    race = Race(zygote, postgres_app, tmp_path, seed, processes=2, threads=4)
    assert_clean(race, say)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("store", ["file", "postgres_app"])
def test_a_weakened_run_is_caught(
    request: pytest.FixtureRequest,
    zygote: Zygote,
    tmp_path: Path,
    seed: str,
    say: Say,
    store: str,
    processes: int,
) -> None:
    """The negative control: read and write in two calls, and updates are lost."""
    target = request.getfixturevalue(store)
    threads = 8 // processes
    race = Race(zygote, target, tmp_path, seed, processes, threads, weak=True)
    race.transactions = TRANSACTIONS // 2  # hundreds of updates are lost
    (report,), figures = race.run()
    say(f"{figures}: { ({kind: len(found) for kind, found in report.anomalies.items()}) }")
    assert "lost" in report.anomalies


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_fifty_thousand_transactions(
    request: pytest.FixtureRequest, zygote: Zygote, tmp_path: Path, seed: str, say: Say, store: str
) -> None:
    """The long run of the test programme (I1)."""
    target = request.getfixturevalue("file" if store == "sqlite" else "postgres_app")
    race = Race(zygote, target, tmp_path, seed, processes=2, threads=4, transactions=6250)
    assert_clean(race, say)
