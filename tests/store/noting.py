"""Words for the audit: notes, and the rows that became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandbar.store.answer import Answer
from sandbar.store.api import Store
from sandbar.store.trail import AuditRow, Note, accompanied
from tests.store.writing import WAIT_S, Gate, Work


def note(ws: int, id: object = "r", **given: Any) -> Note:
    """A request of Anna's."""
    return Note(ws, "ann", surface="mcp", method="tools/call", request_id=str(id), **given)


def notes(ws: int, count: int) -> list[Note]:
    """Several, each with an id of its own."""
    return [note(ws, n) for n in range(count)]


def accompany(store: Store, ws: int, work: Work, note: Note, **options: Any) -> Answer[Any]:
    """Queue a write in the name of a request."""
    with accompanied(note):
        return store.submit(ws, work, **options)


def together_with(
    store: Store, ws: int, pairs: list[tuple[Work, Note]]
) -> list[BaseException | None]:
    """Run writes in one batch, each in the name of its request; how each ended."""
    gate = Gate(store, ws)
    answers = [accompany(store, ws, work, note) for work, note in pairs]
    gate.open()
    gate.future.result(WAIT_S)
    return [answer.exception(WAIT_S) for answer in answers]


def everything(store: Store, ws: int) -> list[AuditRow]:
    """All rows of a workspace, oldest run first."""
    trail = store.trail
    return [
        row
        for run, last_n, _ in trail.runs(ws)
        for row in trail.rows_of(ws, run, after_n=0, last_n=last_n, limit=1_000_000)
    ]


def ids(store: Store, ws: int) -> list[str | None]:
    """The ids of the requests that have rows, sorted; one with two rows comes twice."""
    return sorted((row.request_id for row in everything(store, ws)), key=str)


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Run all of them in threads of their own; whatever one raises is raised here."""
    with ThreadPoolExecutor(len(calls)) as threads:
        for call in [threads.submit(call) for call in calls]:
            call.result(2 * WAIT_S)
