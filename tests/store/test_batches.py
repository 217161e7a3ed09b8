"""Several transactions in one commit: they see each other, and fail alone."""

from __future__ import annotations

import threading
from itertools import pairwise

import pytest

from sandbar.errors import Conflict, Problem
from sandbar.store.api import Store, Transaction, Wanted
from sandbar.store.pieces import Change
from sandbar.store.rows import Row
from sandbar.store.scan import Between, Equals, Scan
from tests.store.conftest import Place
from tests.store.writing import WAIT_S, Gate, changing, create, creating, current, together, write

NAME = 5


def test_items_of_a_batch_see_each_other(store: Store, ws: int) -> None:
    seen: list[object] = []

    def look(tx: Transaction) -> None:
        seen.append((tx.t, tx.entity(1), tx.find(NAME, b"a"), tx.find(NAME, b"b")))
        seen.append(tx.referrers(b"b", [NAME], 9))

    futures = together(
        store,
        ws,
        [
            creating((NAME, b"a"), doc="1"),
            look,
            changing(1, doc="2", begun=[(NAME, b"b")], ended=[(NAME, b"a")]),
            look,
            changing(1, doc=None, ended=[(NAME, b"b")]),
            look,
        ],
        wanted=Wanted((1, 2), ((NAME, b"a"), (NAME, b"b"))),
    )
    assert [future.exception() for future in futures] == [None] * 6
    assert seen == [
        (2, Row(1, 1, 1, "1"), [1], []),
        [],
        (3, Row(1, 1, 2, "2"), [], [1]),
        [(NAME, 1)],
        (4, None, [], []),
        [],
    ]
    assert store.point(ws, 1)[0].t == 3


def test_a_batch_is_one_commit(store: Store, ws: int, place: Place) -> None:
    observer = place.another()
    heads: list[int] = []

    def looking(tx: Transaction) -> None:
        heads.append(observer.point(ws, 1)[0].t)
        tx.change(Change(tx.new_id(), 1, "{}", (), ()), None)

    for future in together(store, ws, [looking] * 5):
        future.result()
    assert heads == [0] * 5
    assert observer.point(ws, 1)[0].t == 5


def test_find_and_referrers_see_the_database_through_the_batch(store: Store, ws: int) -> None:
    old = [create(store, ws, (NAME, b"k")) for _ in range(3)]
    seen: list[object] = []

    def look(tx: Transaction) -> None:
        seen.append(tx.find(NAME, b"k"))
        seen.append(tx.referrers(b"k", [NAME], 2))

    works = [changing(old[0], ended=[(NAME, b"k")]), creating((NAME, b"k")), look]
    for future in together(store, ws, works, wanted=Wanted((old[0],), ((NAME, b"k"),))):
        future.result()
    assert seen == [[*old[1:], 4], [(NAME, old[1]), (NAME, old[2])]]


def test_two_unique_values_can_be_swapped_in_one_transaction(store: Store, ws: int) -> None:
    first, second = create(store, ws, (NAME, b"a")), create(store, ws, (NAME, b"b"))

    def swap(tx: Transaction) -> None:
        for id, old, new in ((first, b"a", b"b"), (second, b"b", b"a")):
            tx.change(Change(id, 1, "{}", [(NAME, new)], [(NAME, old)]), tx.entity(id))

    write(store, ws, swap)
    with store.snapshot(ws) as snapshot:
        assert (snapshot.find(NAME, b"a"), snapshot.find(NAME, b"b")) == ([second], [first])
        assert snapshot.find_as_of(NAME, b"a", 2) == [first]
        assert snapshot.find_as_of(NAME, b"a", 3) == [second]


def test_what_begins_and_ends_in_one_batch_leaves_its_past(store: Store, ws: int) -> None:
    id = create(store, ws, (NAME, b"k"))
    works = [
        changing(id, doc="2", ended=[(NAME, b"k")]),
        changing(id, doc="3", begun=[(NAME, b"k")]),
        changing(id, doc="4", ended=[(NAME, b"k")]),
        changing(id, doc="5", begun=[(NAME, b"k"), (NAME, b"l")]),
        changing(id, doc="6", ended=[(NAME, b"l")]),
    ]
    for future in together(store, ws, works):
        future.result()
    with store.snapshot(ws) as snapshot:
        held = [bool(snapshot.find_as_of(NAME, b"k", t)) for t in range(1, 7)]
        assert held == [True, False, True, False, True, True]
        assert [bool(snapshot.find_as_of(NAME, b"l", t)) for t in (4, 5, 6)] == [False, True, False]
        assert [v.doc for v in snapshot.versions(id, after=0, limit=9)] == ["{}", *"23456"]


def test_a_failing_item_fails_alone(store: Store, ws: int) -> None:
    def failing(tx: Transaction) -> None:
        tx.change(Change(tx.new_id(), 1, "lost", [(NAME, b"lost")], ()), None)
        raise Conflict("test.conflict", "no")

    futures = together(store, ws, [creating(doc="a"), failing, creating(doc="b"), failing])
    assert [type(future.exception()) for future in futures] == [
        type(None), Conflict, type(None), Conflict
    ]  # fmt: skip
    first, second = futures[0].result(), futures[2].result()
    assert (second.t - first.t, second.id - first.id) == (1, 1)
    with store.snapshot(ws) as snapshot:
        assert snapshot.find(NAME, b"lost") == []
        assert snapshot.state.t == 2


