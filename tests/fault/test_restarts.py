"""PostgreSQL stops at once (`-m immediate`) and starts again, under load, while we stay open.

Promised: what was answered is there; a refusal means that nothing was written, unless it says
`store.in-doubt`; repeating with the same idempotency key writes exactly once; service resumes
without reopening.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sandbar
from sandbar.errors import Problem, Unavailable
from sandbar.store.batch import InDoubt
from sandbar.store.postgres import connection, session
from sandbar.store.postgres.install import install
from tests.conftest import Say
from tests.fault.load import prepare
from tests.fault.tables import postgres_tables
from tests.postgres_server import PostgresServer, new_directory
from tests.postgres_supervisor import DATA

_PLACE = Path(os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp"))  # memory, if there is enough
THREADS = 4
ANSWERS_BETWEEN = 20
RESTARTS = 2
SLOW_COMMIT = {"commit_delay": "30000", "commit_siblings": "0"}  # 30 ms in each commit
RESUMED_WITHIN_S = 20.0
POLITE_S = 0.02  # how long a refused client leaves the server in peace


def new_data() -> Path:
    """What a server has at first, made once for all workers: `initdb` takes a second."""
    shared = Path(os.environ["SANDBAR_TESTS_POSTGRES_DIRECTORY"])
    ready = shared / "stubborn"
    with (shared / "stubborn.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            made = new_directory(shared)
            with PostgresServer(made):
                pass
            made.rename(ready)
    return ready / DATA


class StubbornServer(PostgresServer):
    """A server that comes back at the same address."""

    def __init__(self, settings: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._fixed_port: int = probe.getsockname()[1]
        super().__init__(new_directory(_PLACE), settings=settings | {"port": str(self._fixed_port)})

    def __enter__(self) -> StubbornServer:
        try:
            subprocess.run(["cp", "-a", new_data(), self.directory], check=True)
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def start(self) -> StubbornServer:
        """Start, or start again."""
        super().start()
        self.port = self._fixed_port
        return self

    def __exit__(self, *error: object) -> None:
        """Stop, and leave nothing behind: its directory may be in memory."""
        self.stop()
        shutil.rmtree(self.directory)

    def restart_immediately(self) -> None:
        """What `pg_ctl restart -m immediate` does: SIGQUIT, then recovery from the log."""
        first = os.pidfd_open(self.pids()[0])
        signal.pidfd_send_signal(first, signal.SIGQUIT)
        assert select.select([first], [], [], 30)[0], "the server did not stop"
        os.close(first)
        self.stop()
        self.start()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[StubbornServer]:
    """A server of this test's own."""
    with StubbornServer(getattr(request, "param", {})) as server:
        yield server


class Client:
    """A thread that writes pairs, with keys and repetitions or without."""

    def __init__(self, db: sandbar.Database, name: str, stop: threading.Event, *, keys: bool):
        self._db = db
        self._name = name
        self._stop = stop
        self._keys = keys
        self.answered: dict[str, int] = {}  # op to t
        self.refused: list[str] = []  # certainly not written
        self.doubtful: list[str] = []  # perhaps written
        self.repeated: list[str] = []  # refused or doubtful first, answered later
        self.times: list[float] = []
        self.thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            op = f"{self._name}-{number}"
            while not self._write(op):
                time.sleep(POLITE_S)
                if not self._keys:
                    break  # without a key nothing may be repeated

    def _write(self, op: str) -> bool:
        slots = [{"fault/tag": f"{op}-{part}", "fault/group": op} for part in range(2)]
        pair: list[Any] = [{"op": "create", "class": "fault/Item", "slots": one} for one in slots]
        key = op if self._keys else None
        try:
            self.answered[op] = self._db.transact(pair, reason=op, idempotency_key=key).t
        except InDoubt:
            self.doubtful.append(op)
            return False
        except Unavailable:
            self.refused.append(op)
            return False
        if op in self.doubtful or op in self.refused:
            self.repeated.append(op)
        self.times.append(time.monotonic())
        return True


def restart_under_load(server: StubbornServer, clients: list[Client], restarts: int) -> list[float]:
    """Restart while all clients write; returns the seconds for which nobody was answered."""
    gaps = []
    for client in clients:
        client.thread.start()
    for _ in range(restarts):
        _await_answers(clients, ANSWERS_BETWEEN)
        begun = time.monotonic()
        server.restart_immediately()
        _await_answers(clients, ANSWERS_BETWEEN)
        after = [t for client in clients for t in client.times if t > begun]
        gaps.append(
            max(b - a for a, b in zip([begun, *sorted(after)], sorted(after), strict=False))
        )
    return gaps


