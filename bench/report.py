"""The report: one table for people, JSON for programs."""

from __future__ import annotations

from pathlib import Path

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table

from bench.results import Result

STYLES = {"met": "green", "missed": "bold red", "": ""}


def write_json(path: Path, results: list[Result]) -> None:
    """All lines, for programs."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=2) + b"\n")


def print_table(console: Console, results: list[Result], remark: str) -> None:
    """All lines, for people."""
    table = Table(box=box.SIMPLE_HEAD, title="Sandbar against the bare drivers", caption=remark)
    table.add_column("measurement")
    for name in ("entities", "ours /s", "other /s", "", "figure", "spread", "bar"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    place = ("", 0)
    for result in results:
        if (result.store, result.size) != place:
            place = (result.store, result.size)
            table.add_section()
            table.add_row(f"[bold]{result.store}, {result.size:,} entities[/]")
        table.add_row(*_cells(result), style=STYLES[result.verdict])
    console.print(table)


def print_verdicts(console: Console, results: list[Result]) -> None:
    """How many bars were met."""
    judged = [result for result in results if result.verdict]
    missed = [result for result in judged if result.verdict == "missed"]
    console.print(f"{len(judged) - len(missed)} of {len(judged)} bars met, {len(missed)} missed")


def _cells(result: Result) -> list[str]:
    return [
        result.what,
        f"{result.size:,}",
        _rate(result.ours),
        _rate(result.other),
        result.against,
        *bar_cells(result),
    ]


def bar_cells(result: Result) -> list[str]:
    """The figure, its spread over the rounds, the bar and the verdict."""
    spread = ""
    if result.low is not None and result.high is not None:
        spread = f"{result.low:.2f}-{result.high:.2f}"
    return [
        "" if result.figure is None else f"{result.figure:.2f}{result.unit}",
        spread,
        str(result.bar or ""),
        result.verdict,
    ]


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f}"
