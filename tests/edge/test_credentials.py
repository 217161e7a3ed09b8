"""Where a key may stand in a head: functions over headers, without HTTP."""

from __future__ import annotations

import pytest

from sandbar.edge.credentials import key_in
from sandbar.errors import Incorrect, Problem, Unauthenticated

KEY = "claude:super-secret-mcp-key"


def headers(*given: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in given]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ([], None),
        ([("authorization", "")], None),
        ([("authorization", " \t ")], None),
        ([("x-api-key", "")], None),
        ([("x-api-key", "  ")], None),
        ([("authorization", f"Bearer {KEY}")], KEY),
        ([("authorization", f"bearer {KEY}")], KEY),
        ([("authorization", f"  BEARER   {KEY} ")], KEY),
        ([("x-api-key", KEY)], KEY),
        ([("x-api-key", f" {KEY}\t")], KEY),
        ([("x-api-key", KEY), ("authorization", f"Bearer {KEY}")], KEY),
        ([("x-api-key", KEY), ("authorization", "")], KEY),
        ([("x-api-key", " "), ("authorization", f"Bearer {KEY}")], KEY),
        ([("authorization", "Bearer clàude:kéy")], "clàude:kéy"),
        ([("x-api-key", "clàude:kéy")], "clàude:kéy"),
        # What is there and is no key of anybody's.
        ([("authorization", "Bearer")], ""),
        ([("authorization", "Bearer ")], ""),
        ([("authorization", f"Bearer\t{KEY}")], ""),
        ([("authorization", f"Basic {KEY}")], ""),
        ([("authorization", KEY)], ""),
        ([("cookie", KEY), ("proxy-authorization", f"Bearer {KEY}")], None),
    ],
)
def test_the_key_of_a_head(given: list[tuple[str, str]], key: str | None) -> None:
    assert key_in(headers(*given)) == key


def refusal(*given: tuple[str, str]) -> Problem:
    with pytest.raises(Problem) as caught:
        key_in(headers(*given))
    return caught.value


@pytest.mark.parametrize(
    "other", ["claude:another", f":{KEY}", KEY.upper(), "Basic", f"{KEY} x", "x"]
)
def test_two_different_keys_are_one_too_many(other: str) -> None:
    problem = refusal(("authorization", f"Bearer {other}"), ("x-api-key", KEY))
    assert isinstance(problem, Incorrect)
    assert problem.code == "auth.ambiguous"
    assert KEY not in str(problem)
    assert other not in f"{problem.message}{problem.data}"
    problem = refusal(("authorization", "Basic eA=="), ("x-api-key", KEY))
    assert problem.code == "auth.ambiguous"


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key"])
@pytest.mark.parametrize("second", [KEY, "", "claude:another"])
def test_a_header_that_is_there_twice_is_refused(name: str, second: str) -> None:
    problem = refusal((name.lower(), f"Bearer {KEY}"), (name.lower(), second))
    assert isinstance(problem, Unauthenticated)
    assert (problem.code, problem.hint) == ("auth.malformed", f"send one {name} header")
