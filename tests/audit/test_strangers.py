"""Rows that somebody else writes under our run cost none of ours, and the log says so."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from sandbar.audit import Journal, Note, accompanied
from sandbar.errors import Fault, Unavailable
from sandbar.store.api import Store
from sandbar.store.numbering import Outcome
from tests.audit.conftest import OwnedPlace
from tests.audit.vandal import LACKING
from tests.store.conftest import new_workspace
from tests.store.writing import create

WAIT_S = 30.0


def forge(place: OwnedPlace, ws: int, run: int, *numbers: int) -> None:
    """Rows of nobody."""
    vandal = place.vandal()
    log = vandal.read([ws])
    row = LACKING | {"ws": ws, "run": run, "at_us": 1, "is_success": 1}
    row |= {"principal": "eve", "surface": "mcp", "method": "tools/call", "duration_us": 1}
    log.rows.extend(row | {"n": n} for n in numbers)
    vandal.write([ws], log)
    vandal.close()


def opened(journal: Journal, ws: int, id: str) -> Note:
    return journal.open(ws, "anna", surface="mcp", method="tools/call", request_id=id)


def kept(store: Store, ws: int) -> list[tuple[int, str | None]]:
    """The numbers and ids of all rows of our run."""
    found = store.trail.rows_of(ws, store.trail.run, after_n=0, limit=100)
    return [(row.n, row.request_id) for row in found]


def wait(journal: Journal, note: Note) -> None:
    journal.settle(note)


def wait_later(journal: Journal, note: Note) -> None:
    journal.settle_later(note).result(WAIT_S)


def at_once_or_wait(journal: Journal, note: Note) -> None:
    if not journal.settle_at_once([note]):
        journal.settle(note)


@pytest.mark.parametrize("settle", [wait, wait_later, at_once_or_wait])
def test_a_row_takes_the_next_number(
    place: OwnedPlace, caplog: pytest.LogCaptureFixture, settle: Callable[[Journal, Note], None]
) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    settle(journal, opened(journal, ws, "r-1"))
    assert not caplog.records
    forge(place, ws, store.trail.run, 2)
    note = opened(journal, ws, "r-2")
    with caplog.at_level(logging.ERROR):
        settle(journal, note)
    assert note.number == (store.trail.run, 3)
    assert kept(store, ws) == [(1, "r-1"), (2, None), (3, "r-2")]
    assert "audit.number-taken" in caplog.text
    assert store.trail.settled_n(ws) == 3


def test_a_row_that_rides_takes_the_next_number(
    place: OwnedPlace, caplog: pytest.LogCaptureFixture
) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    forge(place, ws, store.trail.run, 1)
    note = opened(journal, ws, "r-1")
    with caplog.at_level(logging.ERROR), accompanied(note):
        create(store, ws)
    journal.settle(note)
    assert kept(store, ws) == [(1, None), (2, "r-1")]
    assert "audit.number-taken" in caplog.text


def test_who_forges_on_and_on_is_not_outrun(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    forge(place, ws, store.trail.run, 1, 2, 3, 4)
    note = opened(journal, ws, "r-1")
    with pytest.raises(Unavailable) as caught:
        journal.settle(note)
    assert caught.value.code == "audit.unavailable"
    assert caught.value.data["because"] == "audit.number-taken"
    with pytest.raises(Fault, match="taken"), accompanied(note):
        create(store, ws)
    assert not note.is_kept
    journal.settle(note)
    assert kept(store, ws) == [*((n, None) for n in (1, 2, 3, 4)), (5, "r-1")]


def test_others_in_the_same_append_keep_their_rows(place: OwnedPlace) -> None:
    store = place.open()
    ws = new_workspace(store)
    forge(place, ws, store.trail.run, 2, 4)
    notes = [Note(ws, "anna", surface="mcp", method="x", request_id=f"r-{n}") for n in range(3)]
    with pytest.raises(Fault, match="taken"):
        store.trail.append(notes)
    assert [note.is_kept for note in notes] == [True, False, True]
    store.trail.append(notes)
    assert kept(store, ws) == [(1, "r-0"), (2, None), (3, "r-2"), (4, None), (5, "r-1")]


def test_our_own_row_of_an_earlier_try_is_not_a_stranger(
    place: OwnedPlace, caplog: pytest.LogCaptureFixture
) -> None:
    """Though it took less time then, and nobody knew that it would fail."""
    store = place.open()
    ws = new_workspace(store)
    note = Note(ws, "anna", surface="mcp", method="x", request_id="r-1")
    store.trail.append([note])
    numbers = vars(store.trail)["_numbers"]
    note.is_kept = False  # as after a commit whose answer was lost
    assert numbers._counts[ws].doubtful == {}
    numbers._counts[ws].writing[1] = 1
    numbers.end(note, Outcome.DOUBTFUL)
    note.is_success, note.code = False, "store.in-doubt"
    store.trail.append([note])
    assert note.is_kept
    assert kept(store, ws) == [(1, "r-1")]
    assert not caplog.records


def test_a_doubt_ends_with_a_stranger(place: OwnedPlace) -> None:
    """What a lost session has begun can no longer come, once another row has the number."""
    store = place.open()
    ws = new_workspace(store)
    numbers = vars(store.trail)["_numbers"]
    note = Note(ws, "anna", surface="mcp", method="x", request_id="r-1")
    numbers.begin(note)
    numbers.end(note, Outcome.DOUBTFUL)
    forge(place, ws, store.trail.run, 1)
    store.trail.append([note])
    assert kept(store, ws) == [(1, None), (2, "r-1")]
    assert store.trail.settled_n(ws) == 2
