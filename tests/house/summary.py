"""The figures as a table, printed at the end of every run that has measured them."""

from __future__ import annotations

from collections.abc import Callable

from tests.house.limits import Figure

HOUSE_FIGURE = "house figure"  # the property of a report that brings a row of the table


def write_figures(write_line: Callable[[str], None], rows: list[str]) -> None:
    """Print one line per figure."""
    write_line("")
    write_line("the house in figures".ljust(36) + "now".rjust(6) + "limit".rjust(8))
    for row in rows:
        write_line(row)


def row_of(figure: Figure) -> str:
    """Its value and limit, and for sizes where the largest is."""
    value = figure.value()
    row = f"{figure.name:<36}{value:>6}{figure.limit:>8}"
    if figure.is_size and figure.places():
        largest = figure.places()[0]
        row += f"  {largest.path}" + largest.what.removeprefix("lines").replace(" of ", " ")
    return row + ("  <- too many" if value > figure.limit else "")