def test_an_unstorable_item_fails_alone(store: Store, ws: int) -> None:
    futures = together(store, ws, [creating(doc="a"), creating(doc="\udfff"), creating(doc="b")])
    assert [future.exception() is None for future in futures] == [True, False, True]
    assert [current(store, ws, futures[n].result().id) is not None for n in (0, 2)] == [True, True]


def test_a_scan_inside_a_transaction_sees_its_own_changes(store: Store, ws: int) -> None:
    kept = create(store, ws, (NAME, b"b"), doc="old")

    def scanning(tx: Transaction) -> list[tuple[bytes, int]]:
        new = tx.new_id()
        tx.change(Change(new, 1, "new", [(NAME, b"a")], ()), None)
        tx.change(Change(kept, 1, "newer", [(NAME, b"c")], [(NAME, b"b")]), tx.entity(kept))
        found = tx.scan(Scan(Between(NAME, None, None), 9))
        assert tx.find(NAME, b"c") == [kept]
        row = tx.entity(kept)
        assert row is not None
        assert row.doc == "newer"
        return [(row.key, row.id) for row in found]

    futures = together(
        store, ws, [creating(), scanning, creating()], wanted=Wanted((kept,), ((NAME, b"c"),))
    )
    assert futures[1].result() == [(b"a", 4), (b"c", kept)]
    assert [futures[n].result().t for n in (0, 2)] == [2, 3]
    with store.snapshot(ws) as snapshot:
        assert snapshot.find(NAME, b"a") == [4]
        assert [t.t for t in snapshot.transactions(after=0, limit=9)] == [1, 2, 3, 4]


def test_a_state_that_held_for_no_time_leaves_no_trace(store: Store, ws: int) -> None:
    id = create(store, ws, (NAME, b"a"), doc="1")

    def restless(tx: Transaction) -> None:
        values = [b"a", b"b", b"c"]
        for old, new in pairwise(values):
            row = tx.entity(id)
            tx.change(Change(id, 1, new.decode(), [(NAME, new)], [(NAME, old)]), row)
            assert [f.id for f in tx.scan(Scan(Equals(NAME, (new,)), 9))] == [id]

    write(store, ws, restless)
    with store.snapshot(ws) as snapshot:
        assert [v.doc for v in snapshot.versions(id, after=0, limit=9)] == ["1", "c"]
        assert [snapshot.find_as_of(NAME, b"b", t) for t in (1, 2)] == [[], []]
        assert [snapshot.find_as_of(NAME, b"a", t) for t in (1, 2)] == [[id], []]
        assert snapshot.find(NAME, b"c") == [id]


def test_an_entity_deleted_and_made_again_in_one_transaction_was_never_gone(
    store: Store, ws: int
) -> None:
    id = create(store, ws, doc="1")

    def again(tx: Transaction) -> None:
        tx.change(Change(id, 1, None, (), ()), tx.entity(id))
        tx.scan(Scan(Equals(NAME, (b"k",)), 1))
        tx.change(Change(id, 1, "2", (), ()), tx.entity(id))

    write(store, ws, again)
    with store.snapshot(ws) as snapshot:
        versions = snapshot.versions(id, after=0, limit=9)
        assert [(v.t, v.doc) for v in versions] == [(1, "1"), (2, "2")]
    write(store, ws, changing(id, doc="3"))
    with store.snapshot(ws) as snapshot:
        assert [v.doc for v in snapshot.versions(id, after=0, limit=9)] == ["1", "2", "3"]


def test_a_failed_transaction_that_had_scanned_leaves_nothing(store: Store, ws: int) -> None:
    def failing(tx: Transaction) -> None:
        tx.change(Change(tx.new_id(), 1, "lost", [(NAME, b"lost")], ()), None)
        assert len(tx.scan(Scan(Equals(NAME, (b"lost",)), 9))) == 1
        raise Conflict("test.conflict", "no")

    with pytest.raises(Conflict):
        write(store, ws, failing)
    assert create(store, ws) == 1
    with store.snapshot(ws) as snapshot:
        assert snapshot.find(NAME, b"lost") == []
        assert snapshot.state.t == 1


def test_more_than_one_batch_is_served_in_order(store: Store, ws: int) -> None:
    futures = together(store, ws, [creating(doc=str(n)) for n in range(700)])
    assert [future.result().t for future in futures] == list(range(1, 701))


class Unruly(str):
    """Breaks whoever compares it on the writer's thread."""

    def __hash__(self) -> int:
        if threading.current_thread().name.startswith("sandbar-writer"):
            raise SystemExit("no")
        return str.__hash__(self)


class Unwritable:
    """Is counted like a document, and then no database takes it."""

    def isascii(self) -> bool:
        return True

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("stage", ["prefetch", "apply"])
def test_what_breaks_the_writer_fails_alone(store: Store, ws: int, stage: str) -> None:
    create(store, ws)
    gate = Gate(store, ws)
    before, after = (store.submit(ws, creating(doc=doc)) for doc in "12")
    if stage == "prefetch":
        guilty = store.submit(ws, creating(), wanted=Wanted((), (), ((Unruly("ann"), "k"),)))
    else:
        guilty = store.submit(ws, creating(doc=Unwritable()))  # type: ignore[arg-type]
    last = store.submit(ws, creating(doc="3"))
    gate.open()
    assert [future.exception(WAIT_S) for future in (before, after, last)] == [None] * 3
    error = guilty.exception(WAIT_S)
    assert isinstance(error, Problem)
    assert error.code in ("writer.failed", "store.unstorable")
    with store.snapshot(ws) as snapshot:
        assert [row.doc for row in snapshot.entities_after(1, 9)] == ["1", "2", "3"]
    assert current(store, ws, create(store, ws))
