"""Entities, their versions and their transactions."""

from __future__ import annotations

import threading

import pytest

from sandbar import clock
from sandbar.errors import Fault, Incorrect, NotFound
from sandbar.store.api import Store, Transaction
from sandbar.store.pieces import Change
from sandbar.store.rows import Row
from tests.store.conftest import new_workspace
from tests.store.writing import changing, create, creating, current, write


def test_a_new_workspace_is_empty_and_is_found_by_its_name(store: Store) -> None:
    ws = store.create_workspace("fresh-and-empty")
    assert store.create_workspace("fresh-and-empty") == ws == store.workspace("fresh-and-empty")
    assert store.workspace("nobody's") is None
    head, row = store.point(ws, 1)
    assert (head.t, head.generation, row) == (0, 0, None)
    with store.snapshot(ws) as snapshot:
        assert snapshot.state.next_id == 1
        assert snapshot.transactions(after=0, limit=10) == []
        assert snapshot.transaction_at(clock.now_us()) == 0


def test_a_workspace_that_is_not_there_is_not_found(store: Store) -> None:
    for read in (
        lambda: store.point(987_654, 1),
        lambda: store.point_by_key(987_654, 1, b"k"),
        lambda: store.point_as_of(987_654, 1, 1),
        lambda: store.snapshot(987_654).__enter__(),
        lambda: write(store, 987_654, creating()),
    ):
        with pytest.raises(NotFound) as caught:
            read()
        assert caught.value.code == "store.no-workspace"


def test_what_was_created_can_be_read_by_id_and_by_key(store: Store, ws: int) -> None:
    id = create(store, ws, (5, b"name"), cls=7, doc='{"5":"name"}')
    row = Row(id, 7, 1, '{"5":"name"}')
    head, found = store.point(ws, id)
    assert (head.t, found) == (1, row)
    assert store.point_by_key(ws, 5, b"name") == (head, row)
    assert store.point_by_key(ws, 5, b"other") == (head, None)
    with store.snapshot(ws) as snapshot:
        assert snapshot.entity(id) == row
        assert snapshot.entity(id + 1) is None
        assert snapshot.find(5, b"name") == [id]
        assert snapshot.entities([id + 1, id]) == [row]


def test_an_update_keeps_the_old_state_as_a_version(store: Store, ws: int) -> None:
    id = create(store, ws, (5, b"old"), doc="1")
    write(store, ws, changing(id, doc="2", begun=[(5, b"new")], ended=[(5, b"old")]))
    assert store.point_by_key(ws, 5, b"old")[1] is None
    assert current(store, ws, id) == Row(id, 1, 2, "2")
    assert store.point_as_of(ws, id, 1)[1] == Row(id, 1, 1, "1")
    with store.snapshot(ws) as snapshot:
        assert [(v.t, v.doc) for v in snapshot.versions(id, after=0, limit=9)] == [
            (1, "1"),
            (2, "2"),
        ]
        assert [(v.t, v.doc) for v in snapshot.versions(id, after=1, limit=9)] == [(2, "2")]
        assert [(v.t, v.doc) for v in snapshot.versions(id, after=0, limit=1)] == [(1, "1")]
        assert snapshot.entities([id], as_of=1) == [Row(id, 1, 1, "1")]
        assert snapshot.find_as_of(5, b"old", 1) == [id]
        assert snapshot.find_as_of(5, b"old", 2) == []


def test_a_deleted_entity_can_be_restored_and_each_moment_remembers(store: Store, ws: int) -> None:
    id = create(store, ws, (5, b"k"), doc="1", cls=3)
    write(store, ws, changing(id, doc=None, ended=[(5, b"k")], cls=3))
    write(store, ws, changing(id, doc="3", begun=[(5, b"k")], cls=4))
    write(store, ws, changing(id, doc=None, ended=[(5, b"k")], cls=4))
    docs = [store.point_as_of(ws, id, t)[1] for t in range(5)]
    assert docs == [None, Row(id, 3, 1, "1"), None, Row(id, 4, 3, "3"), None]
    assert current(store, ws, id) is None
    with store.snapshot(ws) as snapshot:
        versions = snapshot.versions(id, after=0, limit=9)
        assert [(v.t, v.cls, v.doc) for v in versions] == [
            (1, 3, "1"), (2, 3, None), (3, 4, "3"), (4, 4, None)
        ]  # fmt: skip
        assert [snapshot.find_as_of(5, b"k", t) for t in range(5)] == [[], [id], [], [id], []]


