"""The chain grows under load, from many processes, and over crashes; verifying it costs little."""

from __future__ import annotations

import random
import threading
import tracemalloc
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import pytest

from sandbar import clock
from sandbar.audit import AuditRow, Journal, Trail, Verdict, export, head_of, sealing, verify
from sandbar.audit.chain import LAST_N
from sandbar.audit.sealing import SEAL_ROWS_MAX, Adopter, Sealer, seal_rows
from sandbar.model import RunEnd
from tests.audit.conftest import OwnedPlace
from tests.audit.logs import random_note, write_rows
from tests.audit.vandal import LACKING, RawLog
from tests.conftest import Say
from tests.forked import CONTEXT, Forked
from tests.store.conftest import new_workspace

MANY = 10_240
MANY_BYTES_MAX = 4_000_000  # less than so many rows would take
WAIT_S = 30.0


def note_for_ever(told: Connection, dialect: str, address: str, ws: int) -> None:
    """Be asked again and again, in a process of its own, and tell every answer."""
    journal = Journal(OwnedPlace(dialect, address, address).open())
    while True:
        note = journal.open(ws, "user/anna", surface="mcp", method="tools/call")
        journal.settle(note)
        told.send(note.number)


def summary(verdict: Verdict) -> tuple[bool, int, int]:
    return verdict.is_intact, verdict.rows, verdict.unsealed


def test_a_thread_seals_what_is_new(place: OwnedPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "SEAL_EVERY_S", 0.2)
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    journal.start_sealing()
    for count in (1, 2):
        journal.settle(random_note(journal, ws, random.Random(1)))
        deadline_s = clock.monotonic_s() + WAIT_S
        while verify(store.trail, ws).unsealed and clock.monotonic_s() < deadline_s:
            clock.pause_s(0.02)
        assert summary(verify(store.trail, ws)) == (True, count, 0)
        assert journal.ailments(ws)["sealer"] is None
    journal.close()


def test_a_run_ends_with_a_seal_that_nothing_can_follow(place: OwnedPlace) -> None:
    store = place.open()
    ws, journal = new_workspace(store), Journal(store)
    sealer = Sealer(store, lambda: None)
    journal.settle(random_note(journal, ws, random.Random(1)))
    assert sealer.seal_own() == 1
    assert sealer.seal_own() == 0
    journal.close()
    seals = store.trail.seals(ws, after=0, limit=10)
    assert [(seal.first_n, seal.count) for seal in seals] == [(1, 1), (2, 0)]
    assert seals[-1].last_n == 2**53 - 1
    assert summary(verify(store.trail, ws)) == (True, 1, 0)


def test_workspaces_without_requests_get_no_seals(place: OwnedPlace) -> None:
    store = place.open()
    ws, empty = new_workspace(store), new_workspace(store)
    journal = Journal(store)
    journal.settle(random_note(journal, ws, random.Random(1)))
    journal.close()
    assert store.trail.last_seal(empty) is None
    verdict = verify(store.trail, empty)
    assert (verdict.is_intact, verdict.rows, verdict.seals, verdict.head) == (True, 0, 0, None)
    assert list(export(store.trail, empty, "empty"))[-1]["head"] is None


