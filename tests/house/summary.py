"""The figures as a table, printed at the end of every run that looks at the house."""

from __future__ import annotations

from collections.abc import Callable

from tests.house.limits import FIGURES, Figure


def write_figures(write_line: Callable[[str], None]) -> None:
    """Print one line per figure: value, limit, and for sizes where the largest is."""
    write_line("")
    write_line("the house in figures".ljust(36) + "now".rjust(6) + "limit".rjust(8))
    for figure in FIGURES:
        write_line(_row(figure))


def _row(figure: Figure) -> str:
    value = figure.value()
    row = f"{figure.name:<36}{value:>6}{figure.limit:>8}"
    if figure.is_size and figure.places():
        largest = figure.places()[0]
        row += f"  {largest.path}" + largest.what.removeprefix("lines").replace(" of ", " ")
    return row + ("  <- too many" if value > figure.limit else "")
