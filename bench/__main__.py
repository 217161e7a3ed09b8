"""The command line of the benchmark."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.console import Console

from bench.contest_tables import WIRE, WORKFLOW, print_contest
from bench.places import Place, PostgresPlace, SqlitePlace
from bench.population import Say
from bench.report import print_table, print_verdicts, write_json
from bench.results import Result
from bench.run import measure
from bench.settings import FULL, QUICK, Settings
from bench.wire.run import contest as wire_contest
from bench.workflow.run import contest as workflow_contest
from tests.postgres_server import PostgresServer

SIZES = [1_000, 100_000, 1_000_000]
QUICK_SIZES = [1_000, 10_000]
_WIDTH = 140  # the table is as wide as that, whatever the terminal says
_SILENCE_S = 5.0
_WORDS = {"wire": WIRE, "workflow": WORKFLOW}


class _Part(NamedTuple):
    """What a contest has shown, and what a reader should know of it."""

    results: list[Result]
    remarks: list[str]


def main() -> None:
    """Measure, print, write; a run that breaks off shows what it has measured until then."""
    arguments = _arguments()
    console, start = Console(), time.perf_counter()
    console.width = max(console.width, _WIDTH)
    stores: list[Result] = []
    contests: dict[str, _Part] = {}
    remark = "syncs were not measured"
    try:
        with tempfile.TemporaryDirectory(prefix="sandbar-bench-") as name:
            remark = f"one sync of this disk takes {_sync_ms(Path(name)):.2f} ms"
            for store in _stores(arguments):
                stores.extend(_measured(console, store, Path(name), arguments))
            for part in _contests(arguments):
                contests[part] = _contest(console, part, Path(name), arguments)
    finally:
        minutes = (time.perf_counter() - start) / 60
        general = [remark, f"the run took {minutes:.1f} minutes"]
        if stores:
            print_table(console, stores, "; ".join(general))
        for part, (results, remarks) in contests.items():
            print_contest(console, _WORDS[part], results, "; ".join(remarks + general))
        everything = stores + [one for each in contests.values() for one in each.results]
        print_verdicts(console, everything)
        if arguments.json is not None:
            write_json(arguments.json, everything)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", choices=["stores", *_WORDS], help="one part of the benchmark")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--sizes", type=_sizes, help="such as 1000,100000,1000000")
    parser.add_argument("--quick", action="store_true", help="small sizes, short rounds")
    parser.add_argument("--json", type=Path, help="a file for the results")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


def _stores(arguments: argparse.Namespace) -> list[str]:
    if arguments.only not in (None, "stores"):
        return []
    return ["sqlite", "postgres"] if arguments.store == "both" else [arguments.store]


def _contests(arguments: argparse.Namespace) -> list[str]:
    return [part for part in _WORDS if arguments.only in (None, part)]


def _contest(console: Console, part: str, folder: Path, arguments: argparse.Namespace) -> _Part:
    settings: Settings = QUICK if arguments.quick else FULL
    if part == "wire":
        with _progress(console, "MCP") as say:
            outcome = wire_contest(settings, folder, say)
        return _Part(list(outcome.results()), outcome.remarks())
    with _progress(console, "workflows") as say:
        driven = workflow_contest(settings, folder, say)
    return _Part(list(driven.results()), driven.field.remarks)


def _measured(
    console: Console, store: str, folder: Path, arguments: argparse.Namespace
) -> Iterator[Result]:
    settings: Settings = QUICK if arguments.quick else FULL
    sizes = arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES)
    with _place(store, folder) as place, _progress(console, store) as say:
        for result in measure(place, sizes, settings, folder, say):
            yield result
            if result.figure is not None:
                say(f"  {result.what}: {result.figure:.2f}{result.unit} {result.verdict}")


@contextmanager
def _progress(console: Console, store: str) -> Iterator[Say]:
    """What is being done: always on the status line, and printed when it has been silent."""
    start = printed = time.perf_counter()

    with console.status(f"measuring {store}") as status:

        def say(text: str) -> None:
            nonlocal printed
            status.update(text)
            now = time.perf_counter()
            if text.startswith("  ") or now - printed > _SILENCE_S:
                printed = now
                console.print(f"{now - start:6.1f} s  {text}", style="dim", highlight=False)

        yield say


@contextmanager
def _place(store: str, folder: Path) -> Iterator[Place]:
    if store == "sqlite":
        yield SqlitePlace(folder)
        return
    with PostgresServer() as server:
        yield PostgresPlace(server)


def _sync_ms(folder: Path) -> float:
    """What the disk needs to make one page durable: the floor under every durable write."""
    with (folder / "sync").open("wb", buffering=0) as file:
        times = []
        for _ in range(100):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return median(times) * 1_000


if __name__ == "__main__":
    main()
