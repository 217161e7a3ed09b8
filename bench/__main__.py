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

from rich.console import Console

from bench.places import Place, PostgresPlace, SqlitePlace
from bench.population import Say
from bench.report import print_table, print_verdicts, write_json
from bench.results import Result
from bench.run import measure
from bench.settings import FULL, QUICK, Settings
from bench.wire.run import contest
from bench.wire.table import print_wire_tables
from tests.postgres_server import PostgresServer

SIZES = {"sqlite": [1_000, 100_000, 1_000_000], "postgres": [1_000, 100_000]}
QUICK_SIZES = [1_000, 10_000]
_WIDTH = 140  # the table is as wide as that, whatever the terminal says
_SILENCE_S = 5.0


def main() -> None:
    """Measure, print, write; a run that breaks off shows what it has measured until then."""
    arguments = _arguments()
    console, start = Console(), time.perf_counter()
    console.width = max(console.width, _WIDTH)
    stores: list[Result] = []
    wire: list[Result] = []
    remark = "syncs were not measured"
    wire_remarks: list[str] = []
    try:
        with tempfile.TemporaryDirectory(prefix="sandbar-bench-") as name:
            remark = f"one sync of this disk takes {_sync_ms(Path(name)):.2f} ms"
            for store in _stores(arguments):
                stores.extend(_measured(console, store, Path(name), arguments))
            if arguments.only != "stores":
                wire.extend(_wire(console, Path(name), arguments, wire_remarks))
    finally:
        minutes = (time.perf_counter() - start) / 60
        if stores:
            print_table(console, stores, f"{remark}; the run took {minutes:.1f} minutes")
        if wire:
            wire_remarks += [remark, f"the run took {minutes:.1f} minutes"]
            print_wire_tables(console, wire, "; ".join(wire_remarks))
        print_verdicts(console, stores + wire)
        if arguments.json is not None:
            write_json(arguments.json, stores + wire)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--only", choices=["stores", "wire"], help="one half of the benchmark")
    parser.add_argument("--store", choices=["sqlite", "postgres", "both"], default="both")
    parser.add_argument("--sizes", type=_sizes, help="such as 1000,100000,1000000")
    parser.add_argument("--quick", action="store_true", help="small sizes, short rounds")
    parser.add_argument("--json", type=Path, help="a file for the results")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


def _stores(arguments: argparse.Namespace) -> list[str]:
    if arguments.only == "wire":
        return []
    return ["sqlite", "postgres"] if arguments.store == "both" else [arguments.store]


def _wire(
    console: Console, folder: Path, arguments: argparse.Namespace, remarks: list[str]
) -> Iterator[Result]:
    settings: Settings = QUICK if arguments.quick else FULL
    with _progress(console, "MCP") as say:
        outcome = contest(settings, folder, say)
    remarks += outcome.remarks()
    yield from outcome.results()


def _measured(
    console: Console, store: str, folder: Path, arguments: argparse.Namespace
) -> Iterator[Result]:
    settings: Settings = QUICK if arguments.quick else FULL
    sizes = arguments.sizes or (QUICK_SIZES if arguments.quick else SIZES[store])
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
