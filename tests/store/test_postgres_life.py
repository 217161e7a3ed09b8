"""What a long-lived server meets: dead connections, event loops, a crowd, a frozen neighbour."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from sandbar.errors import Fault, Incorrect, Interrupted, Unavailable
from sandbar.store.api import Store
from sandbar.store.plan import Transaction
from sandbar.store.postgres import connection, pool, session
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from tests.store.conftest import Place, new_workspace
from tests.store.writing import Gate, create, creating, current, together, write

HOLD = """
import sys, time
from sandbar.store.api import Wanted
from sandbar.store.pieces import Change
from sandbar.store.postgres.session import PostgresSession
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore

url, ws, where = sys.argv[1:]

def hold(*_):
    print("held", flush=True)
    time.sleep(60)

def work(tx):
    tx.change(Change(tx.new_id(), 1, "{}", [(5, b"k")], ()), None)
    if where == "work":
        hold()

if where == "commit":
    PostgresSession.commit = hold
wanted = Wanted((1, 2), ((5, b"k"),))
PostgresStore(url).submit(int(ws), work, wanted=wanted).result()
"""


def kill_all(admin: str) -> None:
    """End every session of the server's role in this database, all at once."""
    with psycopg.connect(admin, autocommit=True) as connection:
        killed = connection.execute(
            """
            SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'sandbar_app'
            """
        ).fetchall()
        until_s = time.monotonic() + 5
        left = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
        while connection.execute(left, ([pid for pid, _ in killed],)).fetchone() != (0,):
            assert time.monotonic() < until_s
            time.sleep(0.005)


def test_reads_and_writes_survive_the_death_of_every_connection(
    postgres_place: Place, installed_admin: str
) -> None:
    store = postgres_place.open()
    ws = new_workspace(store)
    id = create(store, ws)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(store.snapshot(ws))
    for _ in range(2):
        kill_all(installed_admin)
        assert current(store, ws, id) is not None
        kill_all(installed_admin)
        with store.snapshot(ws) as snapshot:
            assert snapshot.entity(id) is not None
        kill_all(installed_admin)
        create(store, ws)
    assert store.point(ws, id)[0].t == 3


def test_a_snapshot_whose_connection_dies_fails_typed_and_once(
    postgres_place: Place, installed_admin: str
) -> None:
    store = postgres_place.open()
    ws = new_workspace(store)
    with store.snapshot(ws) as snapshot:
        kill_all(installed_admin)
        with pytest.raises(Unavailable) as caught:
            snapshot.entity(1)
    assert caught.value.code == "store.lost"
    assert current(store, ws, 1) is None


def test_a_server_that_is_not_there_is_said_to_be_lost(postgres_place: Place) -> None:
    with pytest.raises(Unavailable) as caught:
        PostgresStore("postgresql://sandbar_app@127.0.0.1:1/none")
    assert caught.value.code == "store.lost"
    with pytest.raises(Incorrect) as refused:
        PostgresStore("postgresql://x@y/z?no_such_word=1")
    assert refused.value.code == "store.cannot-open"


def test_a_row_that_the_database_refuses_fails_alone(postgres_place: Place) -> None:
    store = postgres_place.another()
    ws = new_workspace(store)
    too_long = os.urandom(3000)
    futures = together(store, ws, [creating(), creating((5, too_long)), creating()])
    error = futures[1].exception()
    assert isinstance(error, Incorrect)
    assert error.code == "store.unstorable"
    assert [futures[n].result().t for n in (0, 2)] == [1, 2]
    assert all(current(store, ws, futures[n].result().id) for n in (0, 2))


def test_a_call_that_would_block_an_event_loop_is_refused(postgres_place: Place) -> None:
    store = postgres_place.another()
    ws = new_workspace(store)

    async def on_the_loop() -> None:
        for call in (
            lambda: store.point(ws, 1),
            lambda: store.snapshot(ws).__enter__(),
            lambda: store.workspace("x"),
            lambda: store.create_workspace("x"),
        ):
            with pytest.raises(Fault) as caught:
                call()
            assert caught.value.code == "store.blocking-call"
        loop, answered = asyncio.get_running_loop(), asyncio.Event()
        answer = store.submit(ws, creating())

        def tell(_: object) -> None:
            loop.call_soon_threadsafe(answered.set)

        answer.add_done_callback(tell)
        await answered.wait()
        assert answer.result().t == 1
        assert (await asyncio.to_thread(store.point, ws, 1))[1] is not None

    asyncio.run(on_the_loop())


