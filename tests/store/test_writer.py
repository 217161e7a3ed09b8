"""The queue in front of the commit: when futures resolve, what is refused, how it ends."""

from __future__ import annotations

import threading

import pytest

from sandbar import clock
from sandbar.errors import Fault, Interrupted, Unavailable
from sandbar.store.answer import Answer
from sandbar.store.api import Store, Transaction
from tests.store.conftest import Place, new_workspace
from tests.store.writing import WAIT_S, Gate, create, creating, current, together, write


def test_a_future_resolves_only_after_the_commit(store: Store, ws: int, place: Place) -> None:
    observer = place.another()
    seen: list[bool] = []
    for _ in range(30):
        answered = threading.Event()

        def look(future: Answer[object], answered: threading.Event = answered) -> None:
            # Runs on the writer's thread at the very moment of the answer; the look itself must
            # not, because a write may be waiting for that thread.
            def ask() -> None:
                seen.append(current(observer, ws, future.result().id) is not None)  # type: ignore[attr-defined]
                answered.set()

            threading.Thread(target=ask).start()

        store.submit(ws, creating()).add_done_callback(look)
        assert answered.wait(WAIT_S)
    assert seen == [True] * 30


def test_nothing_is_answered_while_the_batch_is_open(store: Store, ws: int) -> None:
    gate = Gate(store, ws)
    futures = [store.submit(ws, creating()) for _ in range(3)]
    assert not any(future.done() for future in [gate.future, *futures])
    gate.open()
    assert [future.result(WAIT_S).t for future in futures] == [1, 2, 3]


def test_closing_drains_the_queue(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    gate = Gate(store, ws)
    futures = [store.submit(ws, creating()) for _ in range(300)]
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.open()
    closing.join(WAIT_S)
    assert [future.result(0).t for future in futures] == list(range(1, 301))
    assert place.open().point(ws, 1)[0].t == 300


def test_a_write_that_was_taken_back_is_not_answered_as_done(store: Store, ws: int) -> None:
    gate = Gate(store, ws)
    future = store.submit(ws, creating())
    future._cancelled = True  # so far `cancel` has come when the batch begins
    gate.open()
    with pytest.raises(Interrupted) as caught:
        future.result(WAIT_S)
    assert caught.value.code == "write.cancelled"
    assert store.point(ws, 1)[0].t == 0


def test_a_closed_store_refuses_politely(place: Place) -> None:
    store = place.open()
    ws = new_workspace(store)
    store.close()
    store.close()
    for call in (lambda: store.submit(ws, creating()), lambda: store.point(ws, 1)):
        with pytest.raises(Unavailable) as caught:
            call()
        assert caught.value.code == "store.closed"


def test_a_write_started_inside_a_write_is_refused_and_harms_nothing(store: Store, ws: int) -> None:
    def reentrant(tx: Transaction) -> None:
        store.submit(ws, creating()).result(WAIT_S)

    with pytest.raises(Fault) as caught:
        write(store, ws, reentrant)
    assert caught.value.code == "writer.reentrant"
    assert create(store, ws) == 1


def test_the_open_transaction_is_known_inside_and_nowhere_else(store: Store, ws: int) -> None:
    def asking(tx: Transaction) -> bool:
        return store.open_transaction() is tx

    assert write(store, ws, asking) is True
    assert store.open_transaction() is None


def test_a_deadline_that_has_passed_interrupts_before_the_work(store: Store, ws: int) -> None:
    ran: list[int] = []

    def late(tx: Transaction) -> None:
        ran.append(1)

    gate = Gate(store, ws)
    future = store.submit(ws, late, deadline_s=clock.monotonic_s())
    other = store.submit(ws, creating(), deadline_s=clock.monotonic_s() + 60)
    gate.open()
    error = future.exception(WAIT_S)
    assert isinstance(error, Interrupted)
    assert error.code == "deadline.passed"
    assert ran == []
    assert other.result(WAIT_S).t == 1


def test_a_cancelled_write_is_not_begun(store: Store, ws: int) -> None:
    gate = Gate(store, ws)
    cancelled, other = store.submit(ws, creating()), store.submit(ws, creating())
    assert cancelled.cancel()
    gate.open()
    assert other.result(WAIT_S).t == 1
    assert store.point(ws, 1)[0].t == 1


def test_any_error_of_a_closure_reaches_its_caller(store: Store, ws: int) -> None:
    class Odd(Exception):
        pass

    def odd(tx: Transaction) -> None:
        raise Odd

    with pytest.raises(Odd):
        write(store, ws, odd)
    assert create(store, ws) == 1


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, ZeroDivisionError])
def test_a_closure_that_would_leave_fails_alone(
    store: Store, ws: int, kind: type[BaseException]
) -> None:
    def leave(tx: Transaction) -> None:
        raise kind

    futures = together(store, ws, [creating(), leave, creating()])
    assert isinstance(futures[1].exception(), kind)
    assert [futures[n].result().t for n in (0, 2)] == [1, 2]


@pytest.mark.parametrize("kind", [SystemExit, ZeroDivisionError])
def test_a_callback_that_fails_is_nobody_elses_concern(
    store: Store, ws: int, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    called: list[bool] = []

    def fail(answer: Answer[object]) -> None:
        raise kind

    gate = Gate(store, ws)
    futures = [store.submit(ws, creating()) for _ in range(3)]
    futures[0].add_done_callback(fail)
    futures[0].add_done_callback(lambda answer: called.append(answer.done()))
    gate.open()
    assert [future.result(WAIT_S).t for future in futures] == [1, 2, 3]
    assert create(store, ws) == 4
    assert called == [True]
    (message,) = caplog.messages
    assert message.startswith("answer.callback-failed")
    with pytest.raises(kind):
        futures[0].add_done_callback(fail)  # it is called at once, so its error is the caller's


def test_workspaces_do_not_wait_for_each_others_queues(store: Store) -> None:
    spaces = [new_workspace(store) for _ in range(4)]
    futures = [(ws, store.submit(ws, creating())) for _ in range(50) for ws in spaces]
    for _, future in futures:
        future.result(WAIT_S)
    assert [store.point(ws, 1)[0].t for ws in spaces] == [50] * 4


def test_an_item_that_asks_to_run_alone_runs_alone(store: Store, ws: int) -> None:
    def alone(tx: Transaction) -> bool:
        return tx.alone

    gate = Gate(store, ws)
    futures = [
        store.submit(ws, alone),
        store.submit(ws, alone, alone=True),
        store.submit(ws, alone),
    ]
    gate.open()
    assert futures[1].result(WAIT_S) is True
    assert futures[0].result(WAIT_S) is False


def test_threads_add_up(store: Store, ws: int) -> None:
    def work() -> None:
        for _ in range(25):
            create(store, ws)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.snapshot(ws) as snapshot:
        transactions = snapshot.transactions(after=0, limit=1000)
    assert [tx.t for tx in transactions] == list(range(1, 201))
    assert sorted(id for tx in transactions for id in tx.ids) == list(range(1, 201))
    instants = [tx.instant_us for tx in transactions]
    assert instants == sorted(set(instants))


def test_an_empty_batch_releases_the_workspace(store: Store, ws: int, place: Place) -> None:
    together(store, ws, [lambda tx: None] * 3)
    assert create(place.another(), ws) == 1
