"""A connection lost during COMMIT: found out where possible, said where not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from sandbar.errors import Unavailable
from sandbar.store.api import Store, Transaction
from sandbar.store.batch import InDoubt
from sandbar.store.pieces import Change
from sandbar.store.postgres import session
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.trail import Seal
from tests.store.conftest import Place, new_workspace
from tests.store.noting import note
from tests.store.proxy import Cut, Proxy
from tests.store.writing import create, creating, current, together, write


@pytest.fixture
def proxy(installed_postgres: str) -> Iterator[Proxy]:
    """The wire to PostgreSQL."""
    with Proxy(installed_postgres) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: Proxy) -> Iterator[Store]:
    """A store at the other end of the wire."""
    store = PostgresStore(proxy.address)
    yield store
    proxy.is_refusing = False
    store.close()


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_every_item_is_written_exactly_once(store: Store, proxy: Proxy, cut: Cut) -> None:
    ws = new_workspace(store)
    assert create(store, ws) == 1
    runs: list[int] = []

    def counting(tx: Transaction) -> int:
        runs.append(1)
        id = tx.new_id()
        tx.change(Change(id, 1, "{}", [(5, b"k")], ()), None)
        return id

    def arm(tx: Transaction) -> None:
        proxy.cut = Cut.NEVER if proxy.cuts else cut

    futures = together(store, ws, [arm, counting, counting, counting])
    ids = [future.result() for future in futures[1:]]
    assert proxy.cuts == 1
    assert ids == [2, 3, 4]
    assert len(runs) == (6 if cut is Cut.BEFORE else 3)
    with store.snapshot(ws) as snapshot:
        assert snapshot.find(5, b"k") == ids
        assert [tx.t for tx in snapshot.transactions(after=0, limit=9)] == [1, 2, 3, 4]
    assert create(store, ws) == 5


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_a_lone_receipt_is_kept_through_a_cut(store: Store, proxy: Proxy, cut: Cut) -> None:
    ws = new_workspace(store)

    def remembering(tx: Transaction) -> str:
        if record := tx.recall("ann", "k"):
            return record.receipt
        proxy.cut = cut if not proxy.cuts else Cut.NEVER
        tx.remember("ann", "k", "d", "r")
        return "r"

    assert write(store, ws, remembering) == "r"
    assert proxy.cuts == 1
    assert write(store, ws, lambda tx: tx.recall("ann", "k")) is not None


def test_an_outcome_that_cannot_be_found_out_is_said_to_be_in_doubt(
    store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "RESOLVE_PATIENCE_S", 0.5)
    ws = new_workspace(store)
    create(store, ws)
    proxy.refuses_after_cut = True
    proxy.cut = Cut.AFTER
    with pytest.raises(InDoubt) as caught:
        write(store, ws, creating())
    assert caught.value.code == "store.in-doubt"
    assert "idempotency" in (caught.value.hint or "")
    with pytest.raises(Unavailable) as refused:
        write(store, ws, creating())
    assert refused.value.code == "store.lost"
    proxy.is_refusing = False
    assert create(store, ws) == 3, "the doubtful one had been kept"


def test_a_backend_killed_inside_a_batch_costs_nothing(store: Store, installed_admin: str) -> None:
    ws = new_workspace(store)
    create(store, ws)
    killed: list[int] = []

    def killing(tx: Transaction) -> int:
        id = tx.new_id()
        tx.change(Change(id, 1, "{}", (), ()), None)
        if not killed:
            killed.append(_kill_writers(installed_admin, ws))
        return id

    futures = together(store, ws, [creating(), killing, creating()])
    assert killed == [1]
    assert [future.exception() for future in futures] == [None] * 3
    assert store.point(ws, 1)[0].t == 4
    assert all(current(store, ws, id) for id in range(1, 5))


def test_a_seal_is_synced_though_rows_are_not(postgres_place: Place) -> None:
    """With it all that was committed before; rows of their own wait for no disk."""
    store = postgres_place.another()
    ws = new_workspace(store)

    def following(last: Seal | None) -> Seal:
        return Seal(last.number + 1 if last else 1, 1, 1, 1, 1, 1, b"")

    with psycopg.connect(postgres_place.address, autocommit=True) as observer:
        for _ in range(20):
            (before,) = _row(observer, "SELECT pg_current_wal_insert_lsn()::text")
            store.trail.seal(ws, following)
            assert _row(observer, f"SELECT pg_current_wal_flush_lsn() > '{before}'::pg_lsn")[0]
        synced = 0
        for _ in range(20):
            store.trail.append([note(ws)])
            all_of_it = "SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()"
            synced += _row(observer, all_of_it)[0]
        assert synced <= 10  # others may sync in between


def _row(observer: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    row: tuple[Any, ...] = observer.execute(query.encode()).fetchall()[0]
    return row


def _kill_writers(admin: str, ws: int) -> int:
    with psycopg.connect(admin) as connection:
        cursor = connection.execute(
            """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'sandbar'
              AND state = 'idle in transaction'
            """
        )
        return len(cursor.fetchall())