def test_a_deletion_of_what_is_not_there_is_a_defect(store: Store, ws: int) -> None:
    with pytest.raises(Fault) as caught:
        write(store, ws, changing(99, doc=None))
    assert caught.value.code == "store.absent"


def test_transactions_say_who_why_when_and_what(store: Store, ws: int) -> None:
    def attributed(tx: Transaction) -> list[int]:
        tx.attribute("user/ann", "spring cleaning")
        ids = [tx.new_id(), tx.new_id()]
        for id in ids:
            tx.change(Change(id, 1, "{}", (), ()), None)
        return ids

    before_us = clock.now_us()
    ids = write(store, ws, attributed)
    create(store, ws)
    with store.snapshot(ws) as snapshot:
        first, second = snapshot.transactions(after=0, limit=9)
        assert (first.t, first.principal, first.reason) == (1, "user/ann", "spring cleaning")
        assert first.ids == tuple(ids)
        assert before_us <= first.instant_us < second.instant_us
        assert (second.principal, second.reason) == ("", None)
        assert snapshot.transactions(after=1, limit=9) == [second]
        assert snapshot.transaction_at(first.instant_us - 1) == 0
        assert snapshot.transaction_at(first.instant_us) == 1
        assert snapshot.transaction_at(second.instant_us + 1) == 2
        version = snapshot.versions(ids[0], after=0, limit=1)[0]
        assert (version.principal, version.reason) == ("user/ann", "spring cleaning")
        assert version.instant_us == first.instant_us


def test_schema_changes_are_listed_and_counted(store: Store, ws: int) -> None:
    def schema(tx: Transaction) -> None:
        tx.bump_schema()
        tx.change(Change(tx.new_id(), 1, "{}", (), ()), None)

    create(store, ws)
    write(store, ws, schema)
    create(store, ws)
    write(store, ws, schema)
    head, _ = store.point(ws, 1)
    assert (head.t, head.generation) == (4, 2)
    with store.snapshot(ws) as snapshot:
        assert snapshot.schema_changes() == [2, 4]
        assert (snapshot.state.epoch, snapshot.state.generation) == (head.epoch, 2)


def test_epochs_differ_between_workspaces(store: Store) -> None:
    first, second = new_workspace(store), new_workspace(store)
    assert store.point(first, 1)[0].epoch != store.point(second, 1)[0].epoch


def test_a_secret_is_kept_changed_and_cleared_outside_the_document(store: Store, ws: int) -> None:
    id = create(store, ws)

    def keeping(hashed: str | None) -> None:
        write(store, ws, lambda tx: tx.keep_secret(id, 9, hashed))

    for hashed in ("one", "two", None, "three"):
        keeping(hashed)
        with store.snapshot(ws) as snapshot:
            assert snapshot.secret(id, 9) == hashed
            assert snapshot.secret(id, 8) is None
            assert snapshot.transactions(after=0, limit=9)[-1].ids == (id,)


def test_a_write_that_changes_nothing_leaves_no_transaction(store: Store, ws: int) -> None:
    assert write(store, ws, lambda tx: tx.entity(1)) is None
    assert store.point(ws, 1)[0].t == 0


