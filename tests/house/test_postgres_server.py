"""The server that the tests start is real, unprivileged, private and mortal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.house.limits import ROOT
from tests.postgres_server import PostgresServer, new_directory
from tests.set_up import SetUpFailed

OWNER = """
import time
from tests.postgres_server import PostgresServer
server = PostgresServer().start()
print(server.directory, *server.pids(), flush=True)
time.sleep(300)
"""


def test_the_shared_server_answers(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_it_answers_on_its_socket_too(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.socket_url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_it_is_not_run_by_root(postgres_server: PostgresServer) -> None:
    owners = []
    for pid in postgres_server.pids():
        with suppress(FileNotFoundError):  # the process of somebody's connection has just ended
            owners.append(Path(f"/proc/{pid}").stat().st_uid)
    assert owners
    assert 0 not in owners


PROMISED = {
    "fsync": "on",
    "synchronous_commit": "on",
    "data_checksums": "on",
    "server_encoding": "UTF8",
    "lc_collate": "C",
    "max_connections": "300",
}


def test_it_promises_what_the_real_one_will(fresh_postgres: str) -> None:
    with psycopg.connect(fresh_postgres) as connection:
        query = "select name, setting from pg_settings union all select 'lc_collate', datcollate "
        query += "from pg_database where datname = current_database()"
        answer = connection.execute(query.encode()).fetchall()
    assert {(name, value) for name, value in answer if name in PROMISED} == {*PROMISED.items()}


def test_a_fresh_database_is_empty_and_one_s_own(
    postgres_server: PostgresServer, fresh_postgres: str
) -> None:
    other = postgres_server.create_database()
    try:
        with psycopg.connect(other) as connection:
            connection.execute("create table here (n int)")
        with psycopg.connect(fresh_postgres) as connection:
            found = connection.execute("select count(*) from pg_tables where tablename = 'here'")
            assert found.fetchone() == (0,)
    finally:
        postgres_server.drop_database(other)


def test_it_is_gone_after_stop() -> None:
    server = PostgresServer().start()
    pids, url = server.pids(), server.url
    server.stop()
    assert not any(map(_is_running, pids))
    assert not server.directory.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=2)


def test_it_keeps_committed_rows_through_a_power_cut() -> None:
    server = PostgresServer(new_directory(), settings={"checkpoint_timeout": "1h"})
    try:
        with psycopg.connect(server.start().url) as connection:
            connection.execute("create table kept (n int)")
            connection.execute("insert into kept values (7)")
        server.kill()
        with psycopg.connect(server.start().url) as connection:
            assert connection.execute("select n from kept").fetchone() == (7,)
            assert connection.execute("show checkpoint_timeout").fetchone() == ("1h",)
    finally:
        server.stop()
        shutil.rmtree(server.directory)


def test_it_ends_when_its_owner_is_killed() -> None:
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        directory, *pids = owner.stdout.readline().split()
        owner.kill()
    assert _eventually(lambda: not any(map(_is_running, map(int, pids))))
    assert _eventually(lambda: not Path(directory).exists())


def test_it_ends_when_its_supervisor_is_killed() -> None:
    server = PostgresServer().start()
    pids = server.pids()
    os.kill(server.supervisor, signal.SIGKILL)
    assert _eventually(lambda: not any(map(_is_running, pids)))
    server.stop()


def test_missing_programs_are_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    with pytest.raises(SetUpFailed, match="install Debian's package 'postgresql'"):
        PostgresServer(Path("/nowhere")).start()


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _eventually(holds: Callable[[], bool], within_s: float = 15.0) -> bool:
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
