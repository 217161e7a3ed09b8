"""A short contest for real, and planted servers that answer wrongly: none of them is measured.

Speeds are not asserted: on a busy machine they would say nothing. That there are any is.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.results import Result
from bench.settings import QUICK
from bench.wire.answers import Answer, WrongAnswerError, check, take_answer
from bench.wire.data import prepare
from bench.wire.entrants import Entrant, Field, line_up
from bench.wire.load import Round, ask, run_round
from bench.wire.outcome import CONNECTIONS, Outcome
from bench.wire.requests import BARE, MODERN, SESSION, SESSION_ID, Call, post, tool_call
from bench.wire.run import check_what_was_written
from bench.wire.servers import Server, seconds_of_help
from tests.bench.running import run_apart, run_here

ENTRANTS = {
    *(f"sandbar-{task}-{road}" for task in ("find", "create") for road in ("modern", "session")),
    *("sandbar-find-bare", "sandbar-create-bare", "asgi-read"),
    "unrecorded-find-bare",
    *(f"unrecorded-create-{road}" for road in ("modern", "session", "bare")),
    *(f"{name}-no-op-{road}" for name in ("fastmcp", "sdk") for road in ("modern", "session")),
}
SERVERS = {"sandbar", "sandbar-writes", "unrecorded", "unrecorded-writes", "fastmcp", "sdk", "asgi"}
COST = {
    *("sandbar-find-bare-against-unrecorded", "sandbar-create-bare-against-unrecorded-writes"),
}
RATIOS = {
    *(f"sandbar-find-modern-against-{name}" for name in ("fastmcp", "sdk", "asgi")),
    *(f"sandbar-find-{road}-against-fastmcp" for road in ("session", "bare")),
    *(f"sandbar-create-{road}-against-fastmcp" for road in ("modern", "session")),
    *COST,
}
BARS = {
    *(("start-sandbar", 1), ("start-sandbar-writes", 1), ("help", 1)),
    *(("resident-sandbar", 1), ("resident-sandbar-writes", 1)),
    *(("sandbar-find-modern-against-fastmcp", 8), ("sandbar-find-session-against-fastmcp", 8)),
    *((key, connections) for key in COST for connections in (8, 64)),
}


# The two that are written to are enough for a tiny run, in which nothing else is different; ours
# by every road, the other by the one on which they are compared.
WRITERS = {"sandbar-writes", "unrecorded-writes"}
WRITING = {key for key in ENTRANTS if key.startswith("sandbar-create-")} | {
    "unrecorded-create-bare"
}
TINY_ITEMS = 100


class Wanted(NamedTuple):
    """What the results have to be about."""

    entrants: set[str]
    servers: set[str]
    ratios: set[str]
    bars: set[tuple[str, int]]


EVERYBODY = Wanted(ENTRANTS, SERVERS, RATIOS, BARS)
AMONG_WRITERS = Wanted(
    WRITING,
    WRITERS,
    {key for key in COST if key.endswith("-writes")},
    {
        *(("start-sandbar-writes", 1), ("help", 1), ("resident-sandbar-writes", 1)),
        *((key, many) for key, many in BARS if key.endswith("-writes") and many > 1),
    },
)


def assert_measured(decoded: list[Result], printed: str, wanted: Wanted) -> None:
    # Toolbox is installed by `make bench` only, so it may be there or not.
    results = {(one.key, one.size): one for one in decoded if "toolbox" not in one.key}
    assert {one.store for one in results.values()} == {"wire"}
    rates = {place: one for place, one in results.items() if one.p50_ms is not None}
    assert set(rates) == {(key, size) for key in wanted.entrants for size in CONNECTIONS}
    for one in rates.values():
        assert one.ours is not None
        assert one.p50_ms is not None
        assert one.p99_ms is not None
        assert one.cpu_us is not None
        assert one.ours > 1
        assert 0 < one.p50_ms <= one.p99_ms
        # One call at a time: the answers of a second cannot take longer than a second.
        assert one.size > 1 or one.ours * one.p50_ms < 3_000
        assert 10 < one.cpu_us < 100_000
        assert one.what in printed
    figures = {place: one for place, one in results.items() if one.p50_ms is None}
    kinds = {f"{kind}-{server}" for kind in ("start", "resident") for server in wanted.servers}
    assert {key for key, _ in figures} == wanted.ratios | kinds | {"help"}
    for one in figures.values():
        assert one.figure is not None
        assert one.figure > 0
        assert bool(one.by_cpu) == bool(one.against)
    assert {place for place, one in results.items() if one.bar is not None} == wanted.bars
    assert figures["resident-sandbar-writes", 1].verdict == "met"
    assert (figures["resident-sandbar-writes", 1].figure or 0) > 20


def only_writers(folder: Path) -> Field:
    field = line_up(folder)
    return field._replace(
        servers=[server for server in field.servers if server.key in WRITERS],
        entrants=[each for each in field.entrants if each.key in WRITING],
    )


def test_a_tiny_run_measures_the_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.wire.run.line_up", only_writers)
    monkeypatch.setattr("bench.wire.run.seconds_of_help", cache(seconds_of_help))
    monkeypatch.setattr("bench.wire.data.ITEMS", TINY_ITEMS)
    file = tmp_path / "results.json"
    results, printed = run_here(file, capsys, monkeypatch, "--only", "wire")
    assert_measured(results, printed, AMONG_WRITERS)


@pytest.mark.long
@pytest.mark.timeout(300)  # seven servers start, on whatever the machine has left
def test_a_quick_run_measures_everybody(tmp_path: Path) -> None:
    results, printed = run_apart(tmp_path / "results.json", "--only", "wire")
    assert_measured(results, printed, EVERYBODY)
    (resident,) = (one for one in results if one.key == "resident-sandbar")
    assert resident.verdict == "met"
    assert (resident.figure or 0) > 20


# --- the parts -------------------------------------------------------------------------------

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nabc def"
STREAM = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    b"6\r\ndata: \r\n4;x=1\r\nabcd\r\n0\r\n\r\n"
)


@pytest.mark.parametrize(("sent", "body"), [(PLAIN, b"abc def"), (STREAM, b"data: abcd")])
def test_an_answer_is_complete_with_its_last_byte(sent: bytes, body: bytes) -> None:
    for length in range(len(sent)):
        assert take_answer(sent[:length]) is None
    answer = take_answer(sent + b"HTTP/1.1 200 OK")
    assert answer is not None
    assert answer.body == body
    assert answer.end == len(sent)


def test_an_answer_without_an_end_is_refused() -> None:
    with pytest.raises(WrongAnswerError):
        take_answer(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc")


def test_requests_carry_what_their_road_wants() -> None:
    modern, session, bare = (
        tool_call(road, "noop", {"ident": "a/b"}, "key") for road in (MODERN, SESSION, BARE)
    )
    assert b"\r\nMCP-Protocol-Version: 2026-07-28\r\n" in modern
    assert b'"io.modelcontextprotocol/protocolVersion":"2026-07-28"' in modern
    assert b"\r\nMcp-Session-Id: " + SESSION_ID in session
    assert b"_meta" not in session
    assert b"cp-" not in bare
    for request in (modern, session, bare):
        assert b"\r\nAuthorization: Bearer key\r\n" in request


# --- negative controls -----------------------------------------------------------------------

GOOD = b'{"result":{"content":[{"type":"text","text":"wanted"}],"isError":false}}'
WRONG = {
    "a JSON-RPC error": (b"200 OK", b'{"error":{"code":-32602,"message":"wanted"}}'),
    "a failed tool": (b"200 OK", b'{"result":{"content":"wanted","isError": true}}'),
    "another value": (b"200 OK", b'{"result":{"content":"unwanted?"}}'.replace(b"wanted", b"")),
    "a fault": (b"500 Internal Server Error", b'{"result":"wanted"}'),
    "no answer": (b"202 Accepted", b""),
}
Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


def saying(status: bytes, body: bytes) -> Reply:
    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body))

    return reply


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def round_with(*replies: Reply, connections: int = 2) -> Round:
    """A round against a server that gives these replies in turn, the last one for ever."""
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            while await reader.readuntil(b"{}"):
                await replies[min(count, len(replies) - 1)](writer)
                count += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        calls = [Call(post("/mcp", {}, b"{}"), b"wanted")]
        return await run_round(port, calls, connections, 0.05)


def test_good_answers_are_counted() -> None:
    seen = asyncio.run(round_with(saying(b"200 OK", GOOD)))
    assert seen.calls == len(seen.latencies) > 2
    assert seen.seconds >= 0.05
    assert seen.rate == pytest.approx(seen.calls / seen.seconds)


@pytest.mark.parametrize("what", WRONG)
def test_a_server_that_answers_wrongly_is_refused(what: str) -> None:
    with pytest.raises(WrongAnswerError, match="expected b'wanted'"):
        asyncio.run(round_with(saying(*WRONG[what])))


def test_one_wrong_answer_among_good_ones_is_enough() -> None:
    good, wrong = saying(b"200 OK", GOOD), saying(*WRONG["a failed tool"])
    with pytest.raises(WrongAnswerError, match="isError"):
        asyncio.run(round_with(good, good, good, wrong, good, connections=1))


def test_a_server_that_hangs_up_is_refused() -> None:
    with pytest.raises((WrongAnswerError, ConnectionError)):
        asyncio.run(round_with(saying(b"200 OK", GOOD), hang_up))


def test_a_program_that_does_not_start_is_refused() -> None:
    server = Server("x", "nothing", [sys.executable, "-c", "pass"], Call(b"", b""))
    with pytest.raises(WrongAnswerError, match="nothing did not start"):
        asyncio.run(server.start(os.sched_getaffinity(0)))
    server.end()


@contextmanager
def started(server: Server) -> Iterator[Server]:
    try:
        asyncio.run(server.start(os.sched_getaffinity(0)))
        yield server
    finally:
        server.end()


def test_a_contestant_is_called_for_what_it_offers() -> None:
    call = Call(tool_call(MODERN, "noop", {"ident": "a/b"}), b"a/b")
    other = tool_call(MODERN, "another", {"ident": "a/b"})
    command = [sys.executable, "-m", "bench.wire.contestants.fastmcp_noop", "{port}"]
    with started(Server("fastmcp", "FastMCP", command, call)) as server:
        refused: Answer = asyncio.run(ask(server.port, other))
        with pytest.raises(WrongAnswerError):
            check(refused, b"")
        assert server.resident_mb() > 10
        assert server.cpu_seconds() > 0.01


def judged(
    rate: float, other: float, beside: float, start: float, resident: float
) -> dict[str, str]:
    """The verdicts of an invented contest; `beside` is what we would do without the audit."""
    probe = Call(b"", b"")
    names = ("sandbar", "fastmcp", "unrecorded", "unrecorded-writes")
    servers = {key: Server(key, key, [], probe) for key in names}
    ours = sorted(key for key in ENTRANTS if key.startswith("sandbar"))
    entrants = [Entrant(key, key, servers["sandbar"], MODERN, []) for key in ours]
    entrants += [Entrant(key, key, servers[key], BARE, []) for key in names[2:]]
    entrants.append(Entrant("fastmcp-a", "the slower way", servers["fastmcp"], MODERN, []))
    entrants.append(Entrant("fastmcp-b", "the faster way", servers["fastmcp"], MODERN, []))
    outcome = Outcome(Field(list(servers.values()), entrants, {}, []))
    speeds = {"fastmcp-a": other / 3, "fastmcp-b": other, **dict.fromkeys(names[2:], beside)}
    for each in entrants:
        speed = speeds.get(each.key, rate)
        for connections in CONNECTIONS:
            for _ in range(QUICK.wire_rounds):
                one = Round(int(speed), 1.0, [0.001] * 10, 0.5, server_cpu_seconds=0.9)
                outcome.note(each, connections, one, counts=True)
    outcome.starts = {key: [start] for key in servers}
    outcome.resident_mb = dict.fromkeys(servers, resident)
    outcome.help_seconds = [start / 10]
    ratios = [one for one in outcome.results() if one.against]
    assert {one.against for one in ratios} == {"the faster way", *names[2:]}
    for ratio in ratios:
        expected = rate / (other if ratio.against == "the faster way" else beside)
        assert ratio.figure == pytest.approx(expected)
        assert ratio.by_cpu == pytest.approx(expected)
    return {one.key: one.verdict for one in outcome.results() if one.verdict}


def test_verdicts() -> None:
    good = judged(2_100, 1_050, 2_800, 1.9, 149)
    bad = judged(1_990, 1_000, 2_800, 3.1, 151)
    assert set(good) == set(bad) == {key for key, _ in BARS if "sandbar-writes" not in key}
    assert set(good.values()) == {"met"}
    assert set(bad.values()) == {"missed"}


def test_a_server_that_left_no_rows_is_no_measurement(tmp_path: Path) -> None:
    """With and without must differ by just that: the rows are counted when a contest is over."""
    path = prepare(tmp_path / "items.db").path
    check_what_was_written("unrecorded", path, 5)
    check_what_was_written("sandbar", path, 0)
    with pytest.raises(WrongAnswerError, match="5 calls have left 0 rows"):
        check_what_was_written("sandbar", path, 5)
    with pytest.raises(WrongAnswerError, match="1005 items were created, 1000 are in the file"):
        check_what_was_written("unrecorded-writes", path, 5)
