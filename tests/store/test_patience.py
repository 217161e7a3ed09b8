"""Whoever no longer waits is no longer worked for: reads stop soon, writes before they begin."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import apsw
import psycopg
import pytest

from sandbar.errors import Interrupted
from sandbar.model import Workspace
from sandbar.model.core import TYPE
from sandbar.patience import Patience, check, current, limited
from sandbar.store.api import Store, Transaction
from sandbar.store.postgres import pool
from sandbar.store.postgres.connection import STATEMENT_S_MAX, limit_ms
from sandbar.store.scan import Between, Equals, Scan
from sandbar.store.sqlite import store as sqlite_store
from sandbar.store.sqlite.connection import open_reader
from tests.store.conftest import Place
from tests.store.writing import WAIT_S, Gate, create, creating

ROWS = 100_000
DEADLINE_S = 0.02
SOON_S = 0.05

COPY_IN_SQLITE = """
WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < :rows)
INSERT INTO slot (ws, property, value, id, since)
SELECT s.ws, s.property, s.value, s.id + n, s.since FROM slot s, copy
WHERE s.ws = :ws AND s.id = :id;
WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < :rows)
INSERT INTO entity (place, class, t, doc)
SELECT e.place + n, e.class, e.t, e.doc FROM entity e, copy WHERE e.ws = :ws AND e.id = :id;
UPDATE workspace SET next_id = next_id + :rows WHERE ws = :ws;
"""
COPY_IN_POSTGRES = """
INSERT INTO sandbar.slot (ws, property, value, id, since)
SELECT s.ws, s.property, s.value, s.id + n, s.since
FROM sandbar.slot s, generate_series(1, {rows}) n WHERE s.ws = {ws} AND s.id = {id};
INSERT INTO sandbar.entity (ws, id, class, t, doc)
SELECT e.ws, e.id + n, e.class, e.t, e.doc
FROM sandbar.entity e, generate_series(1, {rows}) n WHERE e.ws = {ws} AND e.id = {id};
UPDATE sandbar.workspace SET next_id = next_id + {rows} WHERE ws = {ws};
"""


class Crowd:
    """A workspace with a hundred thousand like entities."""

    def __init__(self, place: Place, admin: Callable[[], str]) -> None:
        self.place = place
        self.store = place.open()
        name = f"crowd-{uuid4()}"
        self.workspace = Workspace.open(self.store, name)
        self.workspace.define(
            {"one/number": {"dt/range": "db.type/long"}},
            {"one/One": {"dt/slots": ["one/number"]}},
            principal="test",
        )
        create_one = {"op": "create", "class": "one/One", "slots": {"one/number": 7}}
        self.id = self.workspace.transact([create_one], principal="test").entity_id
        ws = self.store.workspace(name)
        assert ws is not None
        self.ws = ws
        with self.store.snapshot(ws) as snapshot:  # it will be that of all the copies
            self.type_key = snapshot.scan(Scan(Between(TYPE, None, None), 10**6))[-1].key
        if place.dialect == "sqlite":
            file = apsw.Connection(place.address)
            file.execute(COPY_IN_SQLITE, {"ws": ws, "id": self.id, "rows": ROWS}).fetchall()
            file.close()
        else:
            with psycopg.connect(admin()) as connection:
                statement = COPY_IN_POSTGRES.format(ws=ws, id=self.id, rows=ROWS)
                connection.execute(statement.encode())
        with self.store.snapshot(ws) as snapshot:
            row = snapshot.entity(self.id)
            assert row is not None

    def scan_all(self, store: Store | None = None) -> int:
        """One statement that walks all of them."""
        with (store or self.store).snapshot(self.ws) as snapshot:
            return len(snapshot.scan(Scan(Equals(TYPE, (self.type_key,)), 10**6)))

    def query_all(self) -> int:
        """Many statements, and a look at every document, for nothing."""
        page = self.workspace.query("one/One", {"one/number": 8})
        return len(page.items)


made_once = pytest.mark.xdist_group("crowd")  # in one process, then


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def crowd(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Crowd]:
    """A hundred thousand entities in each kind of store, made once: nobody here changes them."""
    if request.param == "sqlite":
        address = str(tmp_path_factory.mktemp("crowd") / "crowd.db")
    else:
        address = request.getfixturevalue("installed_postgres")
    place = Place(request.param, address)
    yield Crowd(place, lambda: str(request.getfixturevalue("installed_admin")))
    place.close()


class Stopwatch:
    """How long interrupted blocks took; on two busy cores a single one says little."""

    def __init__(self) -> None:
        self._took_s: list[float] = []

    @contextmanager
    def interrupted(self, code: str) -> Iterator[None]:
        """The block ends with this code and a hint."""
        started_s = time.monotonic()
        with pytest.raises(Interrupted) as caught:
            yield
        self._took_s.append(time.monotonic() - started_s)
        assert caught.value.code == code
        assert caught.value.hint

    def figure(self) -> str:
        """What was measured."""
        worst_ms = max(self._took_s) * 1000
        return f"median {self.median_s() * 1000:.1f} ms, worst {worst_ms:.1f} ms"

    def median_s(self) -> float:
        """The time that is typical."""
        return sorted(self._took_s)[len(self._took_s) // 2]


Figure = Callable[[str, object], None]
TRIES = 7


def cancel_after(patience: Patience, seconds: float) -> threading.Timer:
    """Have it cancelled by another thread."""
    timer = threading.Timer(seconds, patience.cancel)
    timer.start()
    return timer


@made_once
def test_the_crowd_is_there_and_takes_longer_than_the_deadlines(crowd: Crowd) -> None:
    """The negative control of the tests below."""
    for work, found in ((crowd.scan_all, ROWS + 1), (crowd.query_all, 0)):
        started_s = time.monotonic()
        with limited(Patience(None)):
            assert work() == found
        assert time.monotonic() - started_s > DEADLINE_S + SOON_S
        with limited(Patience(WAIT_S)):
            assert work() == found


@made_once
@pytest.mark.parametrize("kind", ["scan_all", "query_all"])
def test_a_read_ends_soon_after_its_deadline(
    crowd: Crowd, kind: str, record_property: Figure
) -> None:
    watch = Stopwatch()
    for _ in range(TRIES):
        assert crowd.store.point(crowd.ws, crowd.id)[1] is not None
        with watch.interrupted("request.deadline"), limited(Patience(DEADLINE_S)):
            getattr(crowd, kind)()
    assert crowd.scan_all() == ROWS + 1
    record_property("figure", f"deadline 20 ms: {watch.figure()}")
    assert watch.median_s() < SOON_S


@made_once
@pytest.mark.parametrize("kind", ["scan_all", "query_all"])
def test_a_read_ends_soon_after_it_was_cancelled(
    crowd: Crowd, kind: str, record_property: Figure
) -> None:
    watch = Stopwatch()
    for n in range(TRIES):
        assert crowd.store.point(crowd.ws, crowd.id)[1] is not None
        patience = Patience(WAIT_S if n % 2 else None)
        timer = cancel_after(patience, DEADLINE_S)
        with watch.interrupted("request.cancelled"), limited(patience):
            getattr(crowd, kind)()
        timer.join()
    assert crowd.scan_all() == ROWS + 1
    record_property("figure", f"cancelled after 20 ms: {watch.figure()}")
    assert watch.median_s() < DEADLINE_S + SOON_S


@made_once
def test_no_look_is_taken_when_it_is_over_before(crowd: Crowd) -> None:
    calls: list[Callable[[], object]] = [
        lambda: crowd.store.point(crowd.ws, crowd.id),
        lambda: crowd.store.head(crowd.ws),
        crowd.scan_all,
        lambda: crowd.store.submit(crowd.ws, creating()),
        lambda: crowd.workspace.get(crowd.id),
    ]
    cancelled = Patience(None)
    cancelled.cancel()
    for patience in (Patience(0), cancelled):
        for call in calls:
            with pytest.raises(Interrupted), limited(patience):
                call()
    before = crowd.store.head(crowd.ws).t
    create_one = {"op": "create", "class": "one/One", "slots": {}}
    with Stopwatch().interrupted("request.deadline"), limited(Patience(0)):
        crowd.workspace.transact([create_one], principal="test")
    assert crowd.store.head(crowd.ws).t == before


@made_once
@pytest.mark.parametrize("crowd", ["sqlite"], indirect=True)
def test_a_reader_of_sqlite_is_kept_after_an_interruption(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[apsw.Connection] = []

    def opening(path: str) -> apsw.Connection:
        opened.append(open_reader(path))
        return opened[-1]

    monkeypatch.setattr(sqlite_store, "open_reader", opening)
    store = crowd.place.open()
    for _ in range(3):
        with pytest.raises(Interrupted), limited(Patience(DEADLINE_S)):
            crowd.scan_all(store)
    with limited(Patience(WAIT_S)):
        assert crowd.scan_all(store) == ROWS + 1
    assert crowd.scan_all(store) == ROWS + 1
    assert len(opened) == 1
    assert not opened[0].in_transaction


def test_a_line_for_connections_is_left_when_nobody_waits(postgres_place: Place) -> None:
    store = postgres_place.open()
    ws = store.create_workspace(f"line-{uuid4()}")
    held = [store.snapshot(ws) for _ in range(pool.CONNECTIONS_MAX)]
    for one in held:
        one.__enter__()
    watch = Stopwatch()
    for _ in range(TRIES):
        with watch.interrupted("request.deadline"), limited(Patience(DEADLINE_S)):
            store.point(ws, 1)
    assert watch.median_s() < SOON_S
    for one in held:
        one.__exit__(None, None, None)
    assert store.point(ws, 1)[0].t == 0


# --- writes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [DEADLINE_S, None])
def test_a_write_that_waits_is_taken_back(store: Store, ws: int, seconds: float | None) -> None:
    code = "request.cancelled" if seconds is None else "request.deadline"
    watch = Stopwatch()
    gate = Gate(store, ws)
    for _ in range(TRIES):
        patience = Patience(seconds)
        timer = cancel_after(patience, DEADLINE_S if seconds is None else 0.5)
        with watch.interrupted(code), limited(patience):
            store.submit(ws, creating((1, b"never"))).result()
        timer.cancel()
        timer.join()
    gate.open()
    gate.future.result(WAIT_S)
    create(store, ws)
    assert store.point_by_key(ws, 1, b"never")[1] is None
    assert store.head(ws).t == 1
    assert watch.median_s() < SOON_S


def outlast(patience: Patience) -> None:
    """Work for longer than somebody waits."""
    until_s = time.monotonic() + WAIT_S
    while not patience.is_over():
        assert time.monotonic() < until_s
        time.sleep(0.01)
    time.sleep(DEADLINE_S)


@pytest.mark.parametrize("seconds", [0.4, None])
def test_a_write_that_has_begun_is_answered_truthfully(
    store: Store, ws: int, seconds: float | None
) -> None:
    patience = Patience(seconds)

    def slowly(tx: Transaction) -> int:
        if seconds is None:
            patience.cancel()
        outlast(patience)
        creating()(tx)
        return tx.t

    with limited(patience):
        t = store.submit(ws, slowly).result()
        assert patience.is_over()
    assert store.head(ws).t == t


def test_a_write_that_fails_after_the_deadline_says_how(store: Store, ws: int) -> None:
    patience = Patience(0.4)

    def failing(_: Transaction) -> None:
        outlast(patience)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), limited(patience):
        store.submit(ws, failing).result()


def test_no_statement_of_the_writer_is_interrupted(store: Store, ws: int) -> None:
    """Only planning ends with the caller's patience: an interrupted statement can undo a batch."""
    for n in range(50):
        create(store, ws, (1, b"%d" % n))
    seen: list[Patience | None] = []
    patience = Patience(0.4)

    def reading(tx: Transaction) -> int:
        seen.append(current())
        outlast(patience)
        return len(tx.scan(Scan(Between(1, None, None), 100)))

    with limited(patience):
        assert store.submit(ws, reading, alone=True).result() == 50
    assert seen == [patience]


