"""A database is opened in the process that uses it."""

from __future__ import annotations

import subprocess
import sys

from tests.store.conftest import Place

# Another thread holds the writer's lock during the fork, as the writer might: in the child nobody
# will ever release it, and whoever asks for it is woken by the alarm.
FORK = """
import os, signal, sys, threading
from sandbar.errors import Fault
from tests.store.conftest import Place, new_workspace
from tests.store.writing import create, creating, current

place = Place(*sys.argv[1:])
store = place.open()
ws = new_workspace(store)
id = create(store, ws)
assert current(store, ws, id)
store.jobs.renew(ws, id, 1, 1.0)  # so that its connection is there to be copied

def code_of(call):
    try:
        call()
    except Fault as fault:
        return fault.code

def in_the_child():
    reading = (lambda: store.point(ws, id), lambda: store.snapshot(ws).__enter__())
    jobs = (store.jobs.is_due, lambda: store.jobs.renew(ws, id, 1, 1.0))
    making = (lambda: store.submit(ws, creating()), lambda: store.create_workspace("w"))
    for call in (*making, *reading, *jobs):
        assert code_of(call) == "store.forked"
    store.close()
    if place.dialect == "sqlite":  # whose locks are the process's: see test_sqlite_forks.py
        assert code_of(place.open) == "store.forked"
    else:
        own = place.open()
        assert create(own, ws) == id + 1
        own.close()

held, forked = threading.Event(), threading.Event()

def hold():
    with store._writer._condition, getattr(store.jobs, "_lock", threading.Lock()):
        held.set()
        forked.wait()

threading.Thread(target=hold).start()
held.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    in_the_child()
    sys.exit()
forked.set()
assert os.waitpid(pid, 0)[1] == 0
first = id + 1 if place.dialect == "sqlite" else id + 2
assert create(store, ws) == first
assert current(store, ws, first)
store.close()
"""


def test_a_copy_of_an_open_database_is_refused_and_does_no_harm(place: Place) -> None:
    command = [sys.executable, "-c", FORK, place.dialect, place.address]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
