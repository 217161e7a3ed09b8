"""Ctrl-C at every step of a call: nothing stays begun, locked or lent, and the next call works."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import apsw
import pytest

from sandbar.store.api import Store
from sandbar.store.postgres.store import PostgresStore
from sandbar.store.trail import Seal
from tests.store.conftest import Place, new_workspace
from tests.store.noting import note
from tests.store.writing import create

STEPS_MAX = 2_000
# Where a lock, a connection or a transaction is taken and given back.
OURS = ("/sandbar/store/", "/contextlib.py", "/threading.py")


class Interruption:
    """Raises KeyboardInterrupt where Python would: as a function begins, or a call into C ends."""

    def __init__(self, step: int) -> None:
        self.left = step

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and any(part in frame.f_code.co_filename for part in OURS):
            self.left -= 1
            if self.left < 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def is_interrupted(call: Callable[[], object], step: int) -> bool:
    """Run it, with a Ctrl-C at a step; whether it came so far."""
    interruption = Interruption(step)
    sys.setprofile(interruption)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return interruption.left < 0  # it came where nobody could raise it: a collector's call


def calls(store: Store, ws: int, id: int) -> dict[str, Callable[[], object]]:
    """What takes a lock or a connection on the thread that asks."""

    def seal(last: Seal | None) -> Seal:
        return Seal(last.number + 1 if last else 1, store.trail.run, 1, 1, 1, 1, b"")

    def look() -> object:
        with store.snapshot(ws) as snapshot:
            return snapshot.entity(id)

    return {
        "append": lambda: store.trail.append([note(ws)]),
        "append at once": lambda: store.trail.append_at_once([note(ws)]),
        "use": lambda: store.key_uses.note_uses(ws, {1: 1}),
        "seal": lambda: store.trail.seal(ws, seal),
        "renew": lambda: store.jobs.renew(ws, id, 1, 1.0),
        "point": lambda: store.point(ws, id),
        "rows": lambda: store.trail.runs(ws),
        "snapshot": look,
    }


# A connection that is interrupted right as it is made is closed by the collector, which warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", list(calls(None, 0, 0)))  # type: ignore[arg-type]
def test_whatever_is_interrupted_leaves_nothing_behind(place: Place, name: str) -> None:
    store = place.open()
    ws = new_workspace(store)
    id = create(store, ws)
    call = calls(store, ws, id)[name]
    call()
    for step in range(STEPS_MAX):
        was_interrupted = is_interrupted(call, step)
        require_nothing_held(place, store)
        call()
        if not was_interrupted:
            break
    else:
        raise AssertionError("it never ended")
    assert step > 1, "it was interrupted"
    assert create(store, ws) == id + 1
    store.close()


def require_nothing_held(place: Place, store: Store) -> None:
    """No transaction is open, and every connection can be lent."""
    if isinstance(store, PostgresStore):
        for pool in (store._pool, store._appenders, store.jobs._pool):
            assert pool.lent_count() == 0
    else:
        probe = apsw.Connection(place.address)
        probe.execute("BEGIN IMMEDIATE; ROLLBACK")
        probe.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        probe.close()
