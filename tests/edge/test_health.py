"""`/health` notices what ails, says which part it is, and is well again by itself."""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from sandbar.audit import Note, journal, sealing
from sandbar.edge import health as looking
from sandbar.store.postgres.install import install
from sandbar.store.sqlite.store import SqliteStore
from tests.fault.load import prepare
from tests.fault.test_full_disk import Filler, SmallDisk, few_pages, small_file_system
from tests.mcp.served import Served, serving
from tests.mcp.without_tls import WITHOUT_TLS
from tests.postgres_server import PostgresServer

WAIT_S = 30.0
DYING = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look is a fresh one."""
    monkeypatch.setattr(looking, "_HEALTH_S", 0.02)
    monkeypatch.setattr(journal, "_KEPT_S", 0.0)
    monkeypatch.setattr(journal, "_REFUSED_S", 0.1)
    monkeypatch.setattr(sealing, "SEAL_EVERY_S", 0.05)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "health.db", ()) as served:
        served.token()
        yield served


def health(served: Served) -> tuple[int, dict[str, Any]]:
    url = served.url.replace("/mcp", "/health")
    answer = httpx2.get(url, verify=WITHOUT_TLS, timeout=10)
    return answer.status_code, answer.json()


def wait_until(served: Served, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The answer that was waited for."""
    deadline_s = time.monotonic() + WAIT_S
    while not is_so((answer := health(served))[1]):
        assert time.monotonic() < deadline_s, answer
        time.sleep(0.02)
    assert answer[0] == (200 if answer[1]["status"] == "ok" else 503)
    return answer[1]


def ails(part: str, *words: str) -> Callable[[dict[str, Any]], bool]:
    return lambda answer: answer.get("checks", {}).get(part) in words


def is_ok(answer: dict[str, Any]) -> bool:
    return answer == {"status": "ok"}


def kill(thread: threading.Thread | None, stir: Callable[[], object]) -> None:
    """End a thread of the server, which is woken to notice it."""
    assert thread is not None
    assert thread.ident is not None
    dying, deadline_s = ctypes.c_ulong(thread.ident), time.monotonic() + WAIT_S
    while thread.is_alive():  # what strikes in the midst of its work it survives
        ctypes.pythonapi.PyThreadState_SetAsyncExc(dying, ctypes.py_object(SystemExit))
        stir()
        thread.join(0.2)
        assert time.monotonic() < deadline_s


@pytest.fixture(params=[small_file_system, few_pages])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    """Little room; who may not mount has it in the second way only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    can_mount = os.geteuid() == 0 and shutil.which("mount") is not None
    with (request.param if can_mount else few_pages)(folder) as disk:
        yield disk


def test_a_full_disk_is_noticed_and_so_is_room(disk: SmallDisk) -> None:
    with serving(disk.folder / "full.db", ()) as served:
        served.token()
        ask = {"name": "sandbar.entity.find", "arguments": {"entity": "dt/Class"}}
        assert is_ok(health(served)[1])
        prepare(served.db)
        Filler(served.db, "full").fill()
        while "result" in served.post("tools/call", ask):
            pass  # the last rows of the audit
        answer = wait_until(served, ails("audit", "store.full"))
        assert answer["checks"]["database"] == "ok"
        assert "error" in served.post("tools/call", ask)
        disk.make_room()
        wait_until(served, is_ok)
        assert "result" in served.post("tools/call", ask)


@DYING
def test_a_dead_writer_is_noticed(served: Served) -> None:
    wait_until(served, is_ok)
    store, ws = served.db._store, served.db.workspace.number
    assert isinstance(store, SqliteStore)
    kill(store._writer._threads[0], lambda: store.submit(ws, lambda tx: None))
    assert wait_until(served, ails("writer", "dead"))["checks"]["audit"] == "ok"


@DYING
def test_a_dead_settler_is_noticed_and_replaced(served: Served) -> None:
    journal = served.db.journal
    journal.settle_later(opened(served)).result(WAIT_S)
    waiting: list[Any] = []
    settler = journal._settler._thread
    kill(settler, lambda: waiting.append(journal.settle_later(opened(served))))
    wait_until(served, ails("settler", "dead"))
    journal.settle_later(opened(served)).result(WAIT_S)
    assert [one.result(WAIT_S) for one in waiting] == [None] * len(waiting)
    wait_until(served, is_ok)


def opened(served: Served) -> Note:
    return served.db.journal.open(
        served.db.workspace.number, "user/anna", surface="mcp", method="ping"
    )


@DYING
def test_a_dead_sealer_is_noticed(served: Served) -> None:
    wait_until(served, is_ok)
    kill(served.db.journal._sealer._thread, lambda: None)
    wait_until(served, ails("sealer", "dead"))


def test_a_stuck_sealer_is_noticed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "STUCK_S", 0.3)
    go_on = threading.Event()
    monkeypatch.setattr(served.db.journal.trail, "checkpoint", lambda: go_on.wait(WAIT_S))
    wait_until(served, ails("sealer", "stuck"))
    go_on.set()
    wait_until(served, is_ok)


def test_a_removed_file_is_noticed(served: Served, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    wait_until(served, is_ok)
    for path in tmp_path.glob("health.db*"):
        path.rename(aside / path.name)
    wait_until(served, ails("audit", "store.file-gone"))
    for path in aside.iterdir():
        path.rename(tmp_path / path.name)
    wait_until(served, is_ok)


def test_a_look_that_hangs_holds_up_nobody(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_LOOK_S_MAX", 0.1)
    go_on = threading.Event()

    def hang() -> dict[str, str | None]:
        go_on.wait(WAIT_S)
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(served.db, "ailments", hang)
        wait_until(served, ails("database", "silent"))
        assert "result" in served.post("ping")
        go_on.set()
    wait_until(served, is_ok)


def test_a_lost_database_is_noticed_and_so_is_its_return(
    postgres_server: PostgresServer,
) -> None:
    admin = postgres_server.create_database()
    name = admin.rpartition("/")[2]
    try:
        with (
            serving(install(admin), ()) as served,
            psycopg.connect(postgres_server.url, autocommit=True) as owner,
        ):
            token = served.token()
            wait_until(served, is_ok)
            owner.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            lost = wait_until(served, ails("database", "store.lost"))
            assert lost["checks"]["audit"] != "ok"
            refused = httpx2.post(
                served.url,
                headers={"Authorization": f"Bearer {token}"},
                json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
                verify=WITHOUT_TLS,
                timeout=30,
            )
            assert refused.status_code == 503
            assert int(refused.headers["retry-after"]) >= 1
            owner.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            wait_until(served, is_ok)
            assert "result" in served.post("ping")
    finally:
        postgres_server.drop_database(admin)
