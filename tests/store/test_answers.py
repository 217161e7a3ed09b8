"""Answers to many who wait at once: each is woken, whoever else gives up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

import pytest

from sandbar import clock
from sandbar.errors import Interrupted
from sandbar.store.answer import Answer, resolve_all
from tests.conftest import Say

_WAITERS = 24
_WAITS_EACH = 400
_SOON_S = 10.0


class _Crowd:
    """Threads that ask again and again, in every way, and one that answers all who have asked."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._asked: list[Answer[int]] = []
        self._given: list[Answer[int]] = []
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self.wrong: list[object] = []
        self.left = 0

    def run(self, within_s: float) -> None:
        """Leaves as `left` how many did not come to their end."""
        waiters = [
            threading.Thread(target=self._wait, args=(n,), daemon=True) for n in range(_WAITERS)
        ]
        for thread in waiters:
            thread.start()
        writer = threading.Thread(target=self._write, daemon=True)
        writer.start()
        deadline_s = clock.monotonic_s() + within_s
        for thread in waiters:
            thread.join(max(deadline_s - clock.monotonic_s(), 0))
        self.left = sum(thread.is_alive() for thread in waiters)
        self._is_over.set()
        writer.join()
        self._free_those_left()
        for thread in waiters:
            thread.join()

    def _free_those_left(self) -> None:
        for answer in self._given:
            answer._next = None
        for answer in self._given:
            if answer._gate.locked():
                answer._gate.release()

    def _write(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._is_over.wait(0.0002)
            with self._lock:
                batch, self._asked = self._asked, []
            resolve_all([(answer, id(answer), None) for answer in batch if answer.begin()])
            self._given += batch

    def _wait(self, number: int) -> None:
        random = Random(f"{self._seed} {number}")
        ways: list[Callable[[Answer[int]], int | None]] = [
            lambda answer: answer.result(),
            lambda answer: _impatient(answer, random.random() / 2000),
            _taken_back,
        ]
        for _ in range(_WAITS_EACH):
            answer: Answer[int] = Answer()
            with self._lock:
                if self._is_over.is_set():
                    return
                self._asked.append(answer)
            told = random.choice(ways)(answer)
            if told not in (None, id(answer)):
                self.wrong.append(told)


def _impatient(answer: Answer[int], timeout_s: float) -> int:
    try:
        return answer.result(timeout_s)
    except TimeoutError:
        return answer.result()


def _taken_back(answer: Answer[int]) -> int | None:
    try:
        answer.cancel()
        return answer.result()
    except Interrupted:
        return None


def test_everybody_is_woken_whoever_gives_up(seed: str) -> None:
    crowd = _Crowd(seed)
    crowd.run(within_s=60)
    assert (crowd.left, crowd.wrong) == (0, [])


def test_one_who_wakes_nobody_would_be_noticed(
    seed: str, monkeypatch: pytest.MonkeyPatch, say: Say
) -> None:
    original = Answer._wake_next

    def forgetful(self: Answer[int]) -> None:
        if Random(id(self)).random() < 0.1:
            with_next, self._next = self._next, None
            del with_next
        original(self)

    monkeypatch.setattr(Answer, "_wake_next", forgetful)
    crowd = _Crowd(seed)
    crowd.run(within_s=1)
    say(f"{crowd.left} of {_WAITERS} left waiting")
    assert crowd.left


def test_several_may_wait_for_the_same_answer() -> None:
    answers: list[Answer[int]] = [Answer() for _ in range(3)]
    told: list[int] = []
    threads = [
        threading.Thread(target=lambda a=answer: told.append(a.result()), daemon=True)
        for answer in answers
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    resolve_all([(answer, number, None) for number, answer in enumerate(answers)])
    for thread in threads:
        thread.join(_SOON_S)
    assert sorted(told) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_nobody_stands_behind_the_main_thread() -> None:
    """Ctrl-C could end its wait between any two steps, also before it has woken the next."""
    mine: Answer[int] = Answer()
    other: Answer[int] = Answer()
    seen: list[bool] = []

    def answer_both() -> None:
        while not other._is_in_line:
            clock.pause_s(0.001)
        clock.pause_s(0.05)  # by now the main thread waits, too
        seen.append(mine._is_in_line)
        resolve_all([(mine, 1, None), (other, 2, None)])

    waiter = threading.Thread(target=other.result, daemon=True)
    waiter.start()
    threading.Thread(target=answer_both, daemon=True).start()
    assert mine.result(_SOON_S) == 1
    waiter.join(_SOON_S)
    assert not waiter.is_alive()
    assert seen == [False]
