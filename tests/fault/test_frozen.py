"""A process that is frozen (SIGSTOP) in the middle of a write does not stop the others for ever.

Promised: on PostgreSQL the server ends the silent session after 5 s, and the workspace is free
again; the frozen process finds its transaction gone, and runs it again or fails with a Problem. On
SQLite nobody can take the lock from a living process: another writer is told `store.busy` when its
busy timeout (5 s) is over, reads go on throughout, and the lock is free when the holder goes on or
is killed.

Every day both times are a second, so that nobody waits for long; `make test-long` waits for those
that users have. (`tests/store/test_postgres_life.py` does so for PostgreSQL every day.)
"""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sandbar
from sandbar.errors import Unavailable
from sandbar.store.sqlite import connection as sqlite
from tests.conftest import Say
from tests.fault.load import prepare
from tests.fault.zygote import Child, Zygote

FREED_WITHIN_S = 8.0
BUSY_S = 5.0
SHORT_S = 1.0  # what the time-outs are here, every day
TAKEN_S = 3.0  # after this a holder has been silent for much longer than it may
SOON_S = 2.0  # on two busy cores; nobody who waits for a lock is that quick


class Holder:
    """A child that stays inside a write transaction, frozen."""

    def __init__(self, zygote: Zygote, target: str, folder: Path, breakage: str = "none") -> None:
        self._go, self._out = folder / "go", folder / "out"
        inside = folder / "inside"
        for pipe in (inside, self._go):
            os.mkfifo(pipe)
        self.child: Child = zygote.fork(
            "tests.fault.jobs:hold",
            target=target,
            inside=str(inside),
            go=str(self._go),
            out=str(self._out),
            breakage=breakage,
        )
        assert inside.read_text() == "inside"
        self.child.send(signal.SIGSTOP)

    def thaw(self) -> tuple[str, int]:
        """Let it go on; returns its answer and how often its function has run."""
        self.child.send(signal.SIGCONT)
        self._go.write_text("go")
        assert self.child.wait(30) == 0
        result = json.loads(self._out.read_text())
        return result["answer"], result["runs"]


def assert_whole(db: sandbar.Database, account: int, answer: str) -> None:
    """The holder's two writes are both there, once, or neither is."""
    held = [e["fault/tag"] for e in db.each("fault/Item") if e["fault/tag"].startswith("held-")]
    assert len(held) == (1 if answer.isdigit() else 0)
    assert db.get(account)["fault/count"] == len(held)


AS_USERS_HAVE_IT = pytest.param("none", marks=pytest.mark.long)


@pytest.mark.parametrize("silence", ["short-silence", AS_USERS_HAVE_IT])
def test_a_frozen_holder_frees_its_workspace_on_postgres(
    zygote: Zygote, postgres_app: str, tmp_path: Path, say: Say, silence: str
) -> None:
    """Others write again within seconds, and the holder's own write is whole or refused."""
    with sandbar.open(postgres_app) as db:
        account = prepare(db)[0]
        holder = Holder(zygote, postgres_app, tmp_path, silence)
        begun = time.monotonic()
        db.create("fault/Item", {"fault/tag": "meanwhile"})
        waited_s = time.monotonic() - begun
        answer, runs = holder.thaw()
        say(f"freed after {waited_s:.1f} s; the holder then answered {answer} in run {runs}")
        assert 0.5 < waited_s < FREED_WITHIN_S, "it held nothing, or for too long"
        assert answer.isdigit() or answer.startswith("store.")
        assert_whole(db, account, answer)


@pytest.mark.parametrize("taken_s", [TAKEN_S, pytest.param(FREED_WITHIN_S, marks=pytest.mark.long)])
def test_without_the_server_s_timeout_the_workspace_stays_taken(
    zygote: Zygote, postgres_app: str, tmp_path: Path, taken_s: float
) -> None:
    """The negative control: nothing but the timeout frees it in time."""
    with sandbar.open(postgres_app) as db, ThreadPoolExecutor(1) as pool:
        prepare(db)
        holder = Holder(zygote, postgres_app, tmp_path, "endless-silence")
        writing = pool.submit(db.create, "fault/Item", {"fault/tag": "meanwhile"})
        with pytest.raises(TimeoutError):
            writing.result(taken_s)
        holder.child.kill()
        assert writing.result(FREED_WITHIN_S).created


def test_another_workspace_does_not_wait_on_postgres(
    zygote: Zygote, postgres_app: str, tmp_path: Path
) -> None:
    """A frozen holder concerns its own workspace alone."""
    with sandbar.open(postgres_app) as db, sandbar.open(postgres_app, "other") as other:
        prepare(db)
        prepare(other)
        holder = Holder(zygote, postgres_app, tmp_path)
        begun = time.monotonic()
        other.create("fault/Item", {"fault/tag": "elsewhere"})
        assert time.monotonic() - begun < SOON_S
        holder.child.kill()


@pytest.mark.parametrize("busy_s", [SHORT_S, pytest.param(BUSY_S, marks=pytest.mark.long)])
def test_a_frozen_holder_makes_others_busy_on_sqlite(
    zygote: Zygote, tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch, busy_s: float
) -> None:
    """A typed refusal within the busy timeout; reads go on; all is well when the holder goes on."""
    for name in ("_BUSY_S_MAX", "_BEGIN_S_MAX"):
        assert getattr(sqlite, name) == BUSY_S, "what users are told"
        monkeypatch.setattr(sqlite, name, busy_s)
    path = str(tmp_path / "frozen.db")
    with sandbar.open(path) as db:
        account = prepare(db)[0]
        holder = Holder(zygote, path, tmp_path)
        begun = time.monotonic()
        with pytest.raises(Unavailable) as refused:
            db.create("fault/Item", {"fault/tag": "meanwhile"})
        waited_s = time.monotonic() - begun
        assert db.get(account)["fault/count"] == 0
        answer, runs = holder.thaw()
        say(f"{refused.value.code} after {waited_s:.1f} s; the holder then answered {answer}")
        assert refused.value.code == "store.busy"
        assert waited_s < busy_s + 2.0
        assert (answer, runs) == ("1", 1)
        assert_whole(db, account, answer)
        assert db.create("fault/Item", {"fault/tag": "meanwhile"}).created


def test_a_killed_holder_frees_the_file_at_once(zygote: Zygote, tmp_path: Path) -> None:
    """The lock of a dead process is nobody's."""
    path = str(tmp_path / "killed.db")
    with sandbar.open(path) as db:
        account = prepare(db)[0]
        Holder(zygote, path, tmp_path).child.kill()
        begun = time.monotonic()
        assert db.create("fault/Item", {"fault/tag": "afterwards"}).created
        assert time.monotonic() - begun < SOON_S
        assert_whole(db, account, "killed")
