"""What is remembered of requests with an idempotency key."""

from __future__ import annotations

from sandbar import clock
from sandbar.store.api import Store, Transaction, Wanted
from sandbar.store.pieces import Change
from sandbar.store.rows import Record
from tests.store.writing import together, write

DAY_US = 24 * 3600 * 1_000_000


def recalled(store: Store, ws: int, principal: str, key: str) -> Record | None:
    """The record as a transaction sees it."""
    record: Record | None = write(store, ws, lambda tx: tx.recall(principal, key))
    return record


def test_a_receipt_is_remembered_for_its_principal_and_key_only(store: Store, ws: int) -> None:
    def work(tx: Transaction) -> None:
        tx.change(Change(tx.new_id(), 1, "{}", (), ()), None)
        tx.remember("ann", "k", "digest", "receipt")

    write(store, ws, work)
    record = recalled(store, ws, "ann", "k")
    assert record is not None
    assert record[:2] == ("digest", "receipt")
    assert abs(record.instant_us - clock.now_us()) < 60_000_000
    assert recalled(store, ws, "ann", "other") is None
    assert recalled(store, ws, "bob", "k") is None


def test_a_request_that_changed_nothing_is_remembered_too(store: Store, ws: int) -> None:
    write(store, ws, lambda tx: tx.remember("ann", "k", "d", "r"))
    assert recalled(store, ws, "ann", "k") is not None
    assert store.point(ws, 1)[0].t == 0


def test_items_of_a_batch_recall_each_other(store: Store, ws: int) -> None:
    def once(tx: Transaction) -> str:
        if record := tx.recall("ann", "k"):
            return record.receipt
        id = tx.new_id()
        tx.change(Change(id, 1, "{}", (), ()), None)
        tx.remember("ann", "k", "d", f"made {id}")
        return f"made {id}"

    wanted = Wanted(records=(("ann", "k"), ("bob", "k")))
    for _ in range(2):
        answers = [f.result() for f in together(store, ws, [once] * 4, wanted=wanted)]
        assert answers == ["made 1"] * 4
    assert store.point(ws, 1)[0].t == 1


def test_a_failed_request_is_not_remembered(store: Store, ws: int) -> None:
    def failing(tx: Transaction) -> None:
        tx.remember("ann", "k", "d", "r")
        raise KeyError

    together(store, ws, [failing])
    assert recalled(store, ws, "ann", "k") is None


def test_records_are_forgotten_after_seven_days_and_not_before(store: Store, ws: int) -> None:
    def aged(key: str, days: float) -> None:
        def work(tx: Transaction) -> None:
            tx.remember("ann", key, "d", "r")
            past_us = clock.now_us() - int(days * DAY_US)
            tx.records["ann", key] = Record("d", "r", past_us)

        write(store, ws, work)

    aged("old", 7.01)
    aged("young", 6.99)
    assert recalled(store, ws, "ann", "old") is not None
    write(store, ws, lambda tx: tx.remember("ann", "new", "d", "r"))
    kept = [key for key in ("old", "young", "new") if recalled(store, ws, "ann", key)]
    assert kept == ["young", "new"]
