"""Several processes on one database, several workspaces in it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from msgspec.structs import replace

from sandbar.store.api import Store
from sandbar.store.scan import Between, Scan
from tests.store.conftest import Place, new_workspace
from tests.store.writing import WAIT_S, changing, create, creating, current, write

OTHER_PROCESS = """
import sys
from sandbar.store.sqlite.store import SqliteStore
from sandbar.store.postgres.store import PostgresStore
from tests.store.writing import create

dialect, address, ws, count = sys.argv[1:]
store = {"sqlite": SqliteStore, "postgres": PostgresStore}[dialect](address)
sys.stdin.readline()
for _ in range(int(count)):
    create(store, int(ws), (1, b"other"))
store.close()
"""


def test_another_opening_sees_a_commit_at_its_next_call(
    store: Store, ws: int, place: Place
) -> None:
    other = place.another()
    for turn in range(1, 6):
        mine = create(store, ws, (1, b"k%d" % turn))
        head, row = other.point_by_key(ws, 1, b"k%d" % turn)
        assert row is not None
        assert (row.id, head.t) == (mine, 2 * turn - 1)
        write(other, ws, changing(mine, doc="changed"))
        assert current(store, ws, mine) == replace(row, t=2 * turn, doc="changed")


def test_writers_of_two_openings_never_collide(store: Store, ws: int, place: Place) -> None:
    other = place.another()

    def work(mine: Store) -> None:
        for _ in range(20):
            futures = [mine.submit(ws, creating((1, b"k"))) for _ in range(3)]
            for future in futures:
                future.result(WAIT_S)

    threads = [threading.Thread(target=work, args=(s,)) for s in (store, other) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_whole(other, ws, 240)


def test_writers_of_two_processes_never_collide(store: Store, ws: int, place: Place) -> None:
    arguments = [place.dialect, place.address, str(ws), "60"]
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS, *arguments], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.close()
    mine = 0
    while process.poll() is None:
        if mine < 5_000:
            create(store, ws, (1, b"mine"))
            mine += 1
        else:
            time.sleep(0.01)  # the other one is slow today
    assert process.returncode == 0
    assert_whole(store, ws, mine + 60)


def assert_whole(store: Store, ws: int, count: int) -> None:
    """Every t and every id once, and all of it there."""
    with store.snapshot(ws) as snapshot:
        transactions = snapshot.transactions(after=0, limit=10_000)
        assert [tx.t for tx in transactions] == list(range(1, count + 1))
        assert [tx.ids for tx in transactions] == [(id,) for id in range(1, count + 1)]
        assert len(snapshot.scan(Scan(Between(1, None, None), 10_000))) == count


def test_workspaces_do_not_see_each_other(store: Store) -> None:
    first, second = new_workspace(store), new_workspace(store)
    mine = create(store, first, (1, b"k"), doc="first")
    assert current(store, second, mine) is None
    assert store.point_by_key(second, 1, b"k")[1] is None
    assert store.point(second, 1)[0].t == 0
    assert create(store, second, (1, b"k"), doc="second") == mine
    for ws, doc in ((first, "first"), (second, "second")) * 3:
        row = store.point_by_key(ws, 1, b"k")[1]
        assert row is not None
        assert row.doc == doc
        with store.snapshot(ws) as snapshot:
            assert [found.doc for found in snapshot.scan(Scan(Between(1, None, None), 9))] == [doc]
            assert [v.doc for v in snapshot.versions(mine, after=0, limit=9)] == [doc]
