"""Exporting: the whole log as JSON objects, in the order of the chain, with its head at the end.

Each seal stands behind the rows that it covers, so whoever has the file can verify it without us.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_type_hints

from sandbar.audit.chain import head_of
from sandbar.audit.verifying import PAGE_ROWS
from sandbar.clock import instant_text
from sandbar.model import AuditRow, Seal, Trail

_PAGE_SEALS = 500
_NAMES = {"at_us": "at", "is_success": "success"}  # the others are called like their columns
_TYPES = {"at_us": str}

# What a row is shown to have, by name, in the order of its columns.
SHOWN: dict[str, Any] = {
    _NAMES.get(column, column.replace("_", "-")): _TYPES.get(column, kind)
    for column, kind in get_type_hints(AuditRow).items()
}


def export(trail: Trail, ws: int, name: str) -> Iterator[dict[str, Any]]:
    """Every row and every seal of a workspace, oldest first.

    The last object is the head, with the workspace's name, and its number, which seals have.
    """
    sealed_to: dict[int, int] = {}
    last: Seal | None = None
    rows = unsealed = seals = 0
    after = 0
    while page := trail.seals(ws, after=after, limit=_PAGE_SEALS):
        for last in page:
            # From where the seal before it ended, so that no row is left out or comes twice.
            for row in _rows(trail, ws, last.run, sealed_to.get(last.run, 0), last.last_n):
                rows += 1
                yield row_object(row)
            sealed_to[last.run] = max(sealed_to.get(last.run, 0), last.last_n)
            seals += 1
            yield _seal_object(last)
        after = page[-1].number
    for run, last_n, _ in trail.runs(ws):
        for row in _rows(trail, ws, run, sealed_to.get(run, 0), last_n):
            rows += 1
            unsealed += 1
            yield row_object(row)
    which = {"workspace": name, "workspace-number": ws}
    yield {"head": head_of(last), **which, "rows": rows, "seals": seals, "unsealed": unsealed}


def _rows(trail: Trail, ws: int, run: int, after_n: int, last_n: int) -> Iterator[AuditRow]:
    while after_n < last_n and (
        page := trail.rows_of(ws, run, after_n=after_n, last_n=last_n, limit=PAGE_ROWS)
    ):
        yield from page
        after_n = page[-1].n


def row_object(row: AuditRow) -> dict[str, Any]:
    """A row for those who read JSON; what it lacks is null. A seal covers these values, in order.

    A column that was added later is left out of the rows that it is left out of for their seals.
    """
    shown = dict(zip(SHOWN, row.sealed(), strict=False))
    shown["at"] = instant_text(row.at_us)
    return shown


def _seal_object(seal: Seal) -> dict[str, Any]:
    return {
        "seal": seal.number,
        "run": seal.run,
        "first-n": seal.first_n,
        "last-n": seal.last_n,
        "count": seal.count,
        "at": instant_text(seal.at_us),
        "hash": seal.hash.hex(),
    }
