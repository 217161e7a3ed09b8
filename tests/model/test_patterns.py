"""Patterns answer fast or are refused, whatever the pattern and whatever the text."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from sandbar import Database
from sandbar.errors import Incorrect
from sandbar.model import forms, patterns
from sandbar.model.checks import decode_slot
from sandbar.model.operations import OPERATIONS_MAX
from sandbar.model.patterns import MAX_PATTERN, Matching, compile_pattern
from tests.model.shop import problem_of, refused

LIMIT_S = 0.05
NOISE = "".join("ab"[(i * i >> 3) % 2] for i in range(1 << 17))
BOMBS = [
    ("(a+)+$", "a" * 30 + "!"),
    ("(x{1000}){1000}", "x" * 1000),
    ("(a|aa)+$", "a" * 100_000 + "!"),
    ("|".join(f"w{i}[a-z]{{1,9}}" for i in range(70)), NOISE),
    ("[ab]*a[ab]{500}c", NOISE),
    ("(?i)[ab]*a[ab]{999}c", "a" * 4000),
    ("(\\b|a)*(a|b){300}c", NOISE),
    ("(a?){300}a{300}", "a" * 5000),
    ("((a{0,10}){0,10}){0,10}$", "a" * 5000),
    (".{500}$", NOISE),
    ("(\\pL|\\pN){1,50}z", "é" * 5000),
    ("\\pL{100}x", "é" * 5000),
    ("(" * 400 + "a" + ")" * 400, "a" * 5000),
    ("(.*)(.*)(.*)(.*)(.*)(.*)=", NOISE * 8),
]


def best_of_three(run: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        compile_pattern.cache_clear()
        started = time.thread_time()
        run()
        times.append(time.thread_time() - started)
    return min(times)


def answer(pattern: str, text: str) -> bool | str:
    try:
        return compile_pattern(pattern).matches(text)
    except Incorrect as problem:
        return problem.code


@pytest.mark.parametrize(("pattern", "text"), BOMBS, ids=[p[:24] for p, _ in BOMBS])
def test_a_bomb_is_refused_or_answered_in_50_ms(pattern: str, text: str) -> None:
    seconds = best_of_three(lambda: answer(pattern, text))
    assert seconds < LIMIT_S, f"{seconds * 1e3:.1f} ms for {pattern[:60]}"


@pytest.mark.parametrize(("pattern", "text"), BOMBS, ids=[p[:24] for p, _ in BOMBS])
def test_a_bomb_on_the_longest_text_that_it_takes_is_answered_in_50_ms(
    pattern: str, text: str
) -> None:
    try:
        longest = patterns.MAX_STEPS // compile_pattern(pattern).steps("x")
    except Incorrect:
        return
    cut = (text * (longest // len(text) + 1))[:longest]
    seconds = best_of_three(lambda: answer(pattern, cut))
    assert seconds < LIMIT_S, f"{seconds * 1e3:.1f} ms for {pattern[:60]}"


def test_the_same_check_would_catch_a_backtracking_engine() -> None:
    code = "import re; re.search('(a+)+$', 'a' * 30 + '!')"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", code], timeout=1.0, check=False)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^[A-Z]{2}-[0-9]+$", "AB-12", True),
        ("^[A-Z]{2}-[0-9]+$", "AB-12\n", False),
        ("^é$", "é", True),
        ("^.$", "😀", True),
        ("(?i)straße", "STRAßE", True),
        ("", "", True),
    ],
)
def test_a_pattern_searches_as_in_json_schema(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern).matches(text) is expected


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "(?=a)", "(?<!a)b", "(a)\\1", "\ud800", "\\"])
def test_a_malformed_pattern_is_refused_with_a_hint_and_without_a_log(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Incorrect) as caught:
        compile_pattern(pattern)
    assert caught.value.code == "pattern.malformed"
    assert "back-references" in str(caught.value.hint)
    assert caught.value.message.isprintable()
    assert capfd.readouterr().err == ""


def test_a_long_pattern_is_refused() -> None:
    assert answer("a" * MAX_PATTERN, "a") is False
    assert answer("a" * (MAX_PATTERN + 1), "a") == "pattern.too-long"


def test_a_value_too_long_to_tell_quickly_is_refused_and_not_guessed() -> None:
    assert answer("[ab]*a[ab]{500}c", NOISE * 2) == "pattern.too-costly"
    assert answer("a", "\ud800") == "value.surrogate"


def test_a_pattern_is_compiled_once() -> None:
    assert compile_pattern("^once$") is compile_pattern("^once$")


SLOW = "^(?:(?:a|b)?){1000}$"


def noises(count: int) -> list[str]:
    """Values that take a slow pattern some 10 ms each, and are no two alike."""
    return [NOISE[n * 7 : n * 7 + 990 - n] for n in range(count)]


def test_many_slow_values_are_refused_soon() -> None:
    matching, pattern = Matching(), compile_pattern(SLOW)

    def match_all() -> None:
        for value in noises(200):
            matching.matches(pattern, value)

    started = time.thread_time()
    problem = problem_of(match_all)
    assert time.thread_time() - started < 0.3  # all of them would take two seconds
    assert problem.code == "pattern.too-costly"
    assert "fewer" in (problem.hint or "")
    started = time.thread_time()
    problem_of(match_all)  # what is spent stays spent
    assert time.thread_time() - started < 0.01


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("^[A-Z]{2}-[0-9]+$", "AB-12345"),
        ("^[^@ ]+@[^@ ]+\\.[a-z]{2,}$", "somebody.or.other@mail.example.com"),
        ("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "01234567-89ab-cdef-0123-456789abcdef"),
        ("^\\p{L}[\\p{L} '-]*$", "Anna Maria Übermut-Ångström"),
        ("^.{1,200}$", "some words of a title, as long as titles are"),
    ],
)
def test_ordinary_values_never_meet_the_bound(pattern: str, value: str) -> None:
    matching, compiled = Matching(), compile_pattern(pattern)
    assert all(matching.matches(compiled, value) for _ in range(2 * OPERATIONS_MAX))


@pytest.fixture
def slow(db: Database) -> Database:
    """A class with a slot whose pattern is slow."""
    db.define(
        properties={
            "x/s": {
                "dt/range": "db.type/string",
                "db/cardinality": "many",
                "dt/pattern": SLOW,
            },
            "x/free": {"dt/range": "db.type/string", "db/cardinality": "many"},
        },
        classes={"x/C": {"dt/slots": ["x/s", "x/free"]}},
    )
    return db


def test_a_transaction_is_refused_that_would_match_for_long(slow: Database) -> None:
    values = noises(300)
    one_by_one = [{"op": "create", "class": "x/C", "slots": {"x/s": value}} for value in values]
    calls: list[Callable[[], object]] = [
        lambda: slow.create("x/C", {"x/s": values}),
        lambda: slow.transact(one_by_one),
        lambda: slow.run(lambda: [slow.transact([one]) for one in one_by_one]),
    ]
    for call in calls:
        started = time.perf_counter()
        with refused(slow, "pattern.too-costly"):
            call()
        assert time.perf_counter() - started < 1  # all of them would take three seconds and more
    slow.create("x/C", {"x/s": values[:2]})  # the next one begins anew


def test_values_that_are_there_are_matched_before_the_writer_is_held_up(
    slow: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.create("x/C", {"x/free": noises(3)})
    threads: list[str] = []

    def watched(*asked: Any) -> Any:
        threads.append(threading.current_thread().name)
        return decode_slot(*asked)

    monkeypatch.setattr(forms, "decode_slot", watched)
    slow.update("x/free", {"dt/pattern": "^[ab]+$"})
    slow.update("x/free", {"dt/pattern": "^[ab]*$", "dt/indexed?": True})
    assert threads == [threading.current_thread().name] * 2


def test_values_that_are_there_are_matched_for_long_only_while_nobody_is_held_up(
    slow: Database,
) -> None:
    values = noises(200)
    slow.transact([{"op": "create", "class": "x/C", "slots": {"x/free": [v]}} for v in values])
    other = slow.create("x/C", {}).entity_id
    change = {"op": "update", "entity": "x/free", "set": {"dt/pattern": SLOW}}
    beside = {"op": "update", "entity": other, "set": {"dt/label": "x"}}
    calls: list[Callable[[], object]] = [
        lambda: slow.transact([change, beside]),  # which may repair what is there
        lambda: slow.run(lambda: slow.transact([change])),
    ]
    for call in calls:
        started = time.perf_counter()
        with refused(slow, "pattern.too-costly") as problems:
            call()
        assert time.perf_counter() - started < 0.8  # all of them would take two seconds
        assert "by itself" in (problems[0].hint or "")
    slow.transact([change])
    assert slow.schema.describe_property("x/free")["pattern"] == SLOW