def test_what_a_killed_run_left_is_adopted(place: OwnedPlace, say: Say) -> None:
    """`kill -9` leaves rows that were answered, all of them, unsealed; a later run seals them."""
    store = place.open()
    ws = new_workspace(store)
    before = place.sessions()
    ours, told = CONTEXT.Pipe(duplex=False)
    with ours:
        victim = Forked(note_for_ever, told, place.dialect, place.address, ws)
        told.close()
        answered = [ours.recv() for _ in range(200)]
        theirs = place.sessions() - before
        victim.kill()
        answered += rest_of(ours)
    victim.wait()
    deadline_s = clock.monotonic_s() + WAIT_S
    while theirs & place.sessions():  # a commit that was on its way may still be made
        assert clock.monotonic_s() < deadline_s
        clock.pause_s(0.02)
    verdict = verify(store.trail, ws)
    assert verdict.is_intact
    assert verdict.unsealed == verdict.rows >= len(answered)
    patient, sealer = Sealer(store, lambda: None), Sealer(store, lambda: None, adopt_after_s=0)
    for _ in range(3):
        patient.adopt()
        assert verify(store.trail, ws) == verdict, "the run could still be alive"
    sealer.adopt()
    assert verify(store.trail, ws) == verdict, "not before it was seen unchanged twice"
    sealer.adopt()
    sealed = verify(store.trail, ws)
    assert summary(sealed) == (True, verdict.rows, 0)
    sealer.adopt()
    assert verify(store.trail, ws) == sealed
    say(f"{verdict.rows} rows of a killed run, {len(answered)} of them answered, none lost")


def rest_of(told: Connection) -> list[object]:
    """What somebody has told before the end; the last of it may be half, and does not count."""
    found: list[object] = []
    try:
        while True:
            found.append(told.recv())
    except (EOFError, OSError):
        return found


def leave_runs(place: OwnedPlace, ws: int, runs: range, *, is_sealed: bool) -> None:
    """Runs of one row each, long ago; sealed for good, or left behind."""
    vandal = place.vandal()
    log = vandal.read([ws])
    row = LACKING | {"ws": ws, "n": 1, "at_us": 1, "is_success": 1, "duration_us": 1}
    row |= dict.fromkeys(("principal", "surface", "method"), "x")
    seal = {"ws": ws, "first_n": 1, "last_n": LAST_N, "count": 1, "at_us": 1, "hash": b"x"}
    for run in runs:
        log.rows.append(row | {"run": run})
        if is_sealed:
            log.seals.append(seal | {"run": run, "number": len(log.seals) + 1})
    vandal.write([ws], log)
    vandal.close()


def look(adopter: Adopter) -> int:
    """Look until there is nothing more to look at; says how many turns that took."""
    turns = 1
    while not adopter.look():
        turns += 1
    return turns


def forget(place: OwnedPlace, ws: int) -> None:
    """Others share the database, and their looks are to be short."""
    vandal = place.vandal()
    vandal.write([ws], RawLog([], []))
    vandal.close()


