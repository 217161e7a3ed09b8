"""S8: rows of the audit equal the answers that clients received, also under `kill -9`.

Every answer has its row, with the same method, verb, outcome and code; a row without an answer is
of a request that was under way when its server was killed; data and rows of success come together.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbar.access import add_account, mint
from sandbar.database import open_database
from tests.conftest import Say
from tests.fault.audit_checks import Found, Verdict, judge, look
from tests.fault.audit_client import CLASS, MARK, ROADS, Client, Memory, Tokens
from tests.live_server import LiveServer

ANSWERS_BETWEEN = 60  # at least, before the next kill
LATEST_S = 0.3
ANSWERS = 250  # of a run without kills
PATIENCE_S = 60.0
HASTY = [sys.executable, "-m", "tests.fault.audit_hasty"]
HASTY_KILLS_MAX = 10


def prepare(address: str) -> Tokens:
    """What the clients need: a class for what they write, and whom to be."""
    with open_database(address) as db:
        mark = {"dt/range": "db.type/string", "db/unique": "value"}
        db.define(properties={MARK: mark}, classes={CLASS: {"dt/slots": [MARK]}})
        db.create(CLASS, {MARK: "the-one"})
        writer = add_account(db.workspace, "writer", "a-chosen-key-that-is-long-enough").token
        reader = mint(db.workspace, "reader", role="reader", rate_limit=0).token
        hasty = mint(db.workspace, "hasty", rate_limit=1).token
        return Tokens(writer, reader, hasty)


class Siege:
    """Servers of one database, clients on every road to each, and the kills."""

    def __init__(self, address: str, servers: int, seed: str, program: Sequence[str]) -> None:
        self.address = address
        self._tokens = prepare(address)
        self.memory = Memory()
        self.chance = random.Random(seed)
        self.servers = [LiveServer(address) for _ in range(servers)]
        for server in self.servers:
            server.token = self._tokens.writer
            server.program = list(program) or server.program
        self.clients = [
            Client(f"{seed}-{number}-{road}", server, road, self._tokens, seed, self.memory)
            for number, server in enumerate(self.servers)
            for road in ROADS
        ]

    def start(self) -> None:
        """Servers first."""
        for server in self.servers:
            server.start()
        for client in self.clients:
            client.thread.start()

    def await_answers(self, number: int) -> None:
        """Until so many more requests have been answered."""
        wanted, deadline = self.memory.answers() + number, time.monotonic() + PATIENCE_S
        while self.memory.answers() < wanted:
            assert time.monotonic() < deadline, "the servers answer too slowly"
            assert not self.memory.broken, self.memory.broken
            time.sleep(0.02)

    def kill(self, server: LiveServer) -> None:
        """`kill -9` at some moment under load."""
        self.await_answers(ANSWERS_BETWEEN)
        time.sleep(self.chance.uniform(0, LATEST_S))
        os.kill(server.pid, signal.SIGKILL)
        self.memory.kills.append(time.monotonic())
        server.stop(is_lenient=True)

    def end_clients(self) -> None:
        """Everybody is answered, and then asks no more."""
        for client in self.clients:
            client.stop()
        for client in self.clients:
            if client.thread.ident is not None:
                client.thread.join(PATIENCE_S)
        assert not self.memory.broken, self.memory.broken

    def found(self) -> Found:
        """What the database says now."""
        with open_database(self.address) as db:
            return look(db)


@contextmanager
def besieged(address: str, servers: int, seed: str, program: Sequence[str] = ()) -> Iterator[Siege]:
    """Servers and clients at work; clients have ended and servers are stopped afterwards."""
    siege = Siege(address, servers, seed, program)
    try:
        siege.start()
        yield siege
        siege.end_clients()
        for server in siege.servers:
            server.stop()
    finally:
        for client in siege.clients:
            client.stop()
        for server in siege.servers:
            server.stop(is_lenient=True)


def check(siege: Siege, say: Say) -> Verdict:
    verdict = judge(siege.memory, siege.found())
    say(f"{len(siege.memory.kills)} kills: {verdict}")
    assert not verdict.broken, {kind: what[:3] for kind, what in verdict.broken.items()}
    # It is one thing that nothing is broken, another that there was something to break.
    assert verdict.rows >= verdict.answers / 2
    assert verdict.writes > verdict.answers / 50
    outcomes = {one.code for one in siege.memory.asked.values() if one.is_answered}
    wanted = {None, "entity.unknown", "class.unknown", "limit.exceeded", "verb.unknown"}
    assert outcomes > wanted
    said = siege.servers[0].sandbar("audit", "verify")
    assert said.split() == ["intact"]
    return verdict


def kill_in_turn(address: str, servers: int, kills: int, seed: str, say: Say) -> None:
    with besieged(address, servers, seed) as siege:
        for number in range(kills):
            siege.kill(siege.servers[number % servers])
            siege.servers[number % servers].start()
        siege.await_answers(ANSWERS_BETWEEN)
    verdict = check(siege, say)
    assert verdict.answers >= kills * ANSWERS_BETWEEN
    assert verdict.unanswered >= kills / 2, "the kills have hit nobody"


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a new database of each store."""
    if request.param == "sqlite":
        return str(tmp_path / "audit.db")
    found: str = request.getfixturevalue("postgres_app")
    return found


