"""Logs to verify: several runs in two workspaces, sealed at random moments, with unused numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from sandbar.audit import Journal, Note, accompanied
from sandbar.audit.sealing import Sealer
from sandbar.errors import Problem
from sandbar.store.api import Store
from tests.store.conftest import Place, new_workspace
from tests.store.writing import creating, write

VERBS = ("entity.get", "entity.create", "class.list", None)
PRINCIPALS = ("service/claude", "user/anna", "user/öre", "local")
UNSTORABLE = "\udfff"


class Written(NamedTuple):
    """A log that was written and sealed in good order."""

    spaces: list[int]
    rows: int
    runs: list[int]


def random_note(journal: Journal, ws: int, rng: random.Random) -> Note:
    """A request that has just ended, one way or another."""
    note = journal.open(
        ws,
        rng.choice(PRINCIPALS),
        key=rng.choice((None, "key/laptop")),
        surface=rng.choice(("mcp", "library")),
        method=rng.choice(("tools/call", "tools/list", "GET /mcp")),
        verb=rng.choice(VERBS),
        request_id=rng.choice((None, f"r-{rng.randrange(10**6)}")),
    )
    if rng.random() < 0.3:
        note.is_success, note.code = False, rng.choice(("entity.unknown", "limit.exceeded"))
    return note


def leave_gap(store: Store, note: Note) -> None:
    """Use up a number: the note's row goes with a write that the database refuses."""
    with pytest.raises(Problem), accompanied(note):
        write(store, note.ws, creating(doc=UNSTORABLE))
    assert not note.is_kept


def write_rows(
    store: Store, journal: Journal, spaces: Sequence[int], rng: random.Random, rows: int
) -> None:
    """Rows in all workspaces; now and then a number is lost, now and then a seal is made."""
    sealer = Sealer(store, lambda: None)
    for _ in range(rows):
        note = random_note(journal, rng.choice(spaces), rng)
        if rng.random() < 0.05:
            leave_gap(store, note)
        journal.settle(note)
        if rng.random() < 0.08:
            sealer.seal_own()


def write_log(place: Place, rng: random.Random, *, rows: int = 60) -> Written:
    """Three runs, two of them side by side; each ends in good order."""
    stores: list[Store] = [place.open() for _ in range(3)]
    spaces = [new_workspace(stores[0]), new_workspace(stores[0])]
    journals = [Journal(store) for store in stores]
    for _ in range(4):
        for store, journal in zip(stores[:2], journals[:2], strict=True):
            write_rows(store, journal, spaces, rng, rows // 4)
    journals[0].close()
    write_rows(stores[2], journals[2], spaces, rng, rows)
    for journal in journals[1:]:
        journal.close()
    return Written(spaces, 3 * rows, [journal.trail.run for journal in journals])
