"""The database goes away and comes back: rows are sealed again within seconds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from sandbar import clock
from sandbar.audit import Journal, sealing, verify
from sandbar.errors import Unavailable
from sandbar.store import numbering
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from tests.audit.logs import random_note
from tests.fault.test_restarts import StubbornServer
from tests.store.conftest import new_workspace

WAIT_S = 30.0
SEALED_WITHIN_S = 10.0  # and not after the minute in which a row in doubt might still appear


@pytest.fixture
def server() -> Iterator[StubbornServer]:
    with StubbornServer({}) as server:
        yield server


def wait_for_lock(url: str) -> None:
    """Return when somebody waits for a lock."""
    deadline_s = clock.monotonic_s() + WAIT_S
    with psycopg.connect(url, autocommit=True) as connection:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while connection.execute(waiting).fetchone() == (0,):
            assert clock.monotonic_s() < deadline_s
            clock.pause_s(0.01)


def wait_for_seals(store: PostgresStore, ws: int, *, rows: int) -> None:
    """Return when so many rows are there, and all are sealed."""
    began_s = clock.monotonic_s()
    while (verdict := verify(store.trail, ws)).unsealed or verdict.rows < rows:
        assert clock.monotonic_s() - began_s < SEALED_WITHIN_S, verdict
        clock.pause_s(0.02)
    assert verdict.is_intact


def test_rows_are_sealed_soon_after_a_restart_of_the_server(
    server: StubbornServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "SEAL_EVERY_S", 0.1)
    monkeypatch.setattr(numbering, "OWN_S", 0.2)
    owner, chance = server.create_database(), random.Random(1)
    store = PostgresStore(install(owner))
    ws, journal = new_workspace(store), Journal(store)
    journal.start_sealing()
    journal.settle(random_note(journal, ws, chance))
    wait_for_seals(store, ws, rows=1)
    with closing(psycopg.connect(owner)) as blocking:
        blocking.execute("LOCK TABLE sandbar.audit")
        lost = journal.settle_later(random_note(journal, ws, chance))
        wait_for_lock(owner)
        server.kill()  # while a row is on its way: nobody can say what becomes of it
    assert isinstance(lost.exception(WAIT_S), Unavailable)
    with pytest.raises(Unavailable):
        journal.settle(random_note(journal, ws, chance))  # never sent, so no doubt about it
    server.start()
    journal.settle(random_note(journal, ws, chance))
    wait_for_seals(store, ws, rows=3)
    rows = store.trail.rows(ws, limit=10)
    assert [row.code for row in rows if row.n == 2] == ["audit.unavailable"]
    journal.close()
    store.close()