def test_a_crowd_of_readers_waits_and_then_is_told(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ACQUIRE_TIMEOUT_S", 0.2)
    store = postgres_place.open()
    ws = new_workspace(store)
    with ExitStack() as stack:
        for _ in range(pool.CONNECTIONS_MAX):
            stack.enter_context(store.snapshot(ws))
        with pytest.raises(Unavailable) as caught:
            store.point(ws, 1)
        assert caught.value.code == "store.busy"
    assert store.point(ws, 1)[0].t == 0


def test_a_writer_waits_for_its_neighbour_but_not_for_ever(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOCK_PATIENCE_S", 0.1)
    monkeypatch.setitem(connection._WRITER, "lock_timeout", "300ms")
    store, other = postgres_place.open(), postgres_place.open()
    ws = new_workspace(store)
    gate = Gate(store, ws)
    started_s = time.monotonic()
    futures = [other.submit(ws, creating()) for _ in range(20)]
    errors = [future.exception(20) for future in futures]
    gate.open()
    assert {error.code for error in errors if isinstance(error, Unavailable)} == {"store.busy"}
    assert time.monotonic() - started_s < 4, "a batch that cannot begin fails as one"
    gate.future.exception(10)
    assert create(other, ws) == 1


def test_frozen_holders_free_their_workspaces_within_seconds(postgres_place: Place) -> None:
    store = postgres_place.open()
    with ExitStack() as holders:
        held = [
            holders.enter_context(_frozen(postgres_place, store, w)) for w in ("work", "commit")
        ]
        started_s = time.monotonic()
        for ws in held:
            assert write(store, ws, creating()).t == 1
            assert 1 < time.monotonic() - started_s < 8


@contextmanager
def _frozen(place: Place, store: Store, where: str) -> Iterator[int]:
    """A workspace whose lock a process holds that does nothing any more."""
    ws = new_workspace(store)
    command = [sys.executable, "-c", HOLD, place.address, str(ws), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        os.kill(holder.pid, signal.SIGSTOP)
        try:
            yield ws
        finally:
            holder.kill()


@pytest.mark.parametrize("looks_afterwards", [False, True])
def test_a_write_that_is_silent_for_too_long_is_told_so(
    postgres_place: Place, monkeypatch: pytest.MonkeyPatch, looks_afterwards: bool
) -> None:
    """It gets a second run, since it may only have been frozen; a slow one fails again."""
    monkeypatch.setitem(connection._WRITER, "idle_in_transaction_session_timeout", "200ms")
    store = postgres_place.open()
    ws = new_workspace(store)
    naps_s = [0.5, 0.0, 0.5, 0.5]

    def work(tx: Transaction) -> None:
        time.sleep(naps_s.pop(0))
        if looks_afterwards:
            tx.entity(1)
        creating()(tx)

    write(store, ws, work)
    assert store.point(ws, 1)[0].t == 1
    with pytest.raises(Interrupted) as caught:
        write(store, ws, work)
    assert caught.value.code == "store.too-slow"
    assert caught.value.hint == "do the slow work outside the transaction"
    assert naps_s == []
    assert create(store, ws) == 2


def test_a_server_that_takes_no_more_connections_says_so(fresh_postgres: str) -> None:
    url = install(fresh_postgres)
    with psycopg.connect(fresh_postgres, autocommit=True) as admin:
        name = psycopg.sql.Identifier(admin.info.dbname)
        admin.execute(psycopg.sql.SQL("ALTER DATABASE {} CONNECTION LIMIT 0").format(name))
    for use in (lambda: PostgresStore(url), lambda: connection.open_reader(url)):
        with pytest.raises(Unavailable) as caught:
            use()
        assert caught.value.code == "store.crowded"
        assert "max_connections" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "said",
    [
        "FATAL:  sorry, too many clients already",
        "FATAL:  remaining connection slots are reserved for non-replication superuser connections",
        'FATAL:  too many connections for role "sandbar_app"',
    ],
)
def test_however_it_says_so(said: str) -> None:
    refused = psycopg.OperationalError(f'connection to server at "127.0.0.1" failed: {said}')
    assert connection.problem_of(refused).code == "store.crowded"