def test_values_of_every_byte_and_documents_of_every_character_survive(
    store: Store, ws: int
) -> None:
    key = bytes(range(256))
    doc = '{"5":"ä € 😀 \\u0000 \'quoted\' \\\\ \\" {NULL}"}'
    id = create(store, ws, (5, key), (5, b""), doc=doc)
    row = store.point_by_key(ws, 5, key)[1]
    assert row is not None
    assert row.doc == doc
    assert store.point_by_key(ws, 5, b"")[1] == row
    big = 2**53
    write(store, ws, changing(id, doc="NULL", begun=[(big, b"NULL")]))
    assert store.point_by_key(ws, big, b"NULL")[1] == Row(id, 1, 2, "NULL")


@pytest.mark.parametrize("doc", ["\ud800", None])
def test_what_cannot_be_stored_fails_alone_and_typed(
    store: Store, ws: int, doc: str | None
) -> None:
    broken = creating(doc=doc) if doc else creating((2**64, b"x"))
    with pytest.raises(Incorrect) as caught:
        write(store, ws, broken)
    assert caught.value.code == "store.unstorable"
    assert create(store, ws) == 1


def test_referrers_are_found_by_property_and_bounded(store: Store, ws: int) -> None:
    target = b"\x01target"
    first = create(store, ws, (3, target))
    second = create(store, ws, (2, target), (3, target), (4, target))
    with store.snapshot(ws) as snapshot:
        everything = [(2, second), (3, first), (3, second)]
        assert snapshot.referrers(target, [3, 2], 9) == everything
        assert snapshot.referrers(target, [3, 2], 2) == everything[:2]
        assert snapshot.referrers(target, [], 9) == []
        assert snapshot.referrers(b"else", [2, 3], 9) == []


def test_a_snapshot_does_not_move(store: Store, ws: int) -> None:
    id = create(store, ws, (5, b"k"), doc="1")
    with store.snapshot(ws) as snapshot:
        write(store, ws, changing(id, doc="2", ended=[(5, b"k")]))
        assert snapshot.state.t == 1
        assert snapshot.entity(id) == Row(id, 1, 1, "1")
        assert snapshot.find(5, b"k") == [id]
    assert current(store, ws, id) == Row(id, 1, 2, "2")


def test_the_head_and_the_row_of_a_point_read_belong_together(store: Store, ws: int) -> None:
    done = threading.Event()

    def blinking() -> None:
        for _ in range(60):
            id = create(store, ws, (5, b"k"))
            write(store, ws, changing(id, doc=None, ended=[(5, b"k")]))
        done.set()

    writer = threading.Thread(target=blinking)
    writer.start()
    wrong = []
    while not done.is_set():
        head, row = store.point_by_key(ws, 5, b"k")
        if (row is not None) != (head.t % 2 == 1):
            wrong.append((head.t, row))
        next_id = head.t // 2 + 1
        head, row = store.point(ws, next_id)
        if (row is not None) != (head.t == 2 * next_id - 1):
            wrong.append((head.t, row))
    writer.join()
    assert wrong == []


def test_an_error_inside_a_snapshot_harms_no_later_one(store: Store, ws: int) -> None:
    for _ in range(20):
        with pytest.raises(KeyError), store.snapshot(ws):
            raise KeyError
    with store.snapshot(ws) as snapshot:
        assert snapshot.state.t == 0


def test_holders_of_a_key_are_counted(store: Store, ws: int) -> None:
    pair, other = (5, b"k"), (5, b"l")
    ids = [create(store, ws, pair) for _ in range(3)]
    create(store, ws, other)
    create(store, new_workspace(store), pair)

    def count(property: int, key: bytes) -> int:
        with store.snapshot(ws) as snapshot:
            return snapshot.count(property, key)

    assert (count(*pair), count(*other), count(5, b"m"), count(6, b"k")) == (3, 1, 0, 0)

    def inside(tx: Transaction) -> list[int]:
        counts = []
        for id in ids[:2]:
            before = tx.entity(id)
            counts.append(tx.count(*pair))
            tx.change(Change(id, 1, "{}", [other], [pair]), before)
        return [*counts, tx.count(*pair), tx.count(*other)]

    assert write(store, ws, inside) == [3, 2, 1, 3]
    assert (count(*pair), count(*other)) == (1, 3)
