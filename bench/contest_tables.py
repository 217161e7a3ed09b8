"""The report of a contest: what everybody does, then how we compare."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from bench.report import STYLES, bar_cells
from bench.results import Result


class Words(NamedTuple):
    """What the tables of a contest say."""

    rates_title: str
    ratios_title: str
    load: str  # of which there are one, eight, …
    load_short: str
    done: str


WIRE = Words(
    "Sandbar over MCP: calls per second, latencies in ms, the server's processor time per call",
    "Sandbar over MCP: compared",
    "connections",
    "conn.",
    "calls",
)
WORKFLOW = Words(
    "Processes of four steps: finished per second, latencies in ms, processor time of each",
    "Processes of four steps: compared",
    "threads",
    "thr.",
    "procs",
)


def print_contest(console: Console, words: Words, results: list[Result], remark: str) -> None:
    """All lines, for people."""
    rates = [result for result in results if result.p50_ms is not None]
    figures = [result for result in results if result.p50_ms is None]
    console.print(_rates_table(words, rates))
    console.print(_figures_table(words, figures, remark))


def _rates_table(words: Words, rates: list[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=words.rates_title)
    table.add_column(words.load)
    by_entrant: dict[str, list[Result]] = {}
    for result in rates:
        by_entrant.setdefault(result.key, []).append(result)
    for size in sorted({result.size for result in rates}):
        for name in (f"{size}: {words.done}/s", "p50", "p99"):
            table.add_column(name, justify="right")
    table.add_column("CPU µs", justify="right")
    server = ""
    for key, lines in by_entrant.items():
        if key.partition("-")[0] != server:
            server = key.partition("-")[0]
            table.add_section()
        cells = [cell for line in lines for cell in _rate_cells(line)]
        table.add_row(lines[0].what, *cells, f"{median(line.cpu_us or 0 for line in lines):,.0f}")
    return table


def _rate_cells(result: Result) -> list[str]:
    assert result.ours is not None
    assert result.p50_ms is not None
    assert result.p99_ms is not None
    return [f"{result.ours:,.0f}", f"{result.p50_ms:.2f}", f"{result.p99_ms:.2f}"]


def _figures_table(words: Words, figures: list[Result], remark: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=words.ratios_title, caption=remark)
    table.add_column("measurement")
    table.add_column(words.load_short, justify="right")
    table.add_column("against")
    for name in ("by CPU", "figure", "spread", "bar"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    has_ratios = False
    for result in figures:
        if bool(result.against) != has_ratios:
            has_ratios = bool(result.against)
            table.add_section()
        size = str(result.size) if result.against else ""
        table.add_row(
            *(result.what, size, result.against),
            "" if result.by_cpu is None else f"{result.by_cpu:.2f}×",
            *bar_cells(result),
            style=STYLES[result.verdict],
        )
    return table
