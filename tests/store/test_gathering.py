"""Those who were answered together come back together; nobody else waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from sandbar import clock
from sandbar.store import writer
from sandbar.store.api import Store
from sandbar.store.batch import run_batch
from tests.store.conftest import Place, new_workspace
from tests.store.writing import WAIT_S, Gate, create, creating, together

LONG_S = 5.0


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many items each batch had."""
    found: list[int] = []

    def counted(begin: Any, items: list[Any], *rest: Any) -> None:
        found.append(len(items))
        run_batch(begin, items, *rest)

    monkeypatch.setattr(writer, "run_batch", counted)
    return found


@pytest.fixture
def patiently(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let the writer wait this long for those who may return."""

    def wait(seconds: float) -> None:
        monkeypatch.setattr(writer, "_SILENCE_S", seconds)
        monkeypatch.setattr(writer, "_GATHER_S_MAX", 4 * seconds)

    return wait


def test_they_share_the_next_batch(
    store: Store, ws: int, sizes: list[int], patiently: Callable[[float], None]
) -> None:
    patiently(LONG_S)
    gate = Gate(store, ws)
    begun = threading.Barrier(4)
    first = [store.submit(ws, creating()) for _ in range(3)]

    def writes_twice(at: int) -> None:
        begun.wait()
        first[at].result(WAIT_S)
        clock.pause_s(0.02 * at)
        store.submit(ws, creating()).result(WAIT_S)

    threads = [threading.Thread(target=writes_twice, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    begun.wait()
    started_s = clock.monotonic_s()
    gate.open()
    for thread in threads:
        thread.join(WAIT_S)
    assert sizes == [1, 3, 3]
    assert clock.monotonic_s() - started_s < LONG_S  # nobody was waited for in vain


def test_who_does_not_return_is_not_waited_for_long(
    store: Store, ws: int, sizes: list[int], patiently: Callable[[float], None]
) -> None:
    patiently(0.05)
    together(store, ws, [creating()] * 3)
    started_s = clock.monotonic_s()
    create(store, ws)
    create(store, ws)  # by now a single one is all that is expected
    assert clock.monotonic_s() - started_s < 1.0
    assert sizes == [1, 3, 1, 1]


def test_other_workspaces_do_not_wait(
    store: Store, ws: int, patiently: Callable[[float], None]
) -> None:
    other = new_workspace(store)
    patiently(LONG_S)
    together(store, ws, [creating()] * 3)
    started_s = clock.monotonic_s()
    create(store, other)
    assert clock.monotonic_s() - started_s < LONG_S / 2


def test_who_must_be_alone_does_not_wait(
    store: Store, ws: int, patiently: Callable[[float], None]
) -> None:
    patiently(LONG_S)
    together(store, ws, [creating()] * 3)
    started_s = clock.monotonic_s()
    store.submit(ws, creating(), alone=True).result(WAIT_S)
    assert clock.monotonic_s() - started_s < LONG_S / 2


def test_closing_does_not_wait(place: Place, patiently: Callable[[float], None]) -> None:
    store = place.open()
    ws = new_workspace(store)
    patiently(LONG_S)
    together(store, ws, [creating()] * 3)
    started_s = clock.monotonic_s()
    store.close()
    assert clock.monotonic_s() - started_s < LONG_S / 2
