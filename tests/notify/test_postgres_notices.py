"""Notices between processes may be lost, with a connection or a server: nobody misses a commit."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from sandbar.model import Workspace
from sandbar.store.postgres import notices
from sandbar.store.postgres.install import install
from tests.fault.test_restarts import StubbornServer
from tests.notify.listening import (
    WAIT_S,
    Heard,
    Site,
    assert_no_thread_left,
    other_process,
    run,
    threads_left,
    write_note,
)


def listeners(admin: psycopg.Connection[tuple[int]]) -> list[int]:
    """The server's processes that listen for us."""
    rows = admin.execute(
        """
        SELECT pid FROM pg_stat_activity WHERE datname = current_database()
        AND usename = 'sandbar_app' AND query ILIKE 'listen%'
        """
    )
    return [pid for (pid,) in rows]


@pytest.fixture
def admin(notify_admin: str) -> Iterator[psycopg.Connection[tuple[int]]]:
    """The superuser."""
    with psycopg.connect(notify_admin, autocommit=True) as connection:
        yield connection


def wait_for_listener(admin: psycopg.Connection[tuple[int]], besides: tuple[int, ...] = ()) -> int:
    """The process that listens, once there is one."""
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        for pid in listeners(admin):
            if pid not in besides:
                return pid
        time.sleep(0.01)
    raise AssertionError("nobody listens")


def test_a_killed_listener_comes_back_and_has_missed_nothing(
    postgres_site: Site, admin: psycopg.Connection[tuple[int]], caplog: pytest.LogCaptureFixture
) -> None:
    name, _ = postgres_site.workspace()
    heard = Heard()
    postgres_site.hub.subscribe(name, heard)
    process = other_process(postgres_site.address, name, 60, 0.01)
    killed: list[int] = []
    with caplog.at_level(logging.ERROR, "sandbar"):
        writing = threading.Thread(target=lambda: acknowledged.update(run(process)))
        acknowledged: dict[int, float] = {}
        writing.start()
        for _ in range(3):
            pid = wait_for_listener(admin, tuple(killed))
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
            killed.append(pid)
        writing.join()
        heard.wait_for(max(acknowledged))
    assert heard.ts == list(acknowledged)
    assert wait_for_listener(admin, tuple(killed)) not in killed
    assert "store.listen-failed" in caplog.text


def test_a_lost_notice_costs_a_second_at_most(
    postgres_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any notice at all the hub still looks."""
    monkeypatch.setattr(notices.Ear, "_listen", lambda self, connection: self._ending.recv(1))
    name, _ = postgres_site.workspace()
    heard = Heard()
    postgres_site.hub.subscribe(name, heard)
    acknowledged = run(other_process(postgres_site.address, name, 1))
    heard.wait_for(max(acknowledged))
    late_s = heard.at_s[0] - acknowledged[heard.ts[0]]
    assert late_s < notices.POLL_S + 0.5


def test_a_restarted_server_is_caught_up_with() -> None:
    with StubbornServer({}) as server:
        site = Site("postgres", install(server.create_database("shop")))
        name, workspace = site.workspace()
        heard = Heard()
        site.hub.subscribe(name, heard)
        first = write_note(workspace)
        heard.wait_for(first)
        server.restart_immediately()
        last = max(run(other_process(site.address, name, 3)))
        heard.wait_for(last)
        assert heard.ts == list(range(first, last + 1))
        heard.wait_for(write_note(workspace))
        assert site.hub.is_well()
        site.close()
    assert_no_thread_left()


def test_notices_are_few_and_outside_the_transaction(
    postgres_site: Site, admin: psycopg.Connection[tuple[int]]
) -> None:
    """A word to all the server's listeners makes commits wait for each other."""
    name, workspace = postgres_site.workspace()
    admin.execute("LISTEN sandbar")
    started_s = time.monotonic()
    last = [write_note(workspace, number=n) for n in range(150)][-1]
    took_s = time.monotonic() - started_s
    said = [word.payload for word in admin.notifies(timeout=0.5)]
    ws = postgres_site.store.workspace(name)
    mine = [word for word in said if word.startswith(f"{ws}:")]
    assert mine[-1] == f"{ws}:{last}", "the last commit is always told of"
    assert 1 < len(mine) <= took_s / 0.01 + 2
    assert len(mine) < 150


def test_strange_notices_are_ignored(
    postgres_site: Site, admin: psycopg.Connection[tuple[int]]
) -> None:
    name, workspace = postgres_site.workspace()
    heard = Heard()
    postgres_site.hub.subscribe(name, heard)
    wait_for_listener(admin)
    for word in ("", "x", "-1:2", "\u00b2:1", "9" * 4500, "1:1:1"):
        admin.execute("SELECT pg_notify('sandbar', %s)", (word,))
    heard.wait_for(write_note(workspace))
    assert listeners(admin), "whoever says nonsense deafens nobody"


def test_a_process_that_only_reads_says_and_hears_nothing(postgres_site: Site) -> None:
    name, _ = postgres_site.workspace()
    reader = Site("postgres", postgres_site.address)
    before = threads_left()
    Workspace.open(reader.store, name).standing()
    assert sorted(threads_left()) == sorted(before)
    reader.close()
