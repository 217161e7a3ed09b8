"""Duties: written with the commit that owes them, claimed by one, put off when they fail, shown."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import psycopg
import pytest

from sandbar.database.duties import Caretaker
from sandbar.errors import Problem, Unavailable
from sandbar.model import Workspace
from sandbar.patience import Patience, limited
from sandbar.store.api import Store, Transaction
from sandbar.store.owed import INDEX, SCRUB, Duty, pause_s
from sandbar.store.sqlite import erasure, owed
from sandbar.store.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer
from tests.store.conftest import Place
from tests.store.test_workspaces import admin_url
from tests.store.writing import create, write


def owe_index(place: Place, server: PostgresServer) -> None:
    """As a restore leaves it: every workspace is to be made searchable."""
    rows = "INSERT INTO {}owed SELECT ws, 'index', 0, 5, 0, 0 FROM {}workspace"
    if place.dialect == "sqlite":
        file = apsw.Connection(place.address)
        file.execute(rows.format("", ""))
        file.close()
    else:
        with psycopg.connect(admin_url(place, server)) as admin:
            admin.execute(rows.format("sandbar.", "sandbar.").encode())


def make_due(place: Place, server: PostgresServer) -> None:
    """As if all that was put off had waited long enough."""
    if place.dialect == "sqlite":
        file = apsw.Connection(place.address)
        file.execute("UPDATE owed SET due_us = 0")
        file.close()
    else:
        with psycopg.connect(admin_url(place, server)) as admin:
            admin.execute("UPDATE sandbar.owed SET due_us = 0")


def erase(store: Store, ws: int, id: int) -> None:
    """End an entity and all its past."""

    def work(tx: Transaction) -> None:
        tx.erase(id)

    write(store, ws, work, alone=True)


# --- claiming ----------------------------------------------------------------------------------


def test_nothing_is_owed_at_first(own_place: Place) -> None:
    store = own_place.another()
    store.create_workspace("a")
    assert (store.owed.duties(), store.owed.claim()) == ([], None)


def test_a_duty_is_given_to_one_at_a_time(
    own_place: Place, postgres_server: PostgresServer
) -> None:
    one, two = own_place.another(), own_place.another()
    numbers = [one.create_workspace(name) for name in "abc"]
    owe_index(own_place, postgres_server)
    duties = [Duty(ws, name, INDEX, 5, 0) for ws, name in zip(numbers, "abc", strict=True)]
    assert one.owed.duties() == duties
    claimed = [one.owed.claim(), two.owed.claim(), one.owed.claim()]
    assert claimed == duties
    assert (one.owed.claim(), two.owed.claim()) == (None, None)
    assert two.owed.duties() == duties, "a claim does nothing yet"
    make_due(own_place, postgres_server)
    assert two.owed.claim() == duties[0], "whoever claimed it may have died"


def test_of_many_who_claim_at_once_no_two_get_the_same(
    own_place: Place, postgres_server: PostgresServer
) -> None:
    stores = [own_place.another(), own_place.another()]
    for number in range(8):
        stores[0].create_workspace(f"w{number}")
    owe_index(own_place, postgres_server)
    got: list[Duty] = []
    start = threading.Barrier(4)

    def claim(store: Store) -> None:
        start.wait(10)
        while (duty := store.owed.claim()) is not None:
            got.append(duty)

    threads = [threading.Thread(target=claim, args=(stores[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(got) == sorted(stores[0].owed.duties())


def test_what_fails_is_put_off_for_longer_each_time(
    own_place: Place, postgres_server: PostgresServer
) -> None:
    store = own_place.another()
    store.create_workspace("a")
    owe_index(own_place, postgres_server)
    for tries in range(3):
        duty = store.owed.claim()
        assert duty is not None
        assert duty.tries == tries
        store.owed.postpone(duty)
        assert store.owed.claim() is None
        make_due(own_place, postgres_server)
    assert [pause_s(n) for n in (0, 1, 2, 11, 99)] == [1.0, 2.0, 4.0, 2048.0, 3600.0]


# --- the caretaker -----------------------------------------------------------------------------


def test_the_caretaker_makes_workspaces_searchable_that_nobody_opens(
    own_place: Place, postgres_server: PostgresServer
) -> None:
    store = own_place.another()
    made = [Workspace.open(store, name) for name in ("a", "b", "c")]
    store.drop_workspace("b")
    owe_index(own_place, postgres_server)
    Caretaker(store).work_off()
    assert all(duty.ws == made[1].number for duty in store.owed.duties())
    for workspace in (made[0], made[2]):
        assert workspace.search("class").items
    assert store.workspace("b") is None, "it makes none of those that are gone"


def test_the_caretaker_goes_on_with_others_when_one_fails(
    own_place: Place, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = own_place.another()
    numbers = [Workspace.open(store, name).number for name in ("a", "b")]
    owe_index(own_place, postgres_server)
    ready = Workspace.ready

    def failing(store: Store, ws: int) -> Workspace:
        if ws == numbers[0]:
            raise ValueError("a defect")
        return ready(store, ws)

    monkeypatch.setattr(Workspace, "ready", failing)
    Caretaker(store).work_off()
    assert store.owed.duties() == [Duty(numbers[0], "a", INDEX, 5, 1)]
    monkeypatch.undo()
    make_due(own_place, postgres_server)
    Caretaker(store).work_off()
    assert store.owed.duties() == []


def test_the_caretaker_stops_in_the_middle_of_it(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sqlite_place.open()
    ws = store.create_workspace("a")
    for _ in range(50):
        create(store, ws)
    erase(store, ws, 1)
    begun = threading.Event()
    merge = erasure._merge

    def slow(connection: apsw.Connection) -> None:
        merge(connection)
        begun.set()
        endless = (
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
        )
        connection.execute(endless)

    monkeypatch.setattr(erasure, "_merge", slow)
    caretaker = Caretaker(store)
    caretaker.start()
    assert begun.wait(10)
    assert caretaker.is_well()
    caretaker.stop()
    assert [(duty.duty, duty.tries) for duty in store.owed.duties()] == [(SCRUB, 1)]
    monkeypatch.undo()
    assert store.scrub()
    assert store.owed.duties() == []


# --- scrubbing a file --------------------------------------------------------------------------


@pytest.fixture
def file(sqlite_place: Place) -> str:
    """The path of a file that owes a scrub."""
    store = SqliteStore(sqlite_place.address)
    ws = store.create_workspace("a")
    create(store, ws, doc='"ZANZIBAR"')
    erase(store, ws, create(store, ws, doc='"second"'))
    assert [duty.duty for duty in store.owed.duties()] == [SCRUB]
    store.close()
    return sqlite_place.address


def test_a_commit_that_comes_meanwhile_is_owed_another_scrub(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(file, server=True)
    ws = store.workspace("a")
    assert ws is not None

    def overtaken(*given: object) -> bool:
        is_done = erasure.scrub(*given)  # type: ignore[arg-type]
        erase(store, ws, 1)
        return is_done

    monkeypatch.setattr(owed, "scrub", overtaken)
    assert store.scrub()
    monkeypatch.undo()
    assert len(store.owed.duties()) == 1
    assert store.scrub()
    assert store.owed.duties() == []
    store.close()


def test_while_somebody_reads_an_older_state_it_stays_owed_and_costs_nobody_much(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "_READER_S_MAX", 0.02)
    reader = apsw.Connection(file)
    store = SqliteStore(file, server=True)
    ws = store.workspace("a")
    assert ws is not None
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entity").fetchall()
    erase(store, ws, 1)
    log = Path(f"{file}-wal")
    before = log.stat().st_size
    for tries in range(2):
        assert not store.scrub()
        assert [duty.tries for duty in store.owed.duties()] == [tries + 1]
    assert log.stat().st_size < before + 100_000, "the file is not written to the log in vain"
    beside = SqliteStore(file)  # it is not due yet, and a server is there
    assert [duty.tries for duty in beside.owed.duties()] == [2]
    beside.close()
    reader.close()
    assert store.scrub()
    assert (store.owed.duties(), log.stat().st_size > 0) == ([], True)
    store.close()


def test_a_process_beside_a_server_leaves_it_to_the_server(file: str) -> None:
    served = SqliteStore(file, server=True)
    SqliteStore(file).close()
    assert len(served.owed.duties()) == 1
    served.close()
    SqliteStore(file).close()
    store = SqliteStore(file, server=True)
    assert store.owed.duties() == []
    store.close()


def test_what_a_server_was_at_when_it_died_is_done_by_the_next_to_open_the_file(file: str) -> None:
    served = SqliteStore(file, server=True)
    assert served.owed.claim() is not None
    served.close()
    store = SqliteStore(file)
    assert store.owed.duties() == []
    store.close()


def test_a_caller_who_waits_no_longer_leaves_it_owed(file: str) -> None:
    store = SqliteStore(file, server=True)
    patience = Patience(None)
    patience.cancel()
    with limited(patience):
        assert not store.scrub()
    assert len(store.owed.duties()) == 1
    store.close()


@pytest.mark.parametrize("code", ["store.full", "store.failed"])
def test_a_scrub_that_fails_is_no_failure_of_what_was_erased(
    file: str, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def fail(*given: object) -> bool:
        raise Unavailable(code, "no") if code == "store.full" else Problem(code, "no")

    monkeypatch.setattr(owed, "scrub", fail)
    store = SqliteStore(file)  # opening works off what is owed, or at least opens
    assert [duty.tries for duty in store.owed.duties()] == [1]
    store.close()
