"""Request ids: whatever a client says is echoed and logged, unless it may be a secret."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.edge.live import ask, behind_the_edge, echo, serving

KEY = "sk-sand-" + "0" * 64


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server that does nothing but number its requests."""
    with serving(behind_the_edge(echo)) as port:
        yield port


@pytest.mark.parametrize("id", ["r-1", "a:b.c_d", "0" * 128])
def test_an_id_that_a_client_has_is_kept(port: int, id: str) -> None:
    assert ask(port, "{}", {"X-Request-Id": id}).headers["x-request-id"] == id


@pytest.mark.parametrize(
    "id", [KEY, f"x{KEY}", f"claude:{KEY}", f"r.{KEY[:20]}", KEY.upper(), "0" * 129, "a b", "é"]
)
def test_one_that_may_be_a_key_or_is_none_gets_a_fresh_one(port: int, id: str) -> None:
    given = ask(port, "{}", {"X-Request-Id": id}).headers["x-request-id"]
    assert UUID(given).version == 7
