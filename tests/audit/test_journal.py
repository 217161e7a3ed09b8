"""Every request gets its row: with its transaction, at once, soon, or not at all and says so."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import apsw
import pytest

import sandbar
from sandbar.audit import AuditRow, Journal, Note, accompanied, verify
from sandbar.errors import Problem, Unavailable
from sandbar.store.api import Store
from sandbar.store.sqlite.store import SqliteStore
from tests.audit.conftest import OwnedPlace
from tests.store.conftest import new_workspace
from tests.store.writing import create

WAIT_S = 30.0
KEY = "sk-sand-" + "0" * 64
KEYS = (KEY, f"x{KEY}", f"x_{KEY}", f"Bearer {KEY}", f"a.{KEY}", f"claude:{KEY}", KEY.upper())


def opened(journal: Journal, ws: int, method: str = "tools/call", **more: str) -> Note:
    return journal.open(ws, "user/anna", surface="mcp", method=method, **more)


def wait(journal: Journal, note: Note) -> None:
    journal.settle(note)


def wait_later(journal: Journal, note: Note) -> None:
    journal.settle_later(note).result(WAIT_S)


def at_once_or_wait(journal: Journal, note: Note) -> None:
    if not journal.settle_at_once([note]):
        journal.settle(note)


WAYS = (wait, wait_later, at_once_or_wait)


def rows(of: Store | Journal, ws: int) -> list[AuditRow]:
    return of.trail.rows_of(ws, of.trail.run, after_n=0, limit=1000)


def outcomes(store: Store, ws: int) -> list[tuple[bool, str | None]]:
    return [(row.is_success, row.code) for row in rows(store, ws)]


def test_a_row_says_who_what_and_how_it_ended(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    note = journal.open(
        ws,
        "user/anna",
        key="key/laptop",
        surface="mcp",
        method="tools/call",
        verb="entity.get",
        request_id="r-1",
    )
    note.is_success, note.code = False, "entity.unknown"
    journal.settle(note)
    (row,) = rows(store, ws)
    assert note.number == (row.run, row.n) == (store.trail.run, 1)
    assert row == AuditRow(
        *note.number,
        note.began_us,
        "user/anna",
        "key/laptop",
        "mcp",
        "tools/call",
        "entity.get",
        False,
        "entity.unknown",
        row.duration_us,
        "r-1",
    )
    assert 0 <= row.duration_us < 60_000_000


def test_a_note_is_settled_once_however_often_one_asks(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    note = opened(journal, ws)
    note.is_success, note.code = False, "x.y"
    for settle in WAYS * 2:
        settle(journal, note)
    assert outcomes(store, ws) == [(False, "x.y")]


def test_a_row_goes_with_its_transaction(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    note = opened(journal, ws)
    with accompanied(note):
        create(store, ws)
        create(store, ws)
    assert note.is_kept
    journal.settle(note)
    assert outcomes(store, ws) == [(True, None)]


def test_a_call_that_fails_after_its_transaction_gets_a_second_row(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    for settle in WAYS:
        note = opened(journal, ws, request_id="r-7")
        with accompanied(note):
            create(store, ws)
        first = note.number
        note.is_success, note.code = False, "request.deadline"
        settle(journal, note)
        settle(journal, note)
        assert note.number != first
    found = rows(store, ws)
    assert [(row.is_success, row.code) for row in found] == [(True, None), (False, note.code)] * 3
    assert {row.request_id for row in found} == {"r-7"}
    assert all(found[i].at_us == found[i + 1].at_us for i in (0, 2, 4))


def test_what_a_client_made_up_is_kept_only_if_it_looks_right(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    hostile = (
        *KEYS,
        "a\0b",
        "a b",
        "POST /mcp",
        "GET /mcp/sse x",
        "\ud800",
        "drop table; --",
        "",
        "ö" * 9,
    )
    for text in hostile:
        journal.settle(opened(journal, ws, text, verb=text, request_id=text))
    for row in rows(store, ws):
        assert (row.method, row.verb, row.request_id) == ("?", None, None)
    assert len(rows(store, ws)) == len(hostile)
    for method in ("GET /mcp", "GET /mcp/sse", "DELETE /mcp", "tools/call", "$/cancel"):
        verb = "sandbar_class_zorp_Boot"
        journal.settle(opened(journal, ws, method, verb=verb, request_id="a:b-1.c_2"))
        assert rows(store, ws)[-1][6:8] == (method, verb)
        assert rows(store, ws)[-1].request_id == "a:b-1.c_2"


def test_a_key_in_the_place_of_a_name_is_not_kept(tmp_path: Path) -> None:
    with sandbar.open(str(tmp_path / "a.db")) as db:
        for key in KEYS:
            with pytest.raises(Problem, match="verb"):
                db.call(key)
        kept = [row.verb for row in rows(db.journal, db.workspace.number)]
        assert kept[-len(KEYS) :] == ["?"] * len(KEYS)


def test_what_is_known_is_named_whatever_it_looks_like(tmp_path: Path) -> None:
    with sandbar.open(str(tmp_path / "a.db")) as db:
        db.define(classes={"work/Task-Item": {"dt/subclass-of": ["dt/Resource"]}})
        db.call("class.work.Task-Item", {})
        with pytest.raises(Problem, match=r"verb\.unknown|no verb"):
            db.call("class.work.Task-Thing", {})
        kept = [row.verb for row in rows(db.journal, db.workspace.number)]
        assert kept[-2:] == ["class.work.Task-Item", "?"]


def test_many_settle_together_and_every_answer_comes_after_its_row(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    late: list[Note] = []

    def look(note: Note, _: object) -> None:
        if not note.is_kept:
            late.append(note)

    def work() -> None:
        notes = [opened(journal, ws) for _ in range(200)]
        answers = [journal.settle_later(note) for note in notes]
        for note, answer in zip(notes, answers, strict=True):
            answer.add_done_callback(partial(look, note))
            answer.result(WAIT_S)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert late == []
    assert [row.n for row in rows(store, ws)] == list(range(1, 801))
    journal.close()
    assert verify(store.trail, ws).is_intact


def test_what_waits_is_settled_before_the_end(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    answers = [journal.settle_later(opened(journal, ws)) for _ in range(500)]
    journal.close()
    assert all(answer.done() for answer in answers)
    verdict = verify(store.trail, ws)
    assert (verdict.is_intact, verdict.rows, verdict.unsealed) == (True, 500, 0)


def test_whoever_comes_after_the_end_is_refused(place: OwnedPlace) -> None:
    """Nothing is added to a run that has ended, and nobody thinks that it was."""
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    journal.settle(opened(journal, ws))
    late, riding = opened(journal, ws), opened(journal, ws)
    journal.close()
    with accompanied(riding):
        create(store, ws)
    for note in (late, riding):
        for settle in WAYS:
            with pytest.raises(Unavailable) as refused:
                settle(journal, note)
            assert refused.value.code == "store.closed"
        assert not note.is_kept
    verdict = verify(store.trail, ws)
    assert (verdict.is_intact, verdict.rows, verdict.unsealed) == (True, 1, 0)


def test_at_once_means_that_nobody_waits(tmp_path: Path) -> None:
    """While another process holds the file, the row of a read waits beside it, and counts."""
    store = SqliteStore(tmp_path / "a.db")
    ws, journal = new_workspace(store), Journal(store)
    other = apsw.Connection(str(tmp_path / "a.db"))
    first, second = opened(journal, ws), opened(journal, ws)
    assert journal.settle_at_once([first])
    other.execute("BEGIN IMMEDIATE")
    assert journal.settle_at_once([second])
    assert second.is_kept
    assert len(rows(store, ws)) == 1
    other.execute("ROLLBACK")
    other.close()
    journal.close()
    verdict = verify(store.trail, ws)
    assert (verdict.is_intact, verdict.rows, verdict.unsealed) == (True, 2, 0)
    store.close()


def test_uses_of_keys_are_written_down(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    before = opened(journal, ws).began_us
    journal.used(ws, 17)
    journal.used(ws, 18)
    journal.used(ws, 17)
    journal.close()
    uses = store.key_uses.uses(ws)
    assert sorted(uses) == [17, 18]
    assert uses[17] >= uses[18] >= before


def test_a_closed_database_says_so(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    note = opened(journal, ws)
    store.close()
    for settle in WAYS:
        with pytest.raises(Problem) as refused:
            settle(journal, note)
        assert refused.value.code == "store.closed"
    journal.close()  # which must not fail, although it cannot seal
