"""A note that rides along with a write: kept with it or not at all, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbar.errors import Conflict, Interrupted, Problem
from sandbar.store import numbering
from sandbar.store.api import NOTHING_WANTED, Store, Transaction
from sandbar.store.batch import InDoubt, Item, run_batch
from sandbar.store.numbering import Numbers, Ride
from sandbar.store.pieces import Change
from sandbar.store.postgres import session
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.scan import Equals, Scan
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.trail import Note, accompanied, current_note
from tests.store.conftest import Place, new_workspace
from tests.store.noting import (
    accompany,
    at_once,
    everything,
    ids,
    note,
    notes,
    together_with,
)
from tests.store.proxy import Cut, Proxy
from tests.store.test_doubt import Flaky
from tests.store.writing import WAIT_S, Gate, Work, create, creating, write


def test_the_row_is_committed_with_the_write(store: Store, ws: int, place: Place) -> None:
    mine = note(ws, verb="entity.create")
    observer = place.another()
    before: list[object] = []

    def work(tx: Transaction) -> int:
        tx.change(Change(tx.new_id(), 1, "{}", (), ()), None)
        before.append((observer.point(ws, 1)[1], everything(observer, ws)))
        return tx.t

    assert accompany(store, ws, work, mine).result(WAIT_S) == 1
    assert before == [(None, [])]
    assert (mine.is_kept, mine.number) == (True, (store.trail.run, 1))
    (row,) = everything(observer, ws)
    assert (row.run, row.n, row.at_us) == (store.trail.run, 1, mine.began_us)
    assert (row.principal, row.verb, row.is_success) == ("ann", "entity.create", True)
    assert observer.point(ws, 1)[1] is not None


def test_a_note_accompanies_the_thread_that_has_it() -> None:
    mine, inner = note(1), note(1)
    seen: list[Note | None] = []
    with accompanied(mine):
        thread = threading.Thread(target=lambda: seen.append(current_note()))
        thread.start()
        thread.join()
        with accompanied(inner):
            assert current_note() is inner
        with accompanied(None):
            assert current_note() is None
        assert current_note() is mine
    assert (current_note(), seen) == (None, [None])


def test_a_note_rides_once(store: Store, ws: int) -> None:
    mine = note(ws)
    with accompanied(mine):
        for _ in range(3):
            create(store, ws)
    store.trail.append([mine])
    assert ids(store, ws) == ["r"]


def test_a_note_that_two_writes_of_a_batch_carry_has_one_row(store: Store, ws: int) -> None:
    mine, other = notes(ws, 2)
    works = [(creating(), mine), (creating(), mine), (creating(), other)]
    assert together_with(store, ws, works) == [None] * 3
    assert (ids(store, ws), store.trail.settled_n(ws)) == (["0", "1"], 2)


def test_every_item_of_a_batch_takes_its_own_along(store: Store, ws: int) -> None:
    made = notes(ws, 50)
    assert together_with(store, ws, [(creating(), one) for one in made]) == [None] * 50
    assert [one.number for one in made] == [(store.trail.run, n) for n in range(1, 51)]
    assert sorted(int(id or "") for id in ids(store, ws)) == list(range(50))


def nothing(tx: Transaction) -> None:
    """A write that writes nothing."""
    tx.find(5, b"k")
    tx.new_id()


def test_a_write_that_changes_nothing_keeps_nothing(store: Store, ws: int) -> None:
    alone, beside, writing = notes(ws, 3)
    accompany(store, ws, nothing, alone).result(WAIT_S)
    assert together_with(store, ws, [(nothing, beside), (creating(), writing)]) == [None, None]
    assert [one.is_kept for one in (alone, beside, writing)] == [False, False, True]
    assert (alone.number, ids(store, ws)) == (None, ["2"])
    store.trail.append([alone, beside])
    assert ids(store, ws) == ["0", "1", "2"]


@pytest.mark.parametrize(
    "work",
    [
        lambda tx: tx.remember("ann", "k", "d", "r"),
        lambda tx: tx.schedule(1, 0),
        lambda tx: tx.keep_secret(1, 9, "hash"),
        lambda tx: tx.indexed_up_to(None),
    ],
    ids=["receipt", "job", "secret", "search"],
)
def test_whatever_is_written_takes_the_note_along(store: Store, ws: int, work: Work) -> None:
    mine = note(ws)
    accompany(store, ws, work, mine).result(WAIT_S)
    assert (mine.is_kept, ids(store, ws)) == (True, ["r"])


def failing(tx: Transaction) -> None:
    """A write that changes its mind."""
    tx.change(Change(tx.new_id(), 1, "lost", (), ()), None)
    raise Conflict("test.conflict", "no")


def scanning(tx: Transaction) -> None:
    """A write that must run alone, and whose rows are written in two parts."""
    tx.change(Change(tx.new_id(), 1, "1", [(5, b"k")], ()), None)
    assert len(tx.scan(Scan(Equals(5, (b"k",)), 9))) == 1
    tx.change(Change(tx.new_id(), 1, "2", (), ()), None)


def test_an_item_that_fails_leaves_its_note_to_whoever_opened_it(store: Store, ws: int) -> None:
    made = notes(ws, 4)
    works = [creating(), failing, scanning, creating()]
    ends = together_with(store, ws, list(zip(works, made, strict=True)))
    assert [end is None for end in ends] == [True, False, True, True]
    assert [one.is_kept for one in made] == [True, False, True, True]
    made[1].is_success, made[1].code = False, "test.conflict"
    store.trail.append(made)
    rows = {row.request_id: row for row in everything(store, ws)}
    assert sorted(rows, key=str) == ids(store, ws) == [*"0123"]
    assert [rows[id].code for id in "0123"] == [None, "test.conflict", None, None]


def test_a_batch_that_fails_is_run_again_with_one_row_each(store: Store, ws: int) -> None:
    made = notes(ws, 4)
    works = [creating(), creating(doc="\udfff"), creating(), nothing]
    ends = together_with(store, ws, list(zip(works, made, strict=True)))
    assert [end is None for end in ends] == [True, False, True, True]
    assert [one.is_kept for one in made] == [True, False, True, False]
    assert ids(store, ws) == ["0", "2"]
    assert store.trail.settled_n(ws) == max(row.n for row in everything(store, ws))
    store.trail.append(made)
    assert ids(store, ws) == [*"0123"]


def test_a_write_that_is_taken_back_or_too_late_takes_no_note_along(store: Store, ws: int) -> None:
    taken_back, late, kept = notes(ws, 3)
    gate = Gate(store, ws)
    first = accompany(store, ws, creating(), taken_back)
    second = accompany(store, ws, creating(), late, deadline_s=0.0)
    third = accompany(store, ws, creating(), kept)
    assert first.cancel()
    gate.open()
    assert third.result(WAIT_S).id == 1
    assert [type(one.exception(WAIT_S)) for one in (first, second)] == [Interrupted] * 2
    assert [one.is_kept for one in (taken_back, late, kept)] == [False, False, True]
    assert ids(store, ws) == ["2"]


def test_a_note_that_was_settled_while_its_write_waited_has_one_row(store: Store, ws: int) -> None:
    mine, other = notes(ws, 2)
    reached, opened = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        creating()(tx)
        reached.set()
        assert opened.wait(4.0)

    if store.reads_in_microseconds:  # nobody appends to a file while somebody writes to it
        gate = Gate(store, ws)
        answer = accompany(store, ws, creating(), mine)
        thread = threading.Thread(target=store.trail.append, args=([mine],))
        thread.start()
        gate.open()
    else:
        answer = accompany(store, ws, slow, mine)
        assert reached.wait(WAIT_S)
        thread = threading.Thread(target=store.trail.append, args=([mine],))
        thread.start()
        thread.join(WAIT_S)
        assert ids(store, ws) == ["0"], "it did not wait for the write"
        opened.set()
    answer.result(WAIT_S)
    thread.join(WAIT_S)
    write(store, ws, creating())
    store.trail.append([mine, other])
    assert (mine.is_kept, ids(store, ws)) == (True, ["0", "1"])


def test_a_note_of_another_workspace_stays_at_home(store: Store, ws: int) -> None:
    mine = note(new_workspace(store))
    accompany(store, ws, creating(), mine).result(WAIT_S)
    assert not mine.is_kept
    assert (everything(store, ws), everything(store, mine.ws)) == ([], [])


def test_numbers_are_settled_only_after_the_commit(store: Store, ws: int) -> None:
    first, second = notes(ws, 2)
    seen: list[int] = []

    def look(tx: Transaction) -> None:
        creating()(tx)
        seen.append(store.trail.settled_n(ws))

    assert together_with(store, ws, [(creating(), first), (look, second)]) == [None, None]
    assert (seen, store.trail.settled_n(ws)) == ([0], 2)


def test_riding_and_appending_from_many_threads_give_every_note_one_row(store: Store) -> None:
    spaces = [new_workspace(store) for _ in range(2)]
    made = [[note(ws, f"{n}-{m}") for m in range(60)] for n in range(4) for ws in spaces]

    def work(mine: list[Note]) -> None:
        for n, one in enumerate(mine):
            if n % 3:
                accompany(store, one.ws, creating(), one).result(WAIT_S)
            if n % 3 != 1:
                store.trail.append([one])

    at_once([lambda mine=mine: work(mine) for mine in made])  # type: ignore[misc]
    for ws in spaces:
        rows = everything(store, ws)
        assert len({row.n for row in rows}) == len({row.request_id for row in rows}) == len(rows)
        assert len(rows) == store.trail.settled_n(ws) == 240


# --- commits of which nobody can say how they ended --------------------------------------------


@pytest.fixture
def proxy(installed_postgres: str) -> Iterator[Proxy]:
    """The wire to PostgreSQL."""
    with Proxy(installed_postgres) as proxy:
        yield proxy


@pytest.fixture
def far_store(proxy: Proxy) -> Iterator[Store]:
    """A store at the other end of the wire."""
    store = PostgresStore(proxy.address)
    yield store
    proxy.is_refusing = False
    store.close()


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
@pytest.mark.parametrize("is_receipt", [False, True])
def test_a_cut_during_commit_leaves_one_row(
    far_store: Store, proxy: Proxy, cut: Cut, is_receipt: bool
) -> None:
    ws = new_workspace(far_store)
    create(far_store, ws)
    mine = note(ws)

    def work(tx: Transaction) -> None:
        proxy.cut = cut if not proxy.cuts else Cut.NEVER
        if not is_receipt:
            creating()(tx)
        elif not tx.recall("ann", "k"):
            tx.remember("ann", "k", "d", "r")

    accompany(far_store, ws, work, mine).result(WAIT_S)
    assert proxy.cuts == 1
    # A receipt that had been kept is found again, and nothing is left to write.
    assert mine.is_kept == (not is_receipt or cut is Cut.BEFORE)
    far_store.trail.append([mine])
    assert (mine.is_kept, ids(far_store, ws)) == (True, ["r"])


def _in_doubt(store: Store, proxy: Proxy, cut: Cut, patch: pytest.MonkeyPatch) -> Note:
    """The note of a write whose outcome is in doubt; the server can be reached again."""
    patch.setattr(session, "RESOLVE_PATIENCE_S", 0.5)
    ws = new_workspace(store)
    create(store, ws)
    proxy.refuses_after_cut = True
    proxy.cut = cut
    mine = note(ws)
    with pytest.raises(InDoubt):
        accompany(store, ws, creating(), mine).result(WAIT_S)
    assert (mine.is_kept, mine.number) == (False, (store.trail.run, 1))
    proxy.is_refusing = False
    mine.is_success, mine.code = False, "store.in-doubt"
    return mine


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_a_note_in_doubt_is_not_kept_and_gets_one_row(
    far_store: Store, proxy: Proxy, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = _in_doubt(far_store, proxy, cut, monkeypatch)
    assert far_store.trail.settled_n(mine.ws) == 0, "its number may yet have a row"
    far_store.trail.append([mine])
    (row,) = everything(far_store, mine.ws)
    assert row.is_success == (cut is Cut.AFTER), "the write was kept, and its row with it"
    assert (mine.is_kept, far_store.trail.settled_n(mine.ws)) == (True, 1)


def test_a_doubt_ends_and_with_it_the_number(
    far_store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control of the test above: under another number there is a second row."""
    monkeypatch.setattr(numbering, "DOUBT_S", -1.0)
    mine = _in_doubt(far_store, proxy, Cut.AFTER, monkeypatch)
    assert far_store.trail.settled_n(mine.ws) == 1
    far_store.trail.append([mine])
    assert ids(far_store, mine.ws) == ["r", "r"]