def test_a_look_for_dead_runs_costs_the_same_however_many_there_were(
    place: OwnedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = place.open()
    ws = new_workspace(store)
    leave_runs(place, ws, range(10, 5_010), is_sealed=True)
    visited: list[int] = []
    read = type(store.trail).run_ends

    def watched(trail: Trail, of: int, **which: int) -> list[RunEnd]:
        ends = read(trail, of, **which)
        if of == ws:
            visited.extend(end.run for end in ends)
        return ends

    monkeypatch.setattr(type(store.trail), "run_ends", watched)
    adopter = Adopter(store, adopt_after_s=0)
    assert look(adopter) > 5_000 // 500, "the first look goes through all of them, in portions"
    assert visited == list(range(10, 5_010))
    visited.clear()
    look(adopter)
    assert visited == []
    leave_runs(place, ws, range(9_000, 9_003), is_sealed=False)
    look(adopter)
    assert [store.trail.last_sealed_n(ws, run) for run in range(9_000, 9_003)] == [0, 0, 0]
    look(adopter)
    assert [store.trail.last_sealed_n(ws, run) for run in range(9_000, 9_003)] == [1, 1, 1]
    assert visited == [*range(9_000, 9_003)] * 2
    look(adopter)
    assert visited == [*range(9_000, 9_003)] * 2
    forget(place, ws)


def test_an_old_run_that_begins_anew_is_found_by_the_next_walk(
    place: OwnedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = place.open()
    ws = new_workspace(store)
    leave_runs(place, ws, range(100, 105), is_sealed=True)
    adopter = Adopter(store, adopt_after_s=0)
    look(adopter)
    leave_runs(place, ws, range(50, 51), is_sealed=False)
    for _ in range(3):
        look(adopter)
    assert store.trail.last_sealed_n(ws, 50) == 0
    now_s = clock.monotonic_s()
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s + 601)
    for _ in range(2):
        look(adopter)
    assert store.trail.last_sealed_n(ws, 50) == 1


def test_many_seal_one_chain(place: OwnedPlace, seed: str) -> None:
    """Four runs write into one workspace, and all of them adopt what a fifth left."""
    dead = place.open()
    ws = new_workspace(dead)
    left = Journal(dead)
    for _ in range(50):
        left.settle(random_note(left, ws, random.Random(seed)))
    stores = [place.open() for _ in range(4)]
    adopted: list[int] = []

    def work(number: int) -> None:
        store, rng = stores[number], random.Random(f"{seed}{number}")
        journal, sealer = Journal(store), Sealer(store, lambda: None)
        for _ in range(10):
            write_rows(store, journal, [ws], rng, 10)
            sealer.seal_own()
            adopted.append(seal_rows(store.trail, ws, dead.trail.run, 50))
        journal.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert summary(verify(dead.trail, ws)) == (True, 450, 0)
    assert sum(adopted) == 50


def test_verifying_beside_servers_that_write(place: OwnedPlace, seed: str) -> None:
    """Whatever the moment, nothing looks broken."""
    store, looker = place.open(), place.open()
    ws, rng = new_workspace(store), random.Random(seed)
    journal = Journal(store)
    is_over = threading.Event()
    verdicts: list[Verdict] = []

    def look() -> None:
        head = None
        while not is_over.is_set():
            verdicts.append(verify(looker.trail, ws, head=head))
            head = verdicts[-1].head

    thread = threading.Thread(target=look)
    thread.start()
    write_rows(store, journal, [ws], rng, 400)
    journal.close()
    is_over.set()
    thread.join()
    assert [verdict.broken for verdict in verdicts] == [[]] * len(verdicts)
    assert len({verdict.rows for verdict in verdicts}) > 3, "nothing happened meanwhile"
    assert summary(verify(looker.trail, ws)) == (True, 400, 0)


def test_a_long_log_is_verified_in_pages(place: OwnedPlace, say: Say) -> None:
    store = place.open()
    ws, journal, rng = new_workspace(store), Journal(store), random.Random(1)
    for _ in range(MANY // 256):
        journal.trail.append([random_note(journal, ws, rng) for _ in range(256)])
    journal.close()
    rows = MANY // 256 * 256
    began_s = clock.monotonic_s()
    verdict = verify(store.trail, ws)
    rate = rows / (clock.monotonic_s() - began_s)
    assert summary(verdict) == (True, rows, 0)
    assert verdict.seals == rows // SEAL_ROWS_MAX + 1
    tracemalloc.start()
    told: list[int] = []
    verify(store.trail, ws, progress=told.append)
    lines = sum(1 for _ in export(store.trail, ws, "main"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines == rows + verdict.seals + 1
    assert told == sorted(told)
    assert told[-1] == rows
    say(f"{rate:,.0f} rows/s verified, {peak / 1e6:.1f} MB at most for {rows} rows")
    assert peak < MANY_BYTES_MAX
    assert verdict.head == head_of(store.trail.last_seal(ws))


class _Longer(NamedTuple):
    """A row that got two columns, as `AuditRow` would."""

    n: int
    request_id: str | None
    size: int = 0
    colour: str | None = None


def sealed(row: Any) -> tuple[Any, ...]:
    return AuditRow.sealed(row)


def test_a_column_that_is_added_changes_no_seal_of_older_rows() -> None:
    assert sealed(_Longer(1, None)) == (1, None)
    filled = [_Longer(1, "a", 5), _Longer(1, "a", 0, "red"), _Longer(1, "a", 5, "red")]
    assert [*map(sealed, filled)] == [(1, "a", 5), (1, "a", 0, "red"), (1, "a", 5, "red")]
    assert len({*map(sealed, (*filled, _Longer(1, "a"), _Longer(1, None)))}) == 5
