"""Patterns answer fast or are refused, whatever the pattern and whatever the text."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from sandbar.errors import Incorrect
from sandbar.model import patterns
from sandbar.model.patterns import MAX_PATTERN, compile_pattern

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