def test_an_append_whose_line_is_cut_gives_one_row(
    far_store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = note(new_workspace(far_store))
    proxy.is_refusing = True
    with pytest.raises(Problem) as caught:
        far_store.trail.append([mine])
    assert caught.value.code == "store.lost"
    assert not mine.is_kept
    proxy.is_refusing = False
    far_store.trail.append([mine])
    assert ids(far_store, mine.ws) == ["r"]


def _run_unsynced(path: str, fails: int, numbers: Numbers, made: list[Note]) -> list[bool]:
    """A batch on a disk that refuses some syncs; whether each item was kept."""
    connector = Flaky(path, fails=fails)
    items = [
        Item(creating(), NOTHING_WANTED, alone=False, deadline_s=None, ride=Ride(numbers, one))
        for one in made
    ]
    run_batch(lambda: connector.begin(1), items, lambda tx: None)
    connector.close()
    return [item.future.exception(1) is None for item in items]


@pytest.mark.parametrize("fails", [0, 1, 2, 4])
def test_a_disk_that_will_not_sync_leaves_one_row_each(tmp_path: Path, fails: int) -> None:
    path = str(tmp_path / "a.db")
    store = SqliteStore(path)
    ws = store.create_workspace("main")
    numbers = Numbers()
    made = notes(ws, 3)
    kept = _run_unsynced(path, fails, numbers, made)
    assert kept == [True] * 3 if fails < 2 else kept.count(False) == fails - 1
    assert [one.is_kept for one in made] == kept
    assert len(ids(store, ws)) == kept.count(True)
    assert numbers.settled(ws) == (3 if all(kept) else 0), "what is in doubt is not settled"
    store.trail.append(made)
    assert ids(store, ws) == [*"012"]
    store.close()


def test_a_defect_in_the_writer_gives_the_number_back(
    store: Store, ws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = note(ws)

    def breaks(tx: Transaction) -> None:
        creating()(tx)
        monkeypatch.setattr(tx._base, "apply", _defect)

    assert accompany(store, ws, breaks, mine).exception(WAIT_S) is not None
    assert (mine.is_kept, mine.number, store.trail.settled_n(ws)) == (False, None, 1)
    assert create(store, ws) == 1
    store.trail.append([mine])
    assert (mine.number, ids(store, ws)) == ((store.trail.run, 2), ["r"])


def _defect(plan: object) -> None:
    raise ZeroDivisionError
