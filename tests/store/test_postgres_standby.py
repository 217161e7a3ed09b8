"""PostgreSQL with a standby: one that stays silent, one that takes over, several hosts in a URL."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

import sandbar
from sandbar.database import examine_database
from sandbar.database.backup import backup_database
from sandbar.errors import Incorrect, Problem, Unavailable
from sandbar.store.batch import InDoubt
from sandbar.store.postgres import standby
from sandbar.store.postgres.install import install
from tests.fault.load import prepare
from tests.postgres_server import PostgresServer, new_directory
from tests.postgres_supervisor import DATA

WAIT_S = 30.0
COMMIT_S = 0.3
DATABASE = "shop"
ROLE = "sandbar_app"

pytestmark = pytest.mark.xdist_group("standby")


class Pair(NamedTuple):
    """A primary, and a standby that began as its copy and gets nothing from it."""

    primary: PostgresServer
    standby: PostgresServer

    def url(self, *, user: str = ROLE, attributes: str = "?target_session_attrs=read-write") -> str:
        """Both in one URL, the standby first."""
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in (self.standby, self.primary))
        return f"postgresql://{user}@{hosts}/{DATABASE}{attributes}"


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    made = [new_directory(), new_directory()]
    primary, copied = PostgresServer(made[0]), PostgresServer(made[1])
    try:
        with primary:
            url = install(primary.create_database(DATABASE))
            with sandbar.open(url) as db:
                prepare(db)
        subprocess.run(["cp", "-a", made[0] / DATA, made[1]], check=True)
        (made[1] / DATA / "standby.signal").touch()
        shutil.chown(made[1] / DATA / "standby.signal", (made[1] / DATA).stat().st_uid)
        with primary, copied:
            yield Pair(primary, copied)
    finally:
        for one in made:
            shutil.rmtree(one, ignore_errors=True)


@pytest.fixture
def lonely(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database that waits for a standby which is not there."""
    monkeypatch.setattr(standby, "COMMIT_S_MAX", COMMIT_S)
    monkeypatch.setattr(standby, "COMMIT_AGAIN_S_MAX", COMMIT_S)
    wait_for_standby(pair.primary, "ghost")
    yield pair.primary.url_of(DATABASE, ROLE)
    wait_for_standby(pair.primary, "")


def wait_for_standby(server: PostgresServer, name: str) -> None:
    """Have commits wait for a standby from now on; new sessions show when that is so."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SET synchronous_commit = local")
        connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        connection.execute("SELECT pg_reload_conf()")
    deadline_s = time.monotonic() + WAIT_S
    while True:
        with psycopg.connect(server.url, autocommit=True) as connection:
            if connection.execute("SHOW synchronous_standby_names").fetchone() == (name,):
                return
        assert time.monotonic() < deadline_s


def write(db: sandbar.Database, text: str, key: str | None = None) -> None:
    db.create("fault/Item", {"fault/tag": text}, idempotency_key=key)


def tags(db: sandbar.Database) -> list[str]:
    found = (entity["fault/tag"] for entity in db.each("fault/Item"))
    return sorted(tag for tag in found if not tag.startswith("account"))


def test_a_write_that_no_standby_confirms_is_in_doubt_and_answered_in_time(lonely: str) -> None:
    with sandbar.open(lonely) as db:
        began_s = time.monotonic()
        for key in ("a", "a", "b"):  # the second finds the receipt of the first, equally in doubt
            with pytest.raises(InDoubt) as doubt:
                write(db, key, key)
            assert doubt.value.code == "store.in-doubt"
            assert "idempotency key" in str(doubt.value.hint)
        assert time.monotonic() - began_s < 3 * COMMIT_S + 5
        with pytest.raises(Incorrect):  # what was certainly not kept is said as it is
            db.create("fault/Item", {"no/such": 1})


def test_many_writers_of_two_stores_are_answered_while_the_standby_is_silent(lonely: str) -> None:
    answers: list[BaseException | None] = []

    def work(db: sandbar.Database, text: str) -> None:
        try:
            write(db, text, text)
            answers.append(None)
        except Problem as problem:
            answers.append(problem)

    with sandbar.open(lonely) as one, sandbar.open(lonely) as other:
        threads = [
            threading.Thread(target=work, args=(db, f"{n}-{id(db)}"))
            for n in range(4)
            for db in (one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive(), "a write waits without end"
    codes = {getattr(problem, "code", "ok") for problem in answers}
    assert len(answers) == len(threads)
    assert codes <= {"store.in-doubt", "store.busy"}, codes


def test_writes_go_on_once_a_standby_is_no_longer_waited_for(pair: Pair, lonely: str) -> None:
    with sandbar.open(lonely) as db:
        with pytest.raises(InDoubt):
            write(db, "first", "key")
        wait_for_standby(pair.primary, "")
        write(db, "first", "key")
        write(db, "second")
        assert tags(db).count("first") == tags(db).count("second") == 1


@pytest.mark.parametrize("attributes", ["", "?target_session_attrs=read-write"])
def test_of_several_hosts_the_one_that_takes_writes_is_found(
    pair: Pair, attributes: str, tmp_path: Path
) -> None:
    url = pair.url(attributes=attributes)
    prepared = install(pair.url(user="postgres", attributes=attributes))
    with sandbar.open(prepared) as db:
        write(db, f"as prepared{attributes}")
    with sandbar.open(url) as db:
        write(db, f"through both{attributes}")
        listened = threading.Event()
        subscription = db.hub.subscribe("main", lambda news: listened.set())
        write(db, f"and heard{attributes}")
        assert listened.wait(WAIT_S)
        subscription.close()
    assert examine_database(url).role == ROLE
    backup_database(url, str(tmp_path / "backup"))
    assert (tmp_path / "backup").stat().st_size > 1000


def test_a_host_that_is_down_does_not_matter(pair: Pair) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed = taken.getsockname()[1]
    hosts = f"127.0.0.1:{closed},127.0.0.1:{pair.primary.port}"
    url = f"postgresql://{ROLE}@{hosts}/{DATABASE}?target_session_attrs=read-write"
    with sandbar.open(url) as db:
        write(db, "one is enough")


def test_a_standby_alone_says_that_it_takes_no_writes(pair: Pair) -> None:
    with sandbar.open(pair.standby.url_of(DATABASE, ROLE)) as db, pytest.raises(Problem) as refused:
        write(db, "here")
    assert refused.value.code == "store.read-only"


def test_after_a_failover_the_other_host_is_used(pair: Pair) -> None:
    # The last one: the standby is a primary afterwards.
    with sandbar.open(pair.url()) as db:
        write(db, "before")
        pair.primary.kill()
        with psycopg.connect(pair.standby.url, autocommit=True) as connection:
            connection.execute("SELECT pg_promote()")
        deadline_s = time.monotonic() + WAIT_S
        while True:
            try:
                write(db, "after", "after")
                break
            except Unavailable:
                assert time.monotonic() < deadline_s
        assert "after" in tags(db)