def _await_answers(clients: list[Client], more: int) -> None:
    """Wait until every client has been answered so often again."""
    goals = [len(client.times) + more // len(clients) for client in clients]
    deadline = time.monotonic() + RESUMED_WITHIN_S
    while any(len(c.times) < goal for c, goal in zip(clients, goals, strict=True)):
        assert time.monotonic() < deadline, "service did not resume"
        time.sleep(0.01)


def assert_kept(db: sandbar.Database, clients: list[Client]) -> None:
    """What was answered is there whole, once, at its t; what was refused is not."""
    groups: dict[str, list[int]] = {}
    for entity in db.each("fault/Item"):
        if (group := entity.get("fault/group")) is not None:
            groups.setdefault(group, []).append(entity.t)
    for client in clients:
        for op, t in client.answered.items():
            assert groups.pop(op, None) == [t, t], f"{op} was answered at {t}"
        for op in client.refused:
            if op not in client.answered and op not in client.doubtful:
                assert op not in groups, f"{op} was refused, and written all the same"
    assert all(len(ts) == 2 for ts in groups.values()), "half a transaction"
    doubtful = {op for client in clients for op in client.doubtful}
    assert set(groups) <= doubtful, "written, and nobody was told"


def check_restarts(server: StubbornServer, say: Say, restarts: int) -> None:
    """The whole story, for so many restarts."""
    admin = server.create_database("restarted")
    stop = threading.Event()
    with sandbar.open(install(admin)) as db:
        prepare(db)
        clients = [Client(db, f"client-{n}", stop, keys=n != 0) for n in range(THREADS)]
        try:
            gaps = restart_under_load(server, clients, restarts)
        finally:
            stop.set()
            for client in clients:
                client.thread.join()
        assert_kept(db, clients)
    tables = postgres_tables(admin)
    assert sorted(tables.tx) == list(range(1, tables.t + 1))
    answered, repeated, doubtful = (
        sum(len(getattr(client, name)) for client in clients)
        for name in ("answered", "repeated", "doubtful")
    )
    say(
        f"{restarts} restarts, {answered} acknowledged, 0 lost; {doubtful} in doubt, "
        f"{repeated} settled by repetition; gap p50 {statistics.median(gaps):.1f} s, "
        f"most {max(gaps):.1f} s"
    )


@pytest.mark.parametrize("server", [{}, SLOW_COMMIT], indirect=True, ids=["as-is", "slow-commit"])
def test_immediate_restarts(server: StubbornServer, say: Say) -> None:
    """A few; with slow commits most of them fall into one, whose end is looked up."""
    check_restarts(server, say, RESTARTS)


@pytest.mark.parametrize("server", [SLOW_COMMIT], indirect=True, ids=["slow-commit"])
def test_immediate_restarts_without_patience(
    server: StubbornServer, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most restarts fall into a commit, whose end nobody looks up: repetition settles it."""
    monkeypatch.setattr(session, "RESOLVE_PATIENCE_S", -1.0)
    check_restarts(server, say, RESTARTS)


@pytest.mark.parametrize("server", [{"wal_writer_delay": "10s"}], indirect=True, ids=["lazy"])
def test_unsynced_commits_are_caught(
    server: StubbornServer, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: commits that do not wait for the disk, and the same checks."""
    monkeypatch.setattr(connection._Q, "insist_on_sync", "SET synchronous_commit = off")
    with pytest.raises(AssertionError, match="was answered at") as caught:
        check_restarts(server, say, RESTARTS)
    say(f"caught: {str(caught.value).splitlines()[0]}")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_immediate_restarts(server: StubbornServer, say: Say) -> None:
    """Fifty of them."""
    check_restarts(server, say, 50)


def test_a_stopped_server_is_a_problem_with_a_name(server: StubbornServer, say: Say) -> None:
    """While PostgreSQL is away, reads and writes are refused soon; afterwards they work again."""
    with sandbar.open(install(server.create_database("away"))) as db:
        account = prepare(db)[0]
        server.stop()
        begun = time.monotonic()
        for call in (lambda: db.get(account), lambda: db.update(account, {"fault/count": 1})):
            with pytest.raises(Problem) as refused:
                call()
            assert refused.value.code == "store.lost"
        say(f"a read and a write were refused in {time.monotonic() - begun:.2f} s")
        assert time.monotonic() - begun < 5.0
        server.start()
        assert db.get(account)["fault/count"] == 0
        assert db.update(account, {"fault/count": 2}).t
