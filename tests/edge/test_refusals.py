"""What is refused, and in whose words: one table of statuses, and a surface's own way to say it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbar import errors
from sandbar.access import Houses
from sandbar.edge import STATUSES, Refusal, Surface, status_of
from sandbar.edge.asgi import Receive, Scope, Send
from sandbar.edge.surfaces import Routes
from sandbar.errors import Conflict, NotFound, Problem, Unavailable
from sandbar.mcp import say
from sandbar.mcp.problems import REFUSED_CODES
from tests.edge.live import ask, behind_the_edge, echo, serving

BODY = '{"jsonrpc":"2.0","id":7,"method":"ping"}'


def categories() -> set[type[Problem]]:
    """Every category that there is."""
    return {one for one in Problem.__subclasses__() if one.__module__ == errors.__name__}


@pytest.mark.parametrize("table", [STATUSES, REFUSED_CODES])
def test_a_table_has_every_category_and_nothing_else(table: dict[type[Problem], object]) -> None:
    assert table.keys() == categories()


def test_a_category_that_was_forgotten_is_noticed() -> None:
    """The negative control."""
    short = {kind: status for kind, status in STATUSES.items() if kind is not NotFound}
    assert short.keys() != categories()


def test_no_category_is_defined_elsewhere() -> None:
    assert set(Problem.__subclasses__()) == categories()


@pytest.mark.parametrize("kind", sorted(categories(), key=str))
def test_every_category_has_a_status_of_its_kind(kind: type[Problem]) -> None:
    ours = kind in (errors.Unavailable, errors.Interrupted, errors.Fault)
    assert status_of(kind("x.y", "x")) // 100 == (5 if ours else 4)
    special = type("Special", (kind,), {})  # as rooms have theirs
    assert status_of(special("x.y", "x")) == STATUSES[kind]


# --- the words of a surface ------------------------------------------------------------------


def in_plain_words(problem: Problem, refusal: Refusal) -> tuple[bytes, bytes]:
    """Another wire form: what a surface brings besides its application."""
    said = f"{refusal.status} {problem.code} id={refusal.id} {refusal.request_id}"
    return said.encode(), b"text/plain"


def away(name: str) -> errors.Problem:
    raise Unavailable("store.unreachable", f"{name} is away")


@pytest.mark.parametrize(
    ("headers", "status", "code", "id"),
    [
        ({"Host": "evil.com"}, 421, "gate.host", None),
        ({"Origin": "http://evil.com"}, 403, "gate.origin", None),
        ({"X": "a" * 4000}, 431, "gate.headers-too-large", None),
        ({"Content-Length": "99999"}, 413, "gate.body-too-large", None),
        ({}, 401, "auth.missing", 7),
        ({"Authorization": "Bearer a:b", "X-API-Key": "c:d"}, 400, "auth.ambiguous", 7),
        ({"X-API-Key": "sk-x"}, 503, "store.unreachable", 7),
    ],
)
def test_every_refusal_is_said_in_the_words_of_its_surface(
    headers: dict[str, str], status: int, code: str, id: int | None
) -> None:
    app = behind_the_edge(
        echo,
        houses=Houses(away, "main"),  # type: ignore[arg-type]
        words=in_plain_words,
        header_bytes_max=2000,
        body_bytes_max=1000,
    )
    with serving(app) as port:
        answer = ask(port, BODY, {"X-Request-Id": "r-1", **headers})
    assert (answer.status, answer.headers["content-type"]) == (status, "text/plain")
    assert answer.body.decode() == f"{status} {code} id={id} r-1"
    assert answer.headers["x-request-id"] == "r-1"
    assert (answer.headers.get("retry-after") == "5") == (status == 503)


def raising(error: Exception, *, after: int = 0) -> Callable[..., object]:
    """A surface that fails, before or while it answers."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        if after:
            head = [(b"content-length", b"10")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": b"abc", "more_body": True})
        raise error

    return app


def test_a_surface_may_raise_what_it_wants_to_say() -> None:
    with serving(behind_the_edge(raising(NotFound("x.y", "no")), words=in_plain_words)) as port:  # type: ignore[arg-type]
        answer = ask(port, BODY, {"X-Request-Id": "r-1"})
    assert (answer.status, answer.body) == (404, b"404 x.y id=None r-1")


def test_a_defect_leaves_as_a_number() -> None:
    with serving(behind_the_edge(raising(RuntimeError("the secret plans")))) as port:  # type: ignore[arg-type]
        answer = ask(port, BODY)
        assert answer.status == 500
        error = answer.json()["error"]
        assert (error["code"], error["message"]) == (-32603, "Internal error")
        assert error["data"]["code"] == "server.fault"
        assert error["data"]["id"]
        assert error["data"]["request-id"] == answer.headers["x-request-id"]
        assert b"plans" not in answer.body
        assert ask(port, BODY).status == 500, "the next is answered as well"


def test_an_answer_that_has_begun_is_cut_off_and_not_ended() -> None:
    app = raising(NotFound("x.y", "no"), after=3)
    with serving(behind_the_edge(app)) as port, pytest.raises(Exception, match="IncompleteRead"):  # type: ignore[arg-type]
        ask(port, BODY)


# --- routes ----------------------------------------------------------------------------------


def test_a_path_is_taken_once() -> None:
    routes, surface = Routes(), Surface("test", echo, say)
    routes.add(surface, "/mcp", "/mcp/", whose="MCP")
    routes.add(surface, "/api/mcp", whose="the pack care")
    for path in ("/mcp", "/mcp/", "/api/mcp"):
        with pytest.raises(Conflict) as caught:
            routes.add(surface, path, whose="the pack cuckoo")
        assert caught.value.code == "route.taken"
        assert "the pack cuckoo" in caught.value.message
        assert path in caught.value.message
    assert list(routes) == ["/mcp", "/mcp/", "/api/mcp"]
