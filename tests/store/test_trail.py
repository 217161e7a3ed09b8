"""The audit's rows and seals: appended, read, never changed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw
import psycopg
import pytest

from sandbar.errors import Fault, Problem, Unavailable
from sandbar.patience import Patience, limited
from sandbar.store.api import Store, Transaction
from sandbar.store.migrate import migrations_of
from sandbar.store.numbering import Numbers
from sandbar.store.postgres.install import install
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.sqlite import trail as sqlite_trail
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.trail import AuditRow, Note, Seal
from tests.store.conftest import Place, new_workspace
from tests.store.noting import at_once, everything, ids, note, notes
from tests.store.writing import WAIT_S, Gate, create, write


def test_an_appended_note_is_a_row_with_all_it_says(store: Store, ws: int) -> None:
    full = note(ws, key="key/laptop", verb="entity.get")
    full.is_success, full.code = False, "entity.unknown"
    bare = Note(ws, "bob", surface="stdio", method="ping")
    store.trail.append([full, bare])
    assert (full.is_kept, full.number) == (True, (store.trail.run, 1))
    first, second = everything(store, ws)
    assert 0 <= first.duration_us < WAIT_S * 1_000_000
    assert first == AuditRow(
        store.trail.run, 1, full.began_us, "ann", "key/laptop", "mcp", "tools/call", "entity.get",
        False, "entity.unknown", first.duration_us, "r",
    )  # fmt: skip
    assert second == AuditRow(
        store.trail.run, 2, bare.began_us, "bob", None, "stdio", "ping", None, True, None,
        second.duration_us, None,
    )  # fmt: skip
    assert (type(first.is_success), type(second.is_success)) == (bool, bool)


def test_a_note_has_one_row_however_often_it_is_appended(store: Store, ws: int) -> None:
    mine = note(ws)
    store.trail.append([mine, mine])
    store.trail.append([mine])
    store.trail.append([])
    assert ids(store, ws) == ["r"]


def test_words_that_no_database_takes_are_made_fit(store: Store, ws: int) -> None:
    strange = Note(ws, "a\0b", surface="s" * 999, method="half \udfff", verb="ä\U0001f600")
    store.trail.append([strange, note(ws, "beside")])
    row, _ = everything(store, ws)
    assert (row.principal, row.method, row.verb) == ("a?b", "half ?", "ä\U0001f600")
    assert row.surface == "s" * 256


def test_numbers_count_up_in_each_workspace_and_never_repeat(place: Place) -> None:
    store = place.another()
    spaces = [new_workspace(store) for _ in range(3)]
    made = [[note(ws, f"{thread}-{n}") for n in range(40) for ws in spaces] for thread in range(6)]

    def work(mine: list[Note]) -> None:
        for start in range(0, len(mine), 7):
            store.trail.append(mine[start : start + 7])

    at_once([lambda mine=mine: work(mine) for mine in made])  # type: ignore[misc]
    for ws in spaces:
        rows = everything(store, ws)
        assert [row.n for row in rows] == list(range(1, 241))
        assert {row.run for row in rows} == {store.trail.run}
        assert len({row.request_id for row in rows}) == 240
        assert store.trail.settled_n(ws) == 240
    numbers = [(one.ws, one.number) for mine in made for one in mine]
    assert len(set(numbers)) == len(numbers) == 720
    assert set(store.trail.workspaces_of_run()) == set(spaces)


def test_openings_have_runs_of_their_own(store: Store, ws: int, place: Place) -> None:
    other = place.another()
    assert 0 < store.trail.run != other.trail.run < 2**53
    store.trail.append(notes(ws, 2))
    other.trail.append(notes(ws, 3))
    found = sorted([(store.trail.run, 2), (other.trail.run, 3)])
    assert [(run, last) for run, last, _ in other.trail.runs(ws)] == found
    assert (other.trail.settled_n(ws), store.trail.settled_n(ws)) == (3, 2)


def test_a_later_run_has_a_greater_number(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = count(1_800_000_000_000_000, 16_000)
    monkeypatch.setattr("sandbar.clock.now_us", lambda: next(moments))
    runs = [Numbers().run for _ in range(50)]
    assert runs == sorted(set(runs))


def test_a_page_of_rows_is_newest_first_and_goes_on_at_its_cursor(store: Store, ws: int) -> None:
    made = notes(ws, 30)
    for n, one in enumerate(made):
        one.began_us = 1000 + n // 4  # some at the same moment
    store.trail.append(made)
    want = [str(n) for n in reversed(range(30))]
    assert [row.request_id for row in store.trail.rows(ws, limit=99)] == want
    seen: list[str | None] = []
    cursor = None
    while page := store.trail.rows(ws, limit=7, cursor=cursor):
        seen += [row.request_id for row in page]
        cursor = (page[-1].at_us, page[-1].run, page[-1].n)
    assert seen == want
    before = store.trail.rows(ws, limit=99, before_us=1003)
    assert [row.request_id for row in before] == want[-12:]
    assert store.trail.rows(ws, limit=99, before_us=1000) == []
    assert store.trail.rows(ws, limit=2, before_us=1003, cursor=cursor) == []
    assert store.trail.rows(new_workspace(store), limit=9) == []


def test_rows_can_be_asked_for_by_who_what_and_how_it_ended(store: Store, ws: int) -> None:
    made = notes(ws, 8)
    for n, one in enumerate(made):
        one.principal = "ann" if n < 4 else "bob"
        one.verb = (None, "entity.get", "entity.create")[n % 3]
        one.is_success = n % 2 == 0
    store.trail.append(made)
    rows = store.trail.rows
    assert [row.request_id for row in rows(ws, limit=9, principal="bob")] == [*"7654"]
    assert [row.request_id for row in rows(ws, limit=9, verb="entity.get")] == [*"741"]
    assert [row.request_id for row in rows(ws, limit=9, is_success=False)] == [*"7531"]
    assert [row.request_id for row in rows(ws, limit=9, is_success=True, principal="ann")] == [
        *"20"
    ]
    assert rows(ws, limit=9, principal="nobody") == []


def test_rows_of_a_run_are_given_by_number(store: Store, ws: int) -> None:
    store.trail.append(notes(ws, 9))
    run, trail = store.trail.run, store.trail
    assert [row.n for row in trail.rows_of(ws, run, after_n=2, last_n=6, limit=9)] == [3, 4, 5, 6]
    assert [row.n for row in trail.rows_of(ws, run, after_n=2, limit=3)] == [3, 4, 5]
    assert trail.rows_of(ws, run + 1, after_n=0, limit=9) == []
    assert trail.runs(ws)[0][:2] == (run, 9)


def test_how_far_runs_have_got_in_portions(store: Store, ws: int, place: Place) -> None:
    stores = [store, place.another(), place.another()]
    for rows, one in enumerate(stores, start=1):
        one.trail.append(notes(ws, rows))
    seal = Seal(1, stores[1].trail.run, 1, 2, 2, 5, b"h")
    store.trail.seal(ws, lambda last: seal)
    expected = sorted(
        (one.trail.run, rows, 2 if rows == 2 else 0) for rows, one in enumerate(stores, start=1)
    )
    found: list[tuple[int, int, int]] = []
    while ends := store.trail.run_ends(ws, after=found[-1][0] if found else 0, limit=2):
        assert len(ends) <= 2
        found += [(end.run, end.last_n, end.sealed_n) for end in ends]
    assert found == expected


def test_a_question_for_rows_ends_with_the_patience_of_who_asks(store: Store, ws: int) -> None:
    patience = Patience(10.0)
    patience.cancel()
    with limited(patience), pytest.raises(Problem) as caught:
        store.trail.rows(ws, limit=9)
    assert caught.value.code == "request.cancelled"
    assert store.trail.rows(ws, limit=9) == []


# --- seals -----------------------------------------------------------------------------------


def following(last: Seal | None, mark: bytes = b"") -> Seal:
    """A seal that says which one it follows."""
    number = last.number + 1 if last else 1
    return Seal(number, 7, number * 10 - 9, number * 10, 10, number, mark)


def test_seals_are_one_chain_in_each_workspace(store: Store, ws: int) -> None:
    trail = store.trail
    assert (trail.last_seal(ws), trail.last_sealed_n(ws, 7)) == (None, 0)
    made = [trail.seal(ws, following) for _ in range(4)]
    assert [seal.number for seal in made if seal] == [1, 2, 3, 4]
    assert trail.seals(ws, after=0, limit=99) == made
    assert trail.seals(ws, after=1, limit=2) == made[1:3]
    assert (trail.last_seal(ws), trail.last_sealed_n(ws, 7)) == (made[3], 40)
    assert trail.last_sealed_n(ws, 8) == 0
    assert trail.seal(ws, lambda last: None) is None
    assert trail.last_seal(new_workspace(store)) is None


@pytest.mark.parametrize("number", [1, 4])
def test_a_seal_that_follows_no_other_is_refused(store: Store, ws: int, number: int) -> None:
    for _ in range(2):
        store.trail.seal(ws, following)
    with pytest.raises(Fault) as caught:
        store.trail.seal(ws, lambda last: following(last)._replace(number=number))
    assert caught.value.code == "audit.seal-number"
    assert len(store.trail.seals(ws, after=0, limit=9)) == 2


def test_of_two_who_seal_at_once_one_follows_the_other(store: Store, ws: int, place: Place) -> None:
    """Both have read the same last seal before either of them stores its own."""
    both = threading.Barrier(2)
    turns: list[str] = []

    def making(who: bytes) -> Callable[[Seal | None], Seal]:
        def make(last: Seal | None) -> Seal:
            turns.append(who.decode())
            if turns.count(who.decode()) == 1:
                both.wait(WAIT_S)
            return following(last, who + (last.hash if last else b""))

        return make

    sealers = {b"a": store, b"b": place.another()}
    at_once([lambda who=who: sealers[who].trail.seal(ws, making(who)) for who in sealers])  # type: ignore[misc]
    first, second = store.trail.seals(ws, after=0, limit=9)
    assert (first.number, second.number) == (1, 2)
    assert second.hash == second.hash[:1] + first.hash, "the second one knows the first"
    assert len(turns) == 3, "whoever was slower has made its seal again"


PROCESS = """
import sys
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.postgres.store import PostgresStore
from tests.store.test_trail import following

