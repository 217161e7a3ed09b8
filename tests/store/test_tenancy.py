"""No number reaches another workspace.

SQLite keeps workspace and id in one number, so an id beyond its range names a row of a neighbour
unless every look asks for the workspace, too.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from sandbar.store.api import Snapshot, Store
from sandbar.store.pieces import Change
from sandbar.store.plan import Transaction
from sandbar.store.rows import Row
from sandbar.store.scan import Between, Equals, Found, Scan
from tests.store.conftest import new_workspace
from tests.store.writing import create, current, write

IDS = 1 << 40  # how many ids SQLite has for each workspace
SLOT, KEY = 5, b"k"
VALUE = (SLOT, KEY)


class Neighbours(NamedTuple):
    """A workspace, the victim beside it, and the number by which the one would reach the other."""

    mine: int
    other: int
    id: int
    alias: int


@pytest.fixture(params=["above", "below"])
def neighbours(store: Store, request: pytest.FixtureRequest) -> Neighbours:
    """The alias is too large for an id, or negative. Both workspaces stand at t = 1."""
    mine, other = new_workspace(store), new_workspace(store)
    if request.param == "below":
        mine, other = other, mine
    create(store, mine, doc="mine")
    id = create(store, other, VALUE, doc="other")
    return Neighbours(mine, other, id, (other - mine) * IDS + id)


def test_a_point_read_stays_at_home(store: Store, neighbours: Neighbours) -> None:
    mine, other, id, alias = neighbours
    assert store.point(mine, alias)[1] is None
    for t in (0, 1, 9):
        assert store.point_as_of(mine, alias, t)[1] is None
    assert store.point_by_key(mine, *VALUE)[1] is None
    assert store.point_by_key(other, *VALUE)[1] == Row(id, 1, 1, "other")


def test_a_snapshot_stays_at_home(store: Store, neighbours: Neighbours) -> None:
    alias = neighbours.alias
    with store.snapshot(neighbours.mine) as snapshot:
        assert snapshot.entity(alias) is None
        assert snapshot.entity_as_of(alias, 1) is None
        assert snapshot.entities([alias]) == snapshot.entities([alias], as_of=1) == []
        assert snapshot.versions(alias, after=0, limit=9) == []
        assert snapshot.secret(alias, SLOT) is None
        assert snapshot.find(*VALUE) == snapshot.find_as_of(*VALUE, t=1) == []
        assert snapshot.referrers(KEY, [SLOT], 9) == []
        assert walks(snapshot) == []


def test_a_transaction_stays_at_home(store: Store, neighbours: Neighbours) -> None:
    def look(tx: Transaction) -> list[object]:
        seen: list[object] = [tx.entity(neighbours.alias), *tx.entities([neighbours.alias])]
        return [*seen, tx.secret(neighbours.alias, SLOT), *tx.find(*VALUE)]

    assert write(store, neighbours.mine, look) == [None, None]


def test_an_index_that_names_an_alias_finds_nothing(store: Store, neighbours: Neighbours) -> None:
    """An index row of our own with such a number, as only a defect could leave one behind."""
    mine, _, _, alias = neighbours

    def index(tx: Transaction) -> None:
        tx.reindex(alias, [VALUE], [])
        tx.changed_ids.add(1)

    write(store, mine, index, alone=True)
    assert store.point_by_key(mine, *VALUE)[1] is None
    with store.snapshot(mine) as snapshot:
        assert snapshot.find(*VALUE) == [alias]
        assert walks(snapshot) == []


def walks(snapshot: Snapshot) -> list[Found]:
    """What every kind of index walk finds, now and in the past."""
    drives = (Equals(SLOT, (KEY,)), Equals(SLOT, (b"j", KEY)), Between(SLOT, None, None))
    moments = (None, snapshot.state.t)
    scans = [Scan(drive, 9, as_of=as_of) for drive in drives for as_of in moments]
    return [found for scan in scans for found in snapshot.scan(scan)]


def test_a_deletion_stays_at_home(store: Store, neighbours: Neighbours) -> None:
    """Of an alias, as only a defect could ask for it; its own versions are told in full."""
    mine, other, id, alias = neighbours
    before = Row(alias, 1, 1, "gone")
    write(store, mine, lambda tx: tx.change(Change(alias, 1, None, (), ()), before))
    row = current(store, other, id)
    assert row is not None
    assert row.doc == "other"
    with store.snapshot(mine) as snapshot:
        versions = snapshot.versions(alias, after=0, limit=9)
    assert [(version.t, version.doc) for version in versions] == [(1, "gone"), (2, None)]
