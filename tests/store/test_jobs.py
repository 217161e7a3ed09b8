"""Jobs: scheduled by transactions, held under tokens, and nobody's again when time is up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from sandbar import clock
from sandbar.errors import Conflict, Fault, Unavailable
from sandbar.store.api import Claim, Store, Transaction
from sandbar.store.migrate import migrations_of
from sandbar.store.pieces import Change
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite.store import SqliteStore
from tests.store.conftest import Place, new_workspace
from tests.store.writing import Work, create, creating, together, write

HOUR_S = 3600.0
HOUR_US = 3_600_000_000
SOMETHING = creating()
ENDED_S = 0.0  # a lease that is over as soon as it begins


@pytest.fixture
def place(own_place: Place) -> Place:
    """Whoever claims, claims in all workspaces: these tests share no database."""
    return own_place


def scheduling(*ids: int, due_us: int | None = 0) -> Work:
    """Have the jobs of these be due then."""

    def work(tx: Transaction) -> None:
        for id in ids:
            tx.schedule(id, due_us)

    return work


def fenced(claim: Claim, then: Work = SOMETHING) -> Work:
    """Something in the name of whoever holds a job."""

    def work(tx: Transaction) -> Any:
        tx.require_job(claim.id, claim.token)
        return then(tx)

    return work


def assert_lost(store: Store, claim: Claim) -> None:
    """Whoever made this claim holds nothing any more, and can do nothing by it."""
    before = store.head(claim.ws).t
    with pytest.raises(Conflict) as caught:
        write(store, claim.ws, fenced(claim))
    assert caught.value.code == "job.lost"
    assert store.head(claim.ws).t == before
    assert not store.jobs.renew(claim.ws, claim.id, claim.token, HOUR_S)


def assert_held(store: Store, claim: Claim) -> None:
    """Whoever made this claim can write by it, and hold it for longer."""
    before = store.head(claim.ws).t
    write(store, claim.ws, fenced(claim))
    assert store.head(claim.ws).t == before + 1
    assert store.jobs.renew(claim.ws, claim.id, claim.token, HOUR_S)


def claimed(store: Store, lease_s: float = HOUR_S) -> Claim:
    """The one job that is due."""
    (claim,) = store.jobs.claim("worker", 9, lease_s)
    return claim


# --- claiming --------------------------------------------------------------------------------


def test_jobs_that_are_due_are_handed_out_oldest_first_and_once(store: Store) -> None:
    ws = store.create_workspace("shop")
    for id, due_us in ((5, 300), (6, 100), (7, 200)):
        write(store, ws, scheduling(id, due_us=due_us))
    assert store.jobs.is_due()
    first = store.jobs.claim("a", 2, HOUR_S)
    second = store.jobs.claim("b", 2, HOUR_S)
    assert [claim[:3] for claim in first] == [(ws, "shop", 6), (ws, "shop", 7)]
    assert [claim.id for claim in second] == [5]
    assert [claim.due_us for claim in first + second] == [100, 200, 300]
    tokens = {claim.token for claim in first + second}
    assert len(tokens) == 3
    assert all(0 < token < 1 << 63 for token in tokens)
    assert not store.jobs.is_due()
    assert store.jobs.claim("c", 2, HOUR_S) == []
    for claim in first + second:
        assert_held(store, claim)


def test_nothing_is_due_before_its_time(store: Store, ws: int) -> None:
    assert store.jobs.next_due_s() is None
    assert not store.jobs.is_due()
    write(store, ws, scheduling(1, due_us=clock.now_us() + HOUR_US))
    assert not store.jobs.is_due()
    assert store.jobs.claim("a", 9, HOUR_S) == []
    left_s = store.jobs.next_due_s()
    assert left_s is not None
    assert HOUR_S - 60 < left_s <= HOUR_S
    write(store, ws, scheduling(2, due_us=clock.now_us() - HOUR_US))
    assert store.jobs.is_due()
    assert store.jobs.next_due_s() == 0.0


def test_what_becomes_due_is_claimed_when_it_is(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1, due_us=clock.now_us() + 200_000))
    left_s = store.jobs.next_due_s()
    assert left_s is not None
    assert left_s < 0.25
    clock.pause_s(left_s + 0.01)
    assert claimed(store).id == 1


def test_no_more_is_claimed_than_is_asked_for(store: Store, ws: int) -> None:
    write(store, ws, scheduling(*range(1, 31)))
    sizes = [len(store.jobs.claim("a", 12, HOUR_S)) for _ in range(4)]
    assert sizes == [12, 12, 6, 0]


# --- holding ---------------------------------------------------------------------------------


def test_of_a_workspace_that_is_spared_only_what_was_due_from_a_moment_on(store: Store) -> None:
    one, other = new_workspace(store), new_workspace(store)
    past_us = clock.now_us() - HOUR_US
    for ws in (one, other):
        write(store, ws, scheduling(11))
        write(store, ws, scheduling(12, due_us=past_us))
    timers = store.jobs.claim("me", 9, HOUR_S, None)
    assert {(claim.ws, claim.id) for claim in timers} == {(one, 12), (other, 12)}
    rest = store.jobs.claim("me", 9, HOUR_S, [one])
    assert [(claim.ws, claim.id) for claim in rest] == [(other, 11)]
    assert [(claim.ws, claim.id) for claim in store.jobs.claim("me", 9, HOUR_S)] == [(one, 11)]


def test_a_lease_that_is_over_can_be_taken_over_and_then_its_token_counts_no_more(
    store: Store, ws: int
) -> None:
    write(store, ws, scheduling(1))
    first = claimed(store, ENDED_S)
    assert_held(store, first)  # nobody else had wanted it, and it was renewed by that
    assert store.jobs.claim("b", 9, HOUR_S) == []
    assert store.jobs.renew(ws, 1, first.token, ENDED_S)
    second = claimed(store)
    assert second.token != first.token
    assert_lost(store, first)
    store.jobs.release(ws, 1, first.token)
    assert_held(store, second)
    assert not store.jobs.is_due()


def test_the_next_job_may_be_one_that_is_held_once_its_lease_ends(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1, 2))
    short, long = store.jobs.claim("a", 2, HOUR_S)
    assert store.jobs.renew(ws, short.id, short.token, 0.3)
    left_s = store.jobs.next_due_s()
    assert left_s is not None
    assert 0.0 < left_s <= 0.3
    clock.pause_s(left_s + 0.01)
    assert store.jobs.is_due()
    assert claimed(store).id == short.id
    assert_lost(store, short)
    assert_held(store, long)


def test_a_job_is_given_back_at_once_or_for_later(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    first = claimed(store)
    store.jobs.release(ws, 1, first.token)
    assert_lost(store, first)
    second = claimed(store)
    assert abs(second.due_us - clock.now_us()) < 60_000_000
    store.jobs.release(ws, 1, second.token, delay_s=HOUR_S)
    assert_lost(store, second)
    assert not store.jobs.is_due()
    left_s = store.jobs.next_due_s()
    assert left_s is not None
    assert HOUR_S - 60 < left_s <= HOUR_S


def test_whoever_takes_a_job_over_is_told_so(store: Store, ws: int) -> None:
    """From somebody else who let the lease run out; not from nobody, nor from itself."""

    def taken_over_by(owner: str, lease_s: float = ENDED_S) -> bool:
        ((*_, token, _, is_taken_over),) = store.jobs.claim(owner, 9, lease_s)
        assert isinstance(is_taken_over, bool)
        held.append(token)
        return is_taken_over

    held: list[int] = []
    write(store, ws, scheduling(1))
    assert not taken_over_by("a")
    assert not taken_over_by("a")
    assert taken_over_by("b")
    assert taken_over_by("a")
    store.jobs.release(ws, 1, held[-1])
    assert not taken_over_by("b")
    write(store, ws, scheduling(1))
    assert not taken_over_by("c")


def test_a_job_that_nobody_holds_can_be_written_for_by_nobody(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    for id in (1, 2):  # one that was never claimed, one that is not there
        assert_lost(store, Claim(ws, "", id, 7, 0))


# --- scheduling ------------------------------------------------------------------------------


def test_a_job_that_is_scheduled_anew_is_nobodys(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    first = claimed(store)
    write(store, ws, fenced(first, scheduling(1, due_us=5)))
    assert_lost(store, first)
    second = claimed(store)
    assert second.due_us == 5
    assert_held(store, second)


def test_a_job_that_is_done_leaves_nothing(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1, 2))
    one, two = store.jobs.claim("a", 2, ENDED_S)
    write(store, ws, fenced(one, scheduling(1, due_us=None)))
    assert_lost(store, one)
    assert_held(store, two)
    write(store, ws, scheduling(2, 3, due_us=None))
    assert store.jobs.claim("b", 9, HOUR_S) == []
    assert store.jobs.next_due_s() is None


def test_the_last_word_of_a_transaction_counts(store: Store, ws: int) -> None:
    def work(tx: Transaction) -> None:
        for id, *moments in ((1, 9, None), (2, None, 9), (3, 9, 8)):
            for due_us in moments:
                tx.schedule(id, due_us)

    write(store, ws, work)
    claims = store.jobs.claim("a", 9, HOUR_S)
    assert [(claim.id, claim.due_us) for claim in claims] == [(3, 8), (2, 9)]


def test_a_transaction_that_fails_schedules_nothing(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    held = claimed(store)

    def failing(tx: Transaction) -> None:
        scheduling(1, 2)(tx)
        raise ValueError

    futures = together(store, ws, [failing, creating(), scheduling(3)])
    assert isinstance(futures[0].exception(), ValueError)
    assert_held(store, held)
    assert claimed(store).id == 3


def test_to_schedule_alone_takes_no_transaction_number(store: Store, ws: int) -> None:
    create(store, ws)
    before = store.head(ws)
    write(store, ws, scheduling(1))
    assert store.head(ws) == before
    assert claimed(store).id == 1

    def both(tx: Transaction) -> None:
        creating()(tx)
        tx.schedule(2, 0)

    write(store, ws, both)
    assert store.head(ws).t == before.t + 1
    assert claimed(store).id == 2


def test_of_a_batch_those_who_come_later_see_what_was_scheduled(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1, 2, 3))
    one, two, three = store.jobs.claim("a", 9, HOUR_S)
    futures = together(
        store,
        ws,
        [
            fenced(one, scheduling(1)),
            fenced(one),
            scheduling(2, due_us=None),
            fenced(two),
            fenced(three),
        ],
    )
    codes = [getattr(future.exception(), "code", None) for future in futures]
    assert codes == [None, "job.lost", None, "job.lost", None]
    assert store.head(ws).t == 1


def test_a_transaction_is_not_fenced_off_by_itself(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    held = claimed(store)

    def work(tx: Transaction) -> None:
        tx.schedule(1, 4)
        fenced(held)(tx)

    write(store, ws, work)
    assert claimed(store).due_us == 4


# --- workspaces ------------------------------------------------------------------------------


def test_jobs_of_workspaces_are_apart(store: Store) -> None:
    mine, other = store.create_workspace("mine"), store.create_workspace("other")
    for ws, due_us in ((mine, 1), (other, 2)):
        write(store, ws, scheduling(1, due_us=due_us))
    here, there = store.jobs.claim("a", 9, HOUR_S)
    assert [here[:3], there[:3]] == [(mine, "mine", 1), (other, "other", 1)]
    for ws, token in ((mine, there.token), (other, here.token)):
        assert_lost(store, Claim(ws, "", 1, token, 0))
        store.jobs.release(ws, 1, token)
    for claim in (here, there):
        assert_held(store, claim)
    write(store, mine, scheduling(1, due_us=None))
    assert_lost(store, here)
    assert_held(store, there)


def test_whoever_is_erased_has_no_job(store: Store, ws: int) -> None:
    for _ in range(2):
        create(store, ws)
    write(store, ws, scheduling(1, 2))

    def erase(tx: Transaction) -> None:
        tx.change(Change(1, 1, None, (), ()), tx.entity(1))
        tx.erase(1)

    write(store, ws, erase, alone=True)
    assert claimed(store).id == 2


# --- the store's life ------------------------------------------------------------------------


def test_jobs_and_leases_outlive_the_store(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    write(store, ws, scheduling(1, 2))
    (held,) = store.jobs.claim("a", 1, HOUR_S)
    store.close()
    again = place.open()
    assert claimed(again).id == 2
    assert_held(again, held)


def test_a_closed_store_hands_out_nothing(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    write(store, ws, scheduling(1))
    claim = claimed(store)
    store.close()
    for call in (
        store.jobs.is_due,
        store.jobs.next_due_s,
        lambda: store.jobs.claim("a", 1, HOUR_S),
        lambda: store.jobs.renew(ws, 1, claim.token, HOUR_S),
        lambda: store.jobs.release(ws, 1, claim.token),
    ):
        with pytest.raises(Unavailable) as caught:
            call()
        assert caught.value.code == "store.closed"


def test_a_closed_store_keeps_no_connection(
    new_place: Place, request: pytest.FixtureRequest
) -> None:
    def is_connected() -> bool:
        if new_place.dialect == "sqlite":  # whoever is the last to close a file takes its log away
            return Path(f"{new_place.address}-wal").exists()
        with psycopg.connect(request.getfixturevalue("fresh_postgres")) as connection:
            asked = connection.execute(
                "SELECT EXISTS (SELECT FROM pg_stat_activity "
                "WHERE datname = current_database() AND usename = 'sandbar_app')"
            ).fetchone()
        return asked == (True,)

    store = new_place.open()
    write(store, new_workspace(store), scheduling(1))
    claimed(store)
    assert is_connected()
    store.close()
    until_s = clock.monotonic_s() + 5.0  # a server notices a moment later
    while is_connected():
        assert clock.monotonic_s() < until_s
        clock.pause_s(0.02)


def test_from_inside_a_transaction_nobody_can_wait_for_its_own_lock(store: Store, ws: int) -> None:
    write(store, ws, scheduling(1))
    works: list[Work] = [
        lambda tx: store.jobs.claim("a", 1, HOUR_S),
        lambda tx: store.jobs.renew(ws, 1, 1, HOUR_S),
        lambda tx: store.jobs.release(ws, 1, 1),
    ]
    for work in works:
        with pytest.raises(Fault) as caught:
            write(store, ws, work)
        assert caught.value.code == "writer.reentrant"


def test_a_sqlite_file_from_before_there_were_jobs_gets_them(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    file = apsw.Connection(path)
    for migration in migrations_of("sandbar.store.sqlite")[:3]:
        file.execute(migration.sql)
        file.execute("INSERT INTO migration VALUES (?, ?)", migration[:2])
    file.execute("INSERT INTO workspace VALUES (1, 'old', 0, 0, 7, 1, 0)")
    file.close()
    store = SqliteStore(path)
    _serves_jobs(store)
    store.close()


def test_a_postgres_database_from_before_there_were_jobs_gets_them(fresh_postgres: str) -> None:
    with psycopg.connect(fresh_postgres) as connection:
        connection.execute("CREATE SCHEMA sandbar")
        for migration in migrations_of("sandbar.store.postgres")[:3]:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO sandbar.migration VALUES (%s, %s)", migration[:2])
        connection.execute("SELECT sandbar.create_workspace('old', 7)")
    store = PostgresStore(install(fresh_postgres))
    _serves_jobs(store)
    store.close()


def _serves_jobs(store: Store) -> None:
    ws = store.workspace("old")
    assert ws is not None
    write(store, ws, scheduling(1))
    assert_held(store, claimed(store))


# --- what it costs ---------------------------------------------------------------------------


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that reaches the database from here on, of connections made from here on."""
    heard: list[str] = []

    def note(cursor: object, sql: str, bindings: object) -> bool:
        heard.append(sql)
        return True

    def hear(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, hear])
    execute = psycopg.Connection.execute

    def heard_by_us(self: Any, query: Any, *args: Any, **options: Any) -> Any:
        heard.append(str(query))
        return execute(self, query, *args, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", heard_by_us)
    return heard


def test_who_schedules_nothing_pays_nothing_and_a_batch_pays_once(
    statements: list[str], place: Place
) -> None:
    store = place.another()
    ws = new_workspace(store)

    def of_jobs(*works: Work) -> int:
        statements.clear()
        for future in together(store, ws, works):
            future.result()
        assert statements, "nothing was heard at all"
        return sum("job" in sql for sql in statements)

    rows = {"sqlite": 3, "postgres": 1}[place.dialect]  # SQLite runs its one statement per row
    assert of_jobs(creating(), creating(), creating()) == 0
    assert of_jobs(scheduling(1), creating(), scheduling(2, 3)) == rows
    assert of_jobs(scheduling(1, due_us=None), scheduling(2), scheduling(3)) == rows