def test_rows_equal_answers_under_load(address: str, seed: str, say: Say) -> None:
    """No kills: exactly as many rows as answers; and whatever is planted then is found."""
    with besieged(address, 1 if address.endswith(".db") else 2, seed) as siege:
        siege.await_answers(ANSWERS)
    verdict = check(siege, say)
    with_row = sum(one.method is not None for one in siege.memory.asked.values())
    assert (verdict.unanswered, verdict.rows) == (0, with_row)
    find_what_is_planted(siege.memory, siege.found())


def find_what_is_planted(memory: Memory, found: Found) -> None:
    """The checker's negative controls: one row, one mark or one memory is not as it was."""
    rows, marks = found

    def kinds(changed: Found) -> set[str]:
        return set(judge(memory, changed).broken)

    read = next(row for row in rows if row.verb == "entity.find" and row.is_success)
    failed = next(row for row in rows if row.code == "entity.unknown")
    written = next(row for row in rows if row.verb == "entity.create" and row.is_success)
    mark = memory.asked[str(written.request_id)].marks[0]
    without = {row: [one for one in rows if one is not row] for row in (read, failed, written)}
    assert kinds(found) == set()
    assert kinds(Found(without[read], marks)) == {"no row"}
    assert kinds(Found(without[written], marks)) == {"no row", "data without row"}
    assert kinds(Found(rows, [one for one in marks if one != mark])) == {"row without data"}
    assert kinds(Found(rows, [*marks, "planted"])) == {"data of nobody"}
    assert kinds(Found([*rows, read], marks)) == {"two rows"}
    assert kinds(Found([*rows, read._replace(request_id="x")], marks)) == {"row of nobody"}
    other = failed._replace(code="entity.forbidden")
    assert kinds(Found([*without[failed], other], marks)) == {"another outcome"}
    other = failed._replace(is_success=True, code=None)
    assert kinds(Found([*without[failed], other], marks)) == {"another outcome"}
    other = read._replace(verb="entity.query")
    assert kinds(Found([*without[read], other], marks)) == {"another request"}
    unread = next(one for one in memory.asked.values() if one.method is None)
    other = read._replace(request_id=unread.id)
    assert kinds(Found([*rows, other], marks)) == {"row of something unreadable"}


@pytest.mark.timeout(300)
def test_rows_equal_answers_when_a_server_is_killed(tmp_path: Path, seed: str, say: Say) -> None:
    kill_in_turn(str(tmp_path / "audit.db"), 1, 2, seed, say)


@pytest.mark.timeout(300)
def test_rows_equal_answers_when_one_of_two_is_killed(
    postgres_app: str, seed: str, say: Say
) -> None:
    kill_in_turn(postgres_app, 2, 2, seed, say)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rows_equal_answers_in_fifty_kills(tmp_path: Path, seed: str, say: Say) -> None:
    kill_in_turn(str(tmp_path / "audit.db"), 1, 50, seed, say)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rows_equal_answers_in_twenty_kills_of_two(postgres_app: str, seed: str, say: Say) -> None:
    kill_in_turn(postgres_app, 2, 20, seed, say)


@pytest.mark.timeout(300)
def test_answers_that_leave_before_their_rows_are_caught(
    tmp_path: Path, seed: str, say: Say
) -> None:
    """The negative control: the same clients and kills, and a server with that defect."""
    with besieged(str(tmp_path / "audit.db"), 1, seed, HASTY) as siege:
        while len(siege.memory.kills) < HASTY_KILLS_MAX:
            siege.kill(siege.servers[0])
            broken = judge(siege.memory, siege.found()).broken  # of the dead: no row is on its way
            if "no row" in broken:
                break
            siege.servers[0].start()
    broken = judge(siege.memory, siege.found()).broken
    kills, lacking = len(siege.memory.kills), len(broken.get("no row", []))
    say(f"caught after {kills} kills: {lacking} answers without a row")
    assert set(broken) == {"no row"}