dialect, address, ws, count, mark = sys.argv[1:]
store = {"sqlite": SqliteStore, "postgres": PostgresStore}[dialect](address)
print("open", flush=True)
sys.stdin.readline()
for _ in range(int(count)):
    store.trail.seal(int(ws), lambda last: following(last, mark.encode()))
store.close()
"""


def test_two_processes_never_make_the_same_seal(store: Store, ws: int, place: Place) -> None:
    command = [sys.executable, "-c", PROCESS, place.dialect, place.address, str(ws), "40"]
    pipe = subprocess.PIPE
    others = [subprocess.Popen([*command, m], stdin=pipe, stdout=pipe) for m in ("a", "b")]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
    for other in others:
        assert other.stdin is not None
        other.stdin.write(b"\n")
        other.stdin.flush()
    assert [other.wait(WAIT_S) for other in others] == [0, 0]
    for other in others:
        other.communicate()
    seals = store.trail.seals(ws, after=0, limit=999)
    assert [seal.number for seal in seals] == list(range(1, 81))
    assert sorted(seal.hash for seal in seals) == [b"a"] * 40 + [b"b"] * 40


# --- when keys were used ---------------------------------------------------------------------


def test_the_last_use_of_a_key_is_the_latest(store: Store, ws: int) -> None:
    uses = store.key_uses
    assert uses.uses(ws) == {}
    uses.note_uses(ws, {1: 100, 2: 200})
    uses.note_uses(ws, {1: 90, 2: 210, 3: 5})
    uses.note_uses(ws, {})
    assert uses.uses(ws) == {1: 100, 2: 210, 3: 5}
    assert uses.uses(new_workspace(store)) == {}


# --- where it may be called ------------------------------------------------------------------


def test_whoever_is_inside_a_transaction_cannot_wait_for_the_audit(store: Store, ws: int) -> None:
    works: list[Callable[[Transaction], object]] = [
        lambda tx: store.trail.append([note(ws)]),
        lambda tx: store.trail.seal(ws, following),
        lambda tx: store.key_uses.note_uses(ws, {1: 1}),
    ]
    for work in works:
        with pytest.raises(Fault) as caught:
            write(store, ws, work)
        assert caught.value.code == "writer.reentrant"
    assert everything(store, ws) == []


def test_a_closed_store_appends_no_more(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    store.trail.append([note(ws)])
    store.close()
    late = note(ws, "late")
    calls: list[Callable[[], object]] = [
        lambda: store.trail.append([late]),
        lambda: store.trail.seal(ws, following),
        lambda: store.key_uses.note_uses(ws, {1: 1}),
        lambda: store.trail.rows(ws, limit=1),
    ]
    for call in calls:
        with pytest.raises(Unavailable) as caught:
            call()
        assert caught.value.code == "store.closed"
    assert not late.is_kept


# --- SQLite ----------------------------------------------------------------------------------


def test_an_append_waits_for_whoever_writes(sqlite_place: Place) -> None:
    store = sqlite_place.open()
    ws = new_workspace(store)
    gate = Gate(store, ws)
    mine = note(ws)
    thread = threading.Thread(target=store.trail.append, args=([mine],))
    thread.start()
    assert ids(store, ws) == []
    gate.open()
    thread.join(WAIT_S)
    assert (ids(store, ws), mine.is_kept) == (["r"], True)
    assert create(store, ws) == 1


def test_on_postgres_nothing_is_at_once(postgres_place: Place) -> None:
    store = postgres_place.another()
    mine = note(new_workspace(store))
    assert not store.trail.append_at_once([mine])
    assert not mine.is_kept


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET is_success = 1",
        "DELETE FROM audit",
        "UPDATE seal SET hash = x'00'",
        "DELETE FROM seal WHERE number = 1",
    ],
)
def test_a_sqlite_file_lets_nobody_change_its_audit(sqlite_place: Place, statement: str) -> None:
    store = sqlite_place.open()
    ws = new_workspace(store)
    store.trail.append([note(ws)])
    store.trail.seal(ws, following)
    beside = apsw.Connection(sqlite_place.address)
    with pytest.raises(apsw.ConstraintError):
        beside.execute(statement)
    beside.execute("UPDATE workspace SET t = -1 WHERE ws = ?", (ws,))
    if statement.startswith("DELETE"):  # and that is what keeps them, as this shows
        beside.execute(statement)
    beside.close()


def test_a_log_that_has_grown_is_moved_into_the_file(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_trail, "_LOG_BYTES_MAX", 100_000)
    store = sqlite_place.open()
    ws = new_workspace(store)
    log = Path(f"{sqlite_place.address}-wal")
    for _ in range(10):
        for mine in notes(ws, 40):
            assert store.trail.append_at_once([mine])
        store.trail.checkpoint()
    assert len(everything(store, ws)) == 400
    assert log.stat().st_size < 1_200_000, "a log that begins anew does not grow"


def test_a_sqlite_file_from_before_the_audit_gets_it(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    file = apsw.Connection(path)
    for migration in migrations_of("sandbar.store.sqlite")[:4]:
        file.execute(migration.sql)
        file.execute("INSERT INTO migration VALUES (?, ?)", migration[:2])
    file.execute("INSERT INTO workspace VALUES (1, 'old', 0, 0, 7, 1, 0)")
    file.close()
    store = SqliteStore(path)
    _has_audit(store)
    store.close()


def test_a_postgres_database_from_before_the_audit_gets_it(fresh_postgres: str) -> None:
    with psycopg.connect(fresh_postgres) as connection:
        connection.execute("CREATE SCHEMA sandbar")
        for migration in migrations_of("sandbar.store.postgres")[:4]:
            connection.execute(migration.sql)
            connection.execute("INSERT INTO sandbar.migration VALUES (%s, %s)", migration[:2])
        connection.execute("SELECT sandbar.create_workspace('old', 7)")
    store = PostgresStore(install(fresh_postgres))
    _has_audit(store)
    store.close()


def _has_audit(store: Store) -> None:
    ws = store.workspace("old")
    assert ws is not None
    store.trail.append([note(ws)])
    store.trail.seal(ws, following)
    assert (ids(store, ws), store.trail.last_sealed_n(ws, 7)) == (["r"], 10)
    assert store.buckets.take(ws, 1, 1, 1) == 0
    assert store.workspaces() == [(ws, "old")]