def test_planning_ends_with_the_patience_of_its_caller(store: Store, ws: int) -> None:
    """What it has collected is not written, and the next write finds the writer free."""
    patience = Patience(0.2)

    def planning(tx: Transaction) -> None:
        creating()(tx)
        while True:
            check()

    with pytest.raises(Interrupted) as refused, limited(patience):
        store.submit(ws, planning).result()
    assert refused.value.code == "request.deadline"
    assert store.head(ws).t == 0
    create(store, ws)


# --- patience itself -------------------------------------------------------------------------


def test_patience_belongs_to_a_thread_and_nests() -> None:
    outer, inner = Patience(10), Patience(0)
    check()
    with limited(outer):
        seen: list[Patience | None] = []
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
        assert seen == [None]
        with limited(inner):
            assert current() is inner
            with pytest.raises(Interrupted):
                check()
        with limited(None):
            check()
        assert current() is outer
        check()
    assert current() is None


def test_a_hook_is_called_once_and_not_after_it_was_left() -> None:
    patience, calls = Patience(None), []
    with patience.on_cancel(lambda: calls.append("left")):
        pass
    with patience.on_cancel(lambda: calls.append("first")):
        patience.cancel()
        patience.cancel()
        with patience.on_cancel(lambda: calls.append("late")):
            pass
    assert calls == ["first", "late"]
    assert patience.is_cancelled()
    assert Patience(5).remaining_s() == pytest.approx(5, abs=0.5)


@pytest.mark.parametrize("left_s", [0.0, 0.0001, 0.0194, 0.0196, 1.0, 29.9999])
def test_the_server_does_not_stop_a_statement_before_its_deadline(left_s: float) -> None:
    assert max(left_s * 1000, 1) <= limit_ms(left_s) < left_s * 1000 + 1.001


def test_no_statement_gets_more_than_the_most() -> None:
    assert limit_ms(3600.0) == STATEMENT_S_MAX * 1000
